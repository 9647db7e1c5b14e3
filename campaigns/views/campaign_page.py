"""The context of the campaign page, for members and share link visitors."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import mean, median
from typing import Any

from django.utils import timezone

from campaigns.domain.lifecycle import Outcome, RunState
from campaigns.domain.plan.estimates import estimate_campaign
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES, counted_in
from campaigns.domain.shown.badges import Answers, Badge, campaign_badge, on_hold_badge
from campaigns.domain.shown.next_steps import NextStep, next_steps
from campaigns.domain.shown.progress import whole_percent
from campaigns.domain.shown.results import Answer, Gist, OverheadAnswer, TestAnswer
from campaigns.domain.units import DASH, counted, number
from campaigns.live.events import Cursor
from campaigns.live.feed import FEED
from campaigns.live.memory import answer_of
from campaigns.models import Campaign, Run
from campaigns.permissions import Actor
from campaigns.queries.campaigns import current_run_of, runs_of
from campaigns.queries.engine import waiting_reason
from campaigns.queries.failure_examples import examples_of
from campaigns.queries.first_requests import first_requests_of
from campaigns.queries.runs import planned_end, share_over
from campaigns.services.blocks import MAX_REPEATS
from campaigns.views.drawings import forest_groups, split_bars
from campaigns.views.error_rows import errors_section
from campaigns.views.run_page import run_context
from campaigns.views.sweep_curve import sweep_panels

_MOST_TILES = 5
_MOST_GAPS = 10
_RUN_FIGURES = ("n", "p50", "p95", "p99", "rate", "errors")


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """A campaign's progress. `share` of its runs, with the part of the run under way that is over;
    `ends_at` is None while it cannot be estimated."""

    n_done: int
    n_runs: int
    share: float
    ends_at: datetime | None

    @property
    def percent(self) -> float:
        return round(100 * self.share, 1)

    @property
    def left_s(self) -> float | None:
        return None if self.ends_at is None else (self.ends_at - timezone.now()).total_seconds()


def progress_of(campaign: Campaign, current: Run | None = None) -> CampaignProgress:
    """`current` is the run under way: the campaign ends when that run ends as planned and each of
    the others has taken as long as usual."""
    runs = list(campaign.runs.values_list("state", "ended_at"))
    done = sorted(ended for state, ended in runs if state == "done" and ended)
    share = (len(done) + (share_over(current) if current else 0)) / len(runs) if runs else 0.0
    ends_at = _ends_at(campaign, current, len(runs), done)
    return CampaignProgress(len(done), len(runs), share, ends_at)


def _ends_at(
    campaign: Campaign, current: Run | None, n_runs: int, done: list[datetime]
) -> datetime | None:
    if campaign.is_held:
        return None  # when somebody decides
    n_left, now = n_runs - len(done), timezone.now()
    end = planned_end(current) if current else None
    if end and n_left == 1:
        return max(end, now)
    run_s = _usual_run_s(campaign, n_runs, done)
    if run_s is None:
        return None
    if end:
        return max(end, now) + timedelta(seconds=(n_left - 1) * run_s)
    return now + timedelta(seconds=n_left * run_s)


def _usual_run_s(campaign: Campaign, n_runs: int, done: list[datetime]) -> float | None:
    """Seconds from one run's end to the next: of those that are done, else as planned."""
    if done and campaign.started_at:
        return _usual_gap_s([campaign.started_at, *done])
    planned_s = _planned_s(campaign, campaign.repeats) if n_runs else None
    return None if planned_s is None else planned_s / n_runs


def _usual_gap_s(ends: list[datetime]) -> float:
    """The mean time from one run's end to the next; a long wait before added blocks is no gap."""
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(ends)]
    most = _MOST_GAPS * median(gaps)
    return mean(min(gap, most) for gap in gaps)


def _planned_s(campaign: Campaign, repeats: int) -> float | None:
    tests = campaign.tests.select_related("plan_version")
    estimate = estimate_campaign(
        [(test.plan_version.value(), test.connection_mode, test.injectors) for test in tests],
        repeats=repeats,
        pause_s=campaign.pause_s,
    )
    return None if estimate.runs_of_unknown_duration else estimate.duration_s


def campaign_context(
    campaign: Campaign, actor: Actor, chosen: tuple[int, int] | None = None
) -> dict[str, Any]:
    """The page's context without the project's navigation and the user's rights.

    `chosen`: the tests that are compared, candidate and baseline; by default HTTPS against HTTP.
    """
    answer = answer_of(campaign, chosen)
    runs = runs_of(campaign)
    current = current_run_of(campaign)
    is_live = campaign.state in {"running", "stopping"}
    progress = progress_of(campaign, current)
    watched = current or _run_that_speaks(runs, answer)
    watched_page = run_context(watched, actor) if watched else {}
    drawn = {watched.test_id: watched_page["report"].curve} if watched else {}
    return {
        **_watching(watched_page, progress, answer, is_only=len(runs) == 1),
        "campaign": campaign,
        "answer": answer,
        "badge": badge_of(campaign, answer),
        "is_live": is_live,
        "has_begun": is_live and not campaign.is_before_first_run,
        "progress": progress,
        "planned_s": _planned_s(campaign, campaign.repeats) if campaign.state == "draft" else None,
        "waiting": waiting_reason(campaign, actor) if is_live and not current else "",
        "current": current,
        "came_back": first_requests_of(campaign, actor),
        # The stream sends the active run's points, all of them to a new viewer.
        "cursor": Cursor(event=FEED.campaign(campaign.pk).event),
        "tiles": tiles_of(answer),
        "errors": errors_section(answer.errors, examples_of(actor, run__campaign=campaign)),
        "forest": forest_groups(answer.overheads, campaign.practical_threshold),
        "bars": split_bars([each.split for each in answer.overheads if each.split]),
        "sweeps": [(sweep, sweep_panels(sweep)) for sweep in answer.sweeps],
        "drawn_from": "Drawn from the first usable run on.",
        "plots": _plots(answer, drawn, is_live=is_live, is_only=len(runs) == 1),
        "plot_data": plot_data(answer, campaign.repeats, drawn),
        "run_rows": run_rows(runs, answer),
        "compared": compared_names(answer.overheads),
        "twins": twin_names(answer.tests),
        "choice": choice_of(answer),
        "next_steps": _next_steps(campaign, answer),
        "noun": counted_in(test.scheme for test in answer.tests),
        "like": like_rows(answer.overheads),
        "has_differences": any(o.like_for_like.get("different") for o in answer.overheads),
        "has_forest": any(cell.value is not None for cell in _first_cells(answer.overheads)),
        "injector_words": _injector_words(campaign),
        "tests": list(campaign.tests.select_related("endpoint__target", "plan_version__plan")),
    }


def _run_that_speaks(runs: list[Run], answer: Answer) -> Run | None:
    """The run of a campaign that has no other, once it has begun; or the one whose partial figures
    are all there is."""
    if len(runs) == 1:
        return runs[0] if runs[0].state != RunState.QUEUED else None
    return next((run for run in runs if run.pk == answer.partial_run), None)


def _watching(
    page: dict[str, Any], progress: CampaignProgress, answer: Answer, *, is_only: bool
) -> dict[str, Any]:
    """The run that the campaign's page shows like the run's own: the one under way, the only one,
    or the one whose partial figures are all there is. `page` is that run's context, {} for none.
    `run_speaks`: the campaign has no figures but that run's, so its sentence and tiles are the
    campaign's."""
    if not page:
        return {"watched": None, "run_speaks": False, "percent": "", "is_only": is_only}
    run, report = page["run"], page["report"]
    percent = report.progress.percent if is_only else whole_percent(progress.share)
    return {
        "watched": page,
        "is_only": is_only,
        "run_speaks": run.pk == answer.partial_run or (is_only and run.outcome != Outcome.COMPLETE),
        "percent": "" if run.is_done else percent,
    }


def _injector_words(campaign: Campaign) -> str:
    """Injector processes per run, if worth mentioning: "1, 2, 4 … per run"."""
    counts = campaign.tests.order_by("injectors").values_list("injectors", flat=True).distinct()
    if set(counts) <= {1}:
        return ""
    return f"{', '.join(map(str, counts))} injector processes per run"


def badge_of(campaign: Campaign, found: Answer | Gist | None) -> Badge:
    if campaign.is_held:
        return on_hold_badge()
    known = found.found if found else Answers()
    is_stopped = campaign.stop_requested_at is not None
    return campaign_badge(campaign.state, known, is_stopped=is_stopped)


def tiles_of(answer: Answer) -> list[dict[str, Any]]:
    """A tile per overhead, else per test: a figure and what it is compared with. None where there
    is no answer."""
    if answer.has_no_answer:
        return []
    if answer.overheads:
        return [_overhead_tile(each) for each in answer.overheads[:_MOST_TILES]]
    return [_test_tile(each) for each in answer.tests[:_MOST_TILES]]


def _overhead_tile(overhead: OverheadAnswer) -> dict[str, Any]:
    row = overhead.table.rows[0]
    cells = dict(zip([c.key for c in overhead.table.columns], row.cells, strict=True))
    interval = next((each for each in overhead.forest if each["primary"]), None)
    plain, tls = overhead.names
    lines = []
    if interval:
        low, high = (number((interval[end] - 1) * 100, 1, signed=True) for end in ("low", "high"))
        lines.append(f"{low} to {high}\u202f%, 95\u202f% interval")
    if cells["difference"].value is not None:
        lines.append(
            f"{cells['difference'].text}\u202fms, {cells['share'].text}\u202f% of {tls} time"
        )
    increase = cells["increase"].value
    return {
        "title": overhead.title,
        "note": overhead.plan_label,
        "word": overhead.word,
        "value": DASH if increase is None else number(increase, 1, signed=True),
        "unit": "" if increase is None else f"% vs {plain}",
        "lines": lines or [overhead.word_reason],
    }


def _test_tile(test: TestAnswer) -> dict[str, Any]:
    keys = [column.key for column in test.table.columns]
    pooled = next((row for row in test.table.rows if row.kind == "pooled"), None)
    cells = dict(zip(keys, pooled.cells, strict=True)) if pooled else {}
    shown = next((key for key in ("p95", "p50", "mean") if _has(cells, key)), "mean")
    noun = counted_in([test.scheme])
    lines = [f"{cells['rate'].text} ok {noun}/s"] if _has(cells, "rate") else []
    lines += [
        counted(cells[key].value, nouns)
        for key, nouns in (("n", noun), ("errors", "errors"))
        if _has(cells, key)
    ]
    return {
        "title": test.label,
        "note": test.plan_label,
        "word": "",
        "value": cells[shown].text if _has(cells, shown) else DASH,
        "unit": f"ms, {shown}" if _has(cells, shown) else "",
        "lines": lines or ["no usable run"],
    }


def compared_names(overheads: list[OverheadAnswer]) -> dict[str, str]:
    """The compared arms, for titles: HTTP and HTTPS, WS and WSS, or those that were chosen."""
    names = {each.names for each in overheads} or {("HTTP", "HTTPS")}
    baseline, candidate = names.pop() if len(names) == 1 else ("plain", "TLS")
    is_chosen = any(each.is_chosen for each in overheads)
    title = f"{candidate} against {baseline}" if is_chosen else f"Overhead of {candidate}"
    return {"baseline": baseline, "candidate": candidate, "title": title}


def twin_names(tests: list[TestAnswer]) -> dict[str, str]:
    """The schemes of the tests without and with TLS: HTTP and HTTPS, WS and WSS, or both."""
    kinds = {each.scheme in WEBSOCKET_SCHEMES for each in tests} or {False}
    if len(kinds) > 1:
        return {"plain": "plain", "tls": "TLS"}
    return {"plain": "WS", "tls": "WSS"} if kinds.pop() else {"plain": "HTTP", "tls": "HTTPS"}


def choice_of(answer: Answer) -> dict[str, Any] | None:
    """The tests to choose from, and the two that are compared; None where there is no choice."""
    if len(answer.tests) < 2:
        return None
    many_plans = len({test.plan_label for test in answer.tests}) > 1
    shown = answer.overheads[0] if answer.overheads else None
    return {
        "tests": [
            (test.test_id, f"{test.plan_label}, {test.label}" if many_plans else test.label)
            for test in answer.tests
        ],
        "candidate": shown.candidate_test_id if shown else answer.tests[1].test_id,
        "baseline": shown.baseline_test_id if shown else answer.tests[0].test_id,
        "is_chosen": bool(shown and shown.is_chosen),
        "query": _query_of(shown) if shown and shown.is_chosen else "",
    }


def _query_of(shown: OverheadAnswer) -> str:
    return f"?compare={shown.candidate_test_id}&with={shown.baseline_test_id}"


def _next_steps(campaign: Campaign, answer: Answer) -> list[tuple[NextStep, float | None]]:
    """What would settle a finished campaign, each step with its planned seconds."""
    if campaign.state != "done":
        return []
    steps = next_steps(answer.overheads, MAX_REPEATS - campaign.repeats)
    return [(step, _planned_s(campaign, step.blocks) if step.blocks else None) for step in steps]


def _first_cells(overheads: list[OverheadAnswer]):
    """The cells of the average rows; without values there is nothing to draw."""
    return (cell for each in overheads for cell in each.table.rows[0].cells[:-1])


def like_rows(overheads: list[OverheadAnswer]) -> list[tuple[str, list[list[str]]]]:
    """What is the same and what is equal in each pair; what all pairs share is listed once."""
    rows = [
        (f"{kind}{_of_pair(each, overheads)}", each.like_for_like[key])
        for key, kind in (("same", "Same"), ("equal", "Equal"))
        for each in overheads
        if each.like_for_like.get(key)
    ]
    same = [pairs for title, pairs in rows if title.startswith("Same")]
    if len(same) > 1 and all(pairs == same[0] for pairs in same):
        return [("Same", same[0]), *(row for row in rows if row[0].startswith("Equal"))]
    return rows


def _of_pair(overhead: OverheadAnswer, overheads: list[OverheadAnswer]) -> str:
    return f", {overhead.connection_mode}" if len(overheads) > 1 else ""


def _has(cells: dict, key: str) -> bool:
    return key in cells and cells[key].value is not None


def plots_of(answer: Answer) -> list[dict[str, Any]]:
    """One pair of charts per plan. Sweeps have their own curves: their many arms would be
    indistinguishable here."""
    swept = {sweep.plan_label for sweep in answer.sweeps}
    plans = dict.fromkeys(t.plan_label for t in answer.tests if t.plan_label not in swept)
    return [
        {"plan": plan, "index": index, "tests": [t for t in answer.tests if t.plan_label == plan]}
        for index, plan in enumerate(plans)
    ]


def _plots(
    answer: Answer, drawn: dict[int, list], *, is_live: bool, is_only: bool
) -> list[dict[str, Any]]:
    """The plots that have, or will have, something to draw."""
    plots = []
    for plot in plots_of(answer):
        has_means = any(mean is not None for test in plot["tests"] for mean in test.means_ms)
        has_curve = any(test.curve or drawn.get(test.test_id) for test in plot["tests"])
        if is_live or has_curve or has_means:
            plots.append({**plot, "has_blocks": has_means or (is_live and not is_only)})
    return plots


def arm_labels(answer: Answer) -> dict[int, str]:
    """A short label for each test; the long one where two of a plan would look the same."""
    short = {test.test_id: f"{test.scheme.upper()} {test.connection_mode}" for test in answer.tests}
    n_alike = Counter((test.plan_label, short[test.test_id]) for test in answer.tests)
    if max(n_alike.values(), default=0) < 2:
        return short
    return {test.test_id: test.label for test in answer.tests}


def plot_data(answer: Answer, repeats: int, drawn: dict[int, list]) -> dict[str, Any]:
    """`drawn`: the curve so far of a test's run, which is shown until the test has its own."""
    arms = arm_labels(answer)
    return {
        "repeats": repeats,
        "plans": [
            [
                {
                    "label": arms[test.test_id],
                    "scheme": test.scheme,
                    "mode": test.connection_mode,
                    "curve": test.curve or drawn.get(test.test_id, []),
                    "means": test.means_ms,
                    "texts": test.means_text,
                }
                for test in plot["tests"]
            ]
            for plot in plots_of(answer)
        ],
    }


def run_rows(runs: list[Run], answer: Answer) -> list[dict[str, Any]]:
    """All runs in order; the figures are the same cells as in the tests' tables."""
    arms = arm_labels(answer)
    cells: dict[int, dict[str, Any]] = {}
    for test in answer.tests:
        keys = [column.key for column in test.table.columns]
        for row in test.table.rows:
            if "run" in row.link:
                cells[row.link["run"]] = dict(zip(keys, row.cells, strict=True))
    return [
        {
            "run": run,
            "arm": arms.get(run.test_id, run.test.connection_mode),
            "figures": [cells.get(run.pk, {}).get(key) for key in _RUN_FIGURES],
        }
        for run in runs
    ]
