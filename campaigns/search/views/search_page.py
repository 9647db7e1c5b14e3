"""A search's page: its sentence, its trials by their rate in a chart and a table, live."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

from django.utils import timezone

from campaigns.campaigns.queries.campaigns import current_run_of, newest_event
from campaigns.campaigns.views.campaign_page import badge_of
from campaigns.campaigns.views.open_questions import open_questions, steps_to_come
from campaigns.compare.queries.arm_pairs import stop_reason_of
from campaigns.core.permissions import Actor
from campaigns.domain.analysis.capacity import (
    MOST_SEARCHES,
    NARROW,
    Ending,
    TrialResult,
)
from campaigns.domain.percentiles import P50, P95, P99, Shown, name, shown, why_not_shown
from campaigns.domain.plan.presets import USUAL_TRIALS
from campaigns.domain.presentation.capacity_words import RESULT_WORDS, objective_words
from campaigns.domain.presentation.charts import (
    CROSS,
    DOUBT,
    PASSED,
    Axis,
    Band,
    Chart,
    Charts,
    Mark,
    Places,
    Series,
    columns,
    line_style,
)
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.presentation.tables import (
    Cell,
    Column,
    Figure,
    Row,
    Table,
    figure_cell,
    text_cell,
)
from campaigns.domain.units import duration, ends_ms, ms, percent, rate, with_unit
from campaigns.engine.queries.engine import waiting_reason
from campaigns.history.queries.baselines import newest_baseline, own_baselines, search_against
from campaigns.live.hub import Cursor
from campaigns.models import Run, Search
from campaigns.probes.queries.first_requests import first_requests_of
from campaigns.search import queries

_NEAR = 1.05  # the answer, as a factor
_LOOKS = {
    TrialResult.PASSED: (PASSED, ""),
    TrialResult.FAILED: (CROSS, "bad"),
    TrialResult.UNTRUSTED: (DOUBT, "warn"),
}
_IN_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_BUSY = {"target_cpu": "target CPU", "injector_cpu": "injector CPU", "network": "network"}


def search_context(search: Search, actor: Actor, trials: str = "") -> dict[str, Any]:
    """Without the project's navigation and the user's rights. `trials`: all, or those near the
    answer, which a search that has ended shows by itself."""
    campaign = search.campaign
    # Read the cursor first: later changes may be sent twice, but are never missed.
    cursor = Cursor(newest_event(run__campaign=campaign))
    report = queries.report_of_search(search)
    with_machines = actor.sees_machines
    busy = queries.busy_by_run(report.made, with_machines=with_machines)
    limiter = queries.limiter_beside(
        report, queries.busy_near(report, busy), with_machines=with_machines
    )
    report = report if with_machines else report.without_machine()
    current = current_run_of(campaign)
    now_per_s = current.frozen.plan.load.rate_per_s if current else None
    tests = list(campaign.tests.select_related("endpoint__target", "plan_version__plan"))
    is_live = campaign.state in {"running", "stopping"}
    has_answer = report.capacity is not None
    is_near = has_answer and (trials == "near" or (trials != "all" and report.ending is not None))
    trials_shown = report.made[::-1]
    if is_near:  # the fastest first
        low, high = report.capacity.rate_per_s / _NEAR, report.capacity.rate_per_s * _NEAR
        near = [each for each in report.made if low <= each.trial.rate_per_s <= high]
        trials_shown = sorted(near, key=lambda each: -each.trial.rate_per_s)
    knows_machine = any(each.target_cpu is not None for each in busy.values())
    return {
        "campaign": campaign,
        "stopped_because": stop_reason_of(campaign, shows_machines=with_machines),
        "search": search,
        "report": report,
        "badge": badge_of(campaign, report),
        "is_live": is_live,
        "current": current,
        "rate_now": rate(now_per_s) if now_per_s else "",
        "waiting": waiting_reason(campaign, actor) if is_live and not current else "",
        "first_responses": first_requests_of(campaign, actor),
        "cursor": cursor,
        "charts": search_charts(report, trials_shown, busy, now_per_s),
        "rules": _search_rules(report, tests[0].plan_version.value().warm_up_s),
        "limiter": limiter,
        # The sentence tells it already, or the page beside it.
        "limiter_why": ""
        if limiter.names_machine or limiter.why in plain_text(report.sentence)
        else limiter.why,
        "open_questions": []
        if report.ending is None
        else list(open_questions(report, tests[0], limiter, knows_machine=knows_machine)),
        "steps_to_come": steps_to_come(report) if is_live else [],
        "usual_trials": max(USUAL_TRIALS, len(report.made) + 1),
        "trials": trials_table(trials_shown, busy, by_rate=is_near, with_target=knows_machine),
        # (word, query, whether it is chosen)
        "switches": [("all", "all", not is_near), ("near the answer", "near", is_near)]
        if has_answer
        else [],
        "against": search_against(search),
        "own_baselines": own_baselines(campaign),
        "seen_baseline": newest_baseline(actor, campaign.project_id),
        "may_be_baseline": has_answer and report.capacity.low is not None,
        "stop_words": {"n_done": len(report.made)},
        "tests": tests,
    }


def search_charts(
    report: queries.SearchReport,
    trials: Sequence[queries.MadeTrial],
    busy: queries.BusyByRun,
    now_per_s: float | None,
) -> Charts | None:
    """These trials by their rate: a response time beside the objective, and who was how busy.
    `now_per_s`: the rate of the trial under way. None without a trial with response times."""
    # The first response time of the objective and its limit.
    limits = (
        (rule.metric, rule.limit * _IN_MS[rule.unit])
        for rule in report.rules
        if rule.metric in ("p50", "p95", "p99", "mean") and rule.is_of_all
    )
    metric, limit_ms = next(limits, ("p95", 0.0))
    ms_by_trial = {each: us / 1000 for each in trials if (us := getattr(each.run, f"{metric}_us"))}
    if not ms_by_trial:
        return None
    by_rate = sorted(ms_by_trial, key=lambda each: each.trial.rate_per_s)
    rates = sorted({each.trial.rate_per_s for each in by_rate})
    marks, bands = [], []
    if (capacity := report.capacity) and capacity.low is None:
        marks = [Mark(at=capacity.rate_per_s, label=f"about {rate(capacity.rate_per_s)}")]
    elif capacity:
        ends = f"{rate(capacity.low)} to {rate(capacity.high)}"
        words = f"{rate(capacity.rate_per_s)}, shaded: {ends}"
        marks = [Mark(at=capacity.rate_per_s, label=words, colour="ink")]
        bands = [Band(low=capacity.low, high=capacity.high)]
    if limit_ms:
        label = f"objective {ms(limit_ms * 1000)}"
        marks.append(Mark(axis="y", at=limit_ms, label=label, colour="bad", dash=(5, 4)))
    if now_per_s:
        marks.append(Mark(at=now_per_s, label="now", colour="accent", dash=(2, 3)))
    series, keys = [], []
    for result, (style, _) in _LOOKS.items():
        rows = []
        for each in (each for each in by_rate if each.trial.result == result):
            number, value_ms = each.run.repeat, ms_by_trial[each]
            words = f"trial {number}: {ms(value_ms * 1000)}, {RESULT_WORDS[result]}"
            words += f": {each.trial.reason}" if each.trial.reason else ""
            link = f"&trials=all#trial-{number}"
            rows.append((each.trial.rate_per_s, value_ms, words, link))
        if rows:
            points = columns("x y texts links", rows)
            series.append(Series(style=style, look="dots", radius=4.5, **points))
            keys.append((style, RESULT_WORDS[result]))
    return Charts(
        "trials",
        "Trials by their rate",
        keys_words="Enter goes to the trial's row",
        panels=[
            Chart(
                "trials",
                "Response time",
                f"{metric} in ms by intended requests/s, log scales",
                f"{metric} of the trials by their rate. The figures are in the table below.",
                size="full",
                x=Axis(scale="log", title="Rate"),
                y=Axis(scale="log"),
                series=series,
                marks=marks,
                bands=bands,
                keys=keys,
            ),
            *_searches_panel(report, bands, marks),
            *_busy_panel(by_rate, busy),
        ],
        places=Places(x=rates, at=[f"{rate(each)}/s" for each in rates]),
    )


def _searches_panel(
    report: queries.SearchReport, bands: Sequence[Band], marks: Sequence[Mark]
) -> Iterator[Chart]:
    """Where each search ended, the first at the top; none of one alone."""
    searches = report.answer.searches
    if len(searches) < 2:
        return
    rows = [
        (sqrt(low * high), number, low, high, f"search {number}: {rate(low)} to {rate(high)}/s")
        for number, each in enumerate(searches, 1)
        for low, high in [(each.low, each.high)]
    ]
    yield Chart(
        "searches",
        "Searches",
        "between the highest rate that passed and the lowest that failed",
        "Where each search ended: the highest rate that passed and the lowest that failed.",
        size="low" if len(rows) < 5 else "middle",
        x=Axis(scale="log"),
        y=Axis(low=len(rows) + 0.7, high=0.3, ticks=[(n, str(n)) for _, n, *_ in rows]),
        series=[Series(look="box", radius=3, **columns("x y left right texts", rows))],
        bands=bands,
        marks=[replace(each, label="") for each in marks if each.axis == "x"],
    )


def _busy_panel(trials: Sequence[queries.MadeTrial], busy: queries.BusyByRun) -> Iterator[Chart]:
    """None where nobody told anything."""
    series = []
    for number, (key, words) in enumerate(_BUSY.items()):
        rows = [
            (each.trial.rate_per_s, 100 * min(1.0, share), percent(share, decimals=0))
            for each in trials
            if (share := getattr(busy[each.run.pk], key)) is not None
        ]
        if rows:
            points = columns("x y texts", rows)
            series.append(Series(name=words, style=line_style(number), radius=4, **points))
    if series:
        yield Chart(
            "busy",
            "Utilization",
            "% of capacity",
            "Utilization of target, injectors and network in each trial by its rate.",
            size="low",
            x=Axis(scale="log"),
            y=Axis(low=0, high=100, ticks=[(0, "0"), (50, "50"), (100, "100")]),
            series=series,
            keys=[(each.style, each.name) for each in series],
        )


def trials_table(
    trials: Sequence[queries.MadeTrial],
    busy: queries.BusyByRun,
    *,
    by_rate: bool,
    with_target: bool,
) -> Table:
    """`with_target`: the CPU of the target's machine is known."""
    heads = (
        Column("search", "search", "", "First: on the way to the first answer.", True),
        Column("began", "began", is_text=True),
        Column("rate_per_s", "intended", "requests/s"),
        *(Column(name(q), name(q)) for q in (P50, P95, P99)),
        Column("errors", "errors", "%"),
        *([Column("target_cpu", "target", "CPU, %")] if with_target else []),
        Column("injector_cpu", "injector", "CPU, %"),
        Column("result", "result", is_text=True),
    )
    rows = tuple(_trial_row(each, busy, with_target=with_target) for each in trials)
    note = "within 5 % of the answer, by rate" if by_rate else "newest first"
    results = Counter(each.trial.result for each in trials)
    if results[TrialResult.PASSED] and results[TrialResult.FAILED]:
        lowest = min(e.trial.rate_per_s for e in trials if e.trial.result == TrialResult.FAILED)
        highest = max(e.trial.rate_per_s for e in trials if e.trial.result == TrialResult.PASSED)
        if lowest <= highest:
            note += f"; between {rate(lowest)} and {rate(highest)}/s trials both passed and failed"
    return Table("trials", "Trials", heads, rows, "trial", note)


def _trial_row(row: queries.MadeTrial, busy: queries.BusyByRun, *, with_target: bool) -> Row:
    run, trial, use = row.run, row.trial, busy[row.run.pk]
    broken = {each.metric for each in run.verdicts if each.is_broken and each.is_of_all}
    attempts = (run.n or 0) + (run.errors or 0)
    errors = Figure((run.errors or 0) / attempts * 100 if attempts else None)
    shares = [use.target_cpu, use.injector_cpu][0 if with_target else 1 :]
    result = ": ".join(filter(None, [RESULT_WORDS[trial.result], trial.reason]))
    cells = (
        text_cell(str(row.search or "first")),
        text_cell(f"{timezone.localtime(run.t0):%H:%M:%S}" if run.t0 else ""),
        Cell(trial.rate_per_s, rate(trial.rate_per_s)),
        *(_percentile(run, q, broken) for q in (P50, P95, P99)),
        replace(figure_cell(errors, 2), tone="bad" if "errors" in broken else ""),
        *(figure_cell(Figure(None if s is None else 100 * s), 0) for s in shares),
        text_cell(result, tone=_LOOKS[trial.result][1]),
    )
    kind = "grey" if trial.result == TrialResult.UNTRUSTED else ""
    return Row(str(run.repeat), cells, kind, link={"run": run.pk, "trial": run.repeat})


def _percentile(run: Run, q: int, broken: Collection[str]) -> Cell:
    """Weak as on the run's own page; both ends where they differ."""
    n, value = run.n or 0, getattr(run, f"{name(q)}_us")
    is_weak = value is not None and shown(n, q) is Shown.WEAK
    tone = "bad" if name(q) in broken else ""
    text = with_unit(ends_ms(run.lows_us.get(name(q)), value), "ms")
    return Cell(value, text, is_weak, why_not_shown(n, q), tone)


def _search_rules(report: queries.SearchReport, warm_up_s: float) -> list[tuple[str, str]]:
    """[(what, words)]"""
    search, campaign = report.search, report.search.campaign
    length = f"{duration(search.trial_s)} measured"
    n = Counter(each.trial.result for each in report.made)
    open = n[TrialResult.UNTRUSTED]
    more = f", {open} not counted" if open else ""
    ended_at = campaign.finished_at or timezone.now()
    capacity, narrow = report.answer.capacity, percent(NARROW, decimals=0)
    end = []
    if report.ending == Ending.FOUND and capacity and capacity.low is not None:
        end = [("Ended", f"interval {percent(capacity.width)} wide, asked for {narrow}")]
    elif report.ending is None:
        latest = report.search.latest_words
        end = [("Ends", f"interval at most {narrow} wide, {MOST_SEARCHES} searches, or {latest}")]
    return [
        ("Objective", objective_words(report.rules)),
        ("One trial", f"{duration(warm_up_s)} warm-up, {length}" if warm_up_s else length),
        ("After a failed trial", "waits until the first request is answered again"),
        ("Trials", f"{n[TrialResult.PASSED]} passed, {n[TrialResult.FAILED]} failed{more}"),
        ("Starts at", f"{rate(search.start_per_s)} requests/s"),
        ("Never above", f"{rate(search.limit_per_s)} requests/s"),
        ("Took", duration(round((ended_at - campaign.started_at).total_seconds()))),
        *end,
    ]
