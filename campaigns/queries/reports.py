"""One run's report, from its measurement. The phases of a finished run: which injectors were active
when, and their replies. One run as text in the style of ab, httperf, JMeter or wsperf, as the
command line prints it."""

from collections.abc import Iterator

from campaigns.domain.judged.observations import steadiness_of
from campaigns.domain.measured.figures import curve
from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.measured.phases import Part, Span, find_phases
from campaigns.domain.measured.snapshot import Second, Timing, Total, total_of
from campaigns.domain.other_tools.report_words import ReportHead
from campaigns.domain.other_tools.reports import REPORTS, styles_for
from campaigns.domain.percentiles import P50
from campaigns.domain.plan.plan import Plan
from campaigns.domain.shown import report_tables as tables
from campaigns.domain.shown.errors_table import Errors, errors_of
from campaigns.domain.shown.exchange_tables import closes_table, exchange_table
from campaigns.domain.shown.history_words import trend_words
from campaigns.domain.shown.latency_table import steps_table
from campaigns.domain.shown.report_tables import phases_table, session_tables
from campaigns.domain.shown.report_words import (
    RunStatus,
    run_checks,
    run_grounds,
    run_sentence,
    run_tiles,
    three_answers,
)
from campaigns.domain.shown.results import RunReport
from campaigns.domain.shown.run_points import progress_of
from campaigns.domain.shown.tables import Table
from campaigns.domain.shown.threshold_tables import run_thresholds_table
from campaigns.domain.shown.what_to_do import what_to_do
from campaigns.models import Run
from campaigns.queries.facts import run_facts
from campaigns.queries.measurements import measurement_of
from campaigns.queries.retention import kept_of


def run_report(run: Run, measurement: Measurement | None = None) -> RunReport:
    """The run page's content; without `measurement`, from the stored one."""
    seen = measurement or measurement_of(run)
    figures, total, duration_s = seen.figures, seen.total, seen.duration_s
    plan, state = seen.plan, run_status(run, seen)
    sentence = run_sentence(state)
    answers = three_answers([state], state.found, sentence)
    return RunReport(
        sentence=sentence,
        answers=answers,
        remedies=what_to_do(
            filter(None, [state.judged]), state.failures, figures.attempts, state.found
        ),
        grounds=run_grounds(state),
        tiles=run_tiles(state),
        table=steps_table(
            figures,
            plan.labels,
            seen.steps,
            duration_s,
            plan.nouns,
            state.judged.why_weak_tail if state.judged else "",
        ),
        exchange=exchange_table(total, duration_s),
        closes=closes_table(total),
        phases=phases_of(run, plan),
        progress=progress_of(seen),
        has_no_answer=state.has_no_answer,
        verdicts=state.verdicts,
        trend=""
        if state.has_no_answer
        else trend_words(*steadiness_of(seen), is_over=state.is_done),
        sessions=session_tables(total, duration_s),
        parts=tables.parts_table(total),
        errors=_run_errors(seen),
        vitals=tables.vitals_table(seen.vitals, shows_hosts=run.shows_machine),
        facts=run_facts(run, seen),
        curve=curve(total.timing("response")),
        judged=state.judged,
        checks=run_checks(state, answers),
        thresholds=run_thresholds_table(state.verdicts, has_no_answer=state.has_no_answer).said_of(
            plan.nouns
        ),
    )


def _run_errors(seen: Measurement) -> Errors:
    """Its errors by kind, status and step."""
    attempts = seen.figures.attempts
    return errors_of(seen.failures, seen.plan.labels, seen.steps, attempts, seen.duration_s)


def run_status(run: Run, seen: Measurement) -> RunStatus:
    """What the run's sentence and tiles are written from."""
    return RunStatus(
        state=run.state,
        outcome=str(run.outcome or ""),
        judged=run.judged,
        why=run.told_reason,
        figures=seen.figures,
        plan=seen.plan,
        failures=tuple(seen.failures),
        verdicts=tuple(run.shown_of(seen.thresholds)),
        measured=progress_of(seen).words,
        failed_reply_us=seen.total.timing("failed_reply").percentile_us(P50),
    )


# Injectors that begin together also end together, apart from chance.
_LEAST_SKEW_S = 1.0


def phases_of(run: Run, plan: Plan) -> Table:
    """No rows if all injectors began together and none ended much earlier than the others."""
    spans = _spans(run, plan) if run.is_done and run.n_shards > 1 else []
    if not _differ(spans, plan):
        return phases_table([])
    return phases_table(find_phases(spans, _parts(run)))


def parts_to_keep(run: Run) -> list[Part]:
    """What a finished run's phases are made from; [] if it has none."""
    has_phases = run.n_shards > 1 and _differ(_spans(run, run.frozen.plan), run.frozen.plan)
    return list(_parts(run)) if has_phases else []


def _spans(run: Run, plan: Plan) -> list[Span]:
    """[] if an injector did not report when it ended."""
    ends = [(shard.number, shard.injector_end.duration_us) for shard in run.shards.all()]
    if any(end is None for _, end in ends):
        return []
    return [
        Span(number, max(0.0, number * plan.load.start_offset_s - plan.warm_up_s), end / 1e6)
        for number, end in ends
    ]


def _differ(spans: list[Span], plan: Plan) -> bool:
    if not spans:
        return False
    ends = [span.end_s for span in spans]
    return plan.load.start_offset_s > 0 or max(ends) - min(ends) >= _LEAST_SKEW_S


def _parts(run: Run) -> Iterator[Part]:
    """The parts of all steps; no histogram is decoded."""
    if kept := kept_of(run):
        yield from (Part(*values) for values in kept["parts"])
        return
    rows = run.seconds.filter(second__gte=0).order_by("second", "shard")
    for row in rows.iterator(chunk_size=500):
        response = row.value().timings.get("response")
        if response and response.n:
            moments = (response.n, response.sum_us, response.min_us, response.max_us)
            yield Part(row.shard, row.second, *moments)


def tool_report(run: Run, style: str = "") -> str | None:
    """The text; without `style`, in the best fitting one; None for an unknown style."""
    # With the warm-up, which a summary lacks.
    measurement = measurement_of(run)
    if run.is_done:
        measurement.warm_up = warm_up_of(run)
    report = REPORTS.get(style or styles_for(measurement.plan)[0])
    return report and f"{report(measurement, _head(run))}\n"


def _head(run: Run) -> ReportHead:
    frozen = run.frozen
    return ReportHead(
        host=frozen.endpoint.host,
        port=frozen.endpoint.port,
        connection_mode=frozen.connection_mode,
        judged=run.judged,
    )


def warm_up_of(run: Run) -> Total:
    """Of a finished run, with response times only."""
    kept = kept_of(run)
    return Total.from_json(kept["warm_up"]) if kept else total_of(_warm_up(run))


def _warm_up(run: Run) -> Iterator[Second]:
    """The warm-up's seconds with response times only; reports need no more."""
    for row in run.seconds.filter(second__lt=0):
        seen = row.value()
        response = seen.timings.get("response", Timing())
        yield Second(seen.second, seen.step, seen.counters, timings={"response": response})
