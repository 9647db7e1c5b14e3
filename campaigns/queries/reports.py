"""One run's report, from its measurement."""

from campaigns.domain.judged.observations import steadiness_of
from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.measured.percentile_curve import curve
from campaigns.domain.percentiles import P50
from campaigns.domain.shown import report_tables as tables
from campaigns.domain.shown.errors_table import Errors, errors_of
from campaigns.domain.shown.exchange_tables import closes_table, exchange_table
from campaigns.domain.shown.history_words import trend_words
from campaigns.domain.shown.progress import progress_of
from campaigns.domain.shown.report_words import (
    RunStatus,
    run_checks,
    run_grounds,
    run_sentence,
    run_tiles,
)
from campaigns.domain.shown.results import RunReport
from campaigns.domain.shown.session_tables import session_tables
from campaigns.domain.shown.three_answers import three_answers
from campaigns.domain.shown.threshold_tables import run_thresholds_table
from campaigns.domain.shown.what_to_do import what_to_do
from campaigns.models import Run
from campaigns.queries.facts import run_facts
from campaigns.queries.measurements import measurement_of
from campaigns.queries.phases import phases_of


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
        table=tables.steps_table(
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
        trend=_trend(state, seen),
        sessions=session_tables(total, duration_s),
        parts=tables.parts_table(total),
        errors=run_errors(seen),
        vitals=tables.vitals_table(seen.vitals, shows_hosts=run.shows_machine),
        facts=run_facts(run, seen),
        curve=curve(total.timing("response")),
        judged=state.judged,
        checks=run_checks(state, answers),
        thresholds=run_thresholds_table(state.verdicts, has_no_answer=state.has_no_answer).said_of(
            plan.nouns
        ),
    )


def _trend(state: RunStatus, seen: Measurement) -> str:
    if state.has_no_answer:
        return ""
    return trend_words(*steadiness_of(seen), is_over=state.is_done)


def run_errors(seen: Measurement) -> Errors:
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
