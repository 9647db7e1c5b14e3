"""The context of a search's page: its sentence, every trial drawn and in a table, live. The tiles
of a search's page, and where its trials passed and failed side by side."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from django.utils import timezone

from campaigns.campaigns.queries.campaign_keys import newest_event
from campaigns.campaigns.queries.campaigns import current_run_of
from campaigns.campaigns.views.campaign_page import badge_of
from campaigns.campaigns.views.open_questions import open_questions, steps_to_come
from campaigns.compare.queries.arm_pairs import stop_reason_of
from campaigns.core.permissions import Actor
from campaigns.domain.analysis.busy import Busy
from campaigns.domain.analysis.capacity import MOST_SEARCHES, NARROW, Ending, TrialResult
from campaigns.domain.percentiles import P50, P95, P99, Shown, name, shown, why_not_shown
from campaigns.domain.plan.presets import USUAL_TRIALS
from campaigns.domain.presentation.capacity_words import (
    RESULT_WORDS,
    Limiter,
    lacks_its_rule,
    objective_words,
)
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.presentation.tables import Cell
from campaigns.domain.units import DASH, duration, ends_ms, number, percent, rate, with_unit
from campaigns.engine.queries.engine import waiting_reason
from campaigns.history.queries.baselines import newest_baseline, own_baselines, search_against
from campaigns.live.events import Cursor
from campaigns.models import Run, Search
from campaigns.probes.queries.first_requests import first_requests_of
from campaigns.search.queries import (
    BusyByRun,
    MadeTrial,
    SearchReport,
    busy_by_run,
    busy_near,
    limiter_beside,
    report_of_search,
)
from campaigns.search.views.search_drawing import broken_by, search_charts

_GLYPHS = {"passed": "good", "failed": "bad", "untrusted": "warn"}
_NEAR = 1.05  # the answer, as a factor


class TrialsShown(StrEnum):
    ALL = "all"
    NEAR = "near"
    FAILED = "failed"


_WORDS = {TrialsShown.ALL: "all", TrialsShown.NEAR: "near the answer", TrialsShown.FAILED: "failed"}


def shown_of(asked: str, report: SearchReport) -> TrialsShown:
    """What is asked for, by default those near the answer of a search that has ended; all where
    there is no answer to be near to."""
    usual = TrialsShown.ALL if report.ending is None else TrialsShown.NEAR
    shown = TrialsShown(asked) if asked in list(TrialsShown) else usual
    is_near = shown is TrialsShown.NEAR
    return TrialsShown.ALL if is_near and not report.capacity else shown


def switches(chosen: TrialsShown, report: SearchReport) -> list[tuple[str, str, bool]]:
    """(word, query, whether it is chosen)"""
    return [
        (_WORDS[each], f"trials={each}", each is chosen)
        for each in TrialsShown
        if each is not TrialsShown.NEAR or report.capacity
    ]


def _trial_rows(report: SearchReport, chosen: TrialsShown, busy: BusyByRun) -> list[dict[str, Any]]:
    """Newest first; those near the answer by their rate."""
    made = report.made[::-1]
    if chosen is TrialsShown.FAILED:
        made = [each for each in made if each.trial.result == TrialResult.FAILED]
    if chosen is TrialsShown.NEAR:
        answer = report.capacity.rate_per_s
        near = [e for e in made if answer / _NEAR <= e.trial.rate_per_s <= answer * _NEAR]
        made = sorted(near, key=lambda each: -each.trial.rate_per_s)
    rows = [trial_row(each, busy) for each in made]
    return _with_line(rows, report) if chosen is TrialsShown.NEAR else rows


def _with_line(rows: list[dict[str, Any]], report: SearchReport) -> list[dict[str, Any]]:
    """The first row whose rate is below the answer says so."""
    answer = report.capacity.rate_per_s
    below = next((row for row in rows if row["rate_per_s"] < answer), None)
    return [row | {"is_below": row is below and row is not rows[0]} for row in rows]


def trial_row(made: MadeTrial, busy: BusyByRun) -> dict[str, Any]:
    run, trial = made.run, made.trial
    attempts, broken = (run.n or 0) + (run.errors or 0), broken_by(made)
    return {
        "run": run,
        "search": DASH if made.search is None else made.search or "first",
        "rate": rate(trial.rate_per_s),
        "rate_per_s": trial.rate_per_s,
        **{name(q): _percentile(run, q, broken) for q in (P50, P95, P99)},
        "errors": percent((run.errors or 0) / attempts if attempts else None),
        "target_cpu": _whole_percent(busy[run.pk].target_cpu),
        "injector_cpu": _whole_percent(busy[run.pk].injector_cpu),
        "broken": broken,
        "glyph": _GLYPHS[trial.result],
        "result": RESULT_WORDS[trial.result],
        "reason": trial.reason,
    }


def _percentile(run: Run, q: int, broken: Collection[str]) -> Cell:
    """Weak as on the run's own page; both ends where they differ."""
    n, value = run.n or 0, getattr(run, f"{name(q)}_us")
    is_weak = value is not None and shown(n, q) is Shown.WEAK
    tone = "bad" if name(q) in broken else ""
    text = with_unit(ends_ms(run.lows_us.get(name(q)), value), "ms")
    return Cell(value, text, is_weak, why_not_shown(n, q), tone)


def _whole_percent(share: float | None) -> str:
    return number(None if share is None else 100 * share)


def search_context(search: Search, actor: Actor, trials: str = "") -> dict[str, Any]:
    """Without the project's navigation and the user's rights. `trials`: which are in the table."""
    campaign = search.campaign
    # Read the cursor first: later changes may be sent twice, but are never missed.
    cursor = Cursor(newest_event(run__campaign=campaign))
    report = report_of_search(search)
    with_machines = actor.sees_machines
    busy = busy_by_run(report.made, with_machines=with_machines)
    near = busy_near(report, busy)
    limiter = limiter_beside(report, near, with_machines=with_machines)
    if limiter.why in plain_text(report.sentence):  # a page says it once
        limiter = replace(limiter, why="")
    report = report if with_machines else report.without_machine()
    current, shown = current_run_of(campaign), shown_of(trials, report)
    now_per_s = current.frozen.plan.load.rate_per_s if current else None
    tests = list(campaign.tests.select_related("endpoint__target", "plan_version__plan"))
    is_live = campaign.state in {"running", "stopping"}
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
        "drawings": search_charts(report, busy, now_per_s),
        "rules": _search_rules(report, tests[0].plan_version.value().warm_up_s),
        "tiles": _search_tiles(report, limiter, near, now_per_s),
        "overlap": _overlap_of(report),
        "limiter": limiter,
        "open_questions": []
        if report.ending is None
        else list(open_questions(report, tests[0], limiter, knows_machine=_knows_machine(busy))),
        "steps_to_come": steps_to_come(report) if is_live else [],
        "usual_trials": max(USUAL_TRIALS, len(report.made) + 1),
        "trials": _trial_rows(report, shown, busy),
        "tells_target_cpu": _knows_machine(busy),
        "trials_by_rate": shown is TrialsShown.NEAR,
        "switches": switches(shown, report),
        "against": search_against(search),
        "own_baselines": own_baselines(campaign),
        "seen_baseline": newest_baseline(actor, campaign.project_id),
        "may_be_baseline": bool(found := report.capacity) and found.low is not None,
        "stop_words": {"n_done": len(report.made)},
        "tests": tests,
    }


def _knows_machine(busy: BusyByRun) -> bool:
    return any(each.target_cpu is not None for each in busy.values())


def _search_rules(report: SearchReport, warm_up_s: float) -> list[tuple[str, str]]:
    """[(what, words)]"""
    search = report.search
    measured = f"{duration(search.trial_s)} measured"
    n = Counter(each.trial.result for each in report.made)
    open = n[TrialResult.UNTRUSTED]
    left = f", {open} not counted" if open else ""
    return [
        ("Objective", objective_words(report.rules)),
        ("One trial", f"{duration(warm_up_s)} warm-up, {measured}" if warm_up_s else measured),
        ("After a failed trial", "waits until the first request is answered again"),
        ("Trials", f"{n[TrialResult.PASSED]} passed, {n[TrialResult.FAILED]} failed{left}"),
        ("Starts at", f"{rate(search.start_per_s)} requests/s"),
        ("Never above", f"{rate(search.limit_per_s)} requests/s"),
        ("Ends", _end(report)),
    ]


def _end(report: SearchReport) -> str:
    found, asked = report.answer.capacity, percent(NARROW, decimals=0)
    if report.ending == Ending.FOUND and found and found.low is not None:
        return f"interval {percent(found.width)} wide, asked for {asked}"
    latest = report.search.latest_words
    if report.ending is None:
        return f"interval at most {asked} wide, {MOST_SEARCHES} searches, or {latest}"
    return f"at the latest {latest}"


_REQUESTS = "requests/s"


@dataclass(frozen=True, slots=True)
class SearchTile:
    title: str
    value: str
    unit: str
    lines: tuple[str, ...]


def _search_tiles(
    report: SearchReport, limiter: Limiter, near: Busy, now_per_s: float | None
) -> list[SearchTile]:
    """`near`: how busy everyone was near the answer."""
    tiles = [_capacity(report), _trials_tile(report), _time(report)]
    if now_per_s:
        words = objective_words(report.rules)
        tiles.insert(1, SearchTile("Now trying", rate(now_per_s), _REQUESTS, (words,)))
    lines = (*filter(None, [limiter.why]), *_near(report, near))
    return [*tiles, SearchTile("What limited it", limiter.word, "", lines)]


def _near(report: SearchReport, near: Busy) -> tuple[str, ...]:
    told = [("target CPU", near.target_cpu), ("injector CPU", near.injector_cpu)]
    words = [f"{name} {percent(share, decimals=0)}" for name, share in told if share is not None]
    return (f"{_where_it_was(report)}: {', '.join(words)}",) if words else ()


def _where_it_was(report: SearchReport) -> str:
    """Of which trials it is, see `near_the_answer`."""
    if report.ending == Ending.INJECTOR:
        return "in trials that do not count"
    if report.capacity:
        return "near the limit"
    passed = bool(_trials_with(report, TrialResult.PASSED))
    return "at the highest rate that passed" if passed else "in the trial that failed"


def _capacity(report: SearchReport) -> SearchTile:
    found, least, below = report.answer.capacity, report.answer.at_least, report.answer.below
    words = objective_words(report.rules)
    is_bound = report.ending in (Ending.LIMIT, Ending.INJECTOR) and least
    if report.ending == Ending.DRIFTED:
        return SearchTile("Capacity", DASH, "", ("no steady answer", words))
    if lacks_its_rule(report.answer):
        return SearchTile("Capacity", DASH, "", ("made under an earlier rule", words))
    if found and found.low is not None and not is_bound:
        interval = f"{rate(found.low)} to {rate(found.high)}, {percent(found.width)} wide"
        return SearchTile("Capacity", rate(found.rate_per_s), _REQUESTS, (interval, words))
    if found and not is_bound:
        line = f"no interval: {len(report.answer.searches)} of at least 3 searches"
        return SearchTile("Capacity", f"≈ {rate(found.rate_per_s)}", _REQUESTS, (line, words))
    if least:
        line = f"the lowest that failed: {rate(below)}" if below else "no rate failed"
        return SearchTile("Capacity", f"≥ {rate(least)}", _REQUESTS, (line, words))
    if below:
        return SearchTile("Capacity", f"< {rate(below)}", _REQUESTS, (words,))
    return SearchTile("Capacity", DASH, "", (words,))


def _trials_tile(report: SearchReport) -> SearchTile:
    results = [each.trial.result for each in report.made]
    passed, failed, open = (results.count(each) for each in TrialResult)
    lines = (f"{passed} passed, {failed} failed", f"{open} not counted" if open else "")
    return SearchTile("Trials", str(len(results)), "", tuple(filter(None, lines)))


def _time(report: SearchReport) -> SearchTile:
    campaign = report.search.campaign
    began = campaign.started_at
    took = ((campaign.finished_at or timezone.now()) - began).total_seconds()
    longest = duration(report.search.longest_s)
    lines = (
        f"at most {longest} of trials",
        f"each trial {report.search.trial_s:g} s",
    )
    return SearchTile("Time", duration(round(took)), "", lines)


def _overlap_of(report: SearchReport) -> tuple[str, str] | None:
    """The rates between which trials passed and failed side by side; None if there are none."""
    lowest = min(map(_rate, _trials_with(report, TrialResult.FAILED)), default=None)
    highest = max(map(_rate, _trials_with(report, TrialResult.PASSED)), default=None)
    if lowest is None or highest is None or highest < lowest:
        return None
    return rate(lowest), rate(highest)


def _trials_with(report: SearchReport, result: TrialResult) -> list[MadeTrial]:
    return [each for each in report.made if each.trial.result == result]


def _rate(made: MadeTrial) -> float:
    return made.trial.rate_per_s
