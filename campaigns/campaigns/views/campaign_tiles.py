"""What stands first on a campaign's page: how far it is and when it will end; a card for each
comparison, or a tile for each test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from math import sqrt
from statistics import fmean, median
from typing import Any

from django.db.models import Prefetch
from django.utils import timezone

from campaigns.campaigns.queries.cells import cell_of, estimate_cells, estimates_of_runs
from campaigns.core.drawings import RatioAxis, RatioMark, forest_groups, spaced_ratios
from campaigns.domain.analysis.ratio import BOUNDED, Word
from campaigns.domain.lifecycle import RunState
from campaigns.domain.metrics.figures import TYPICAL
from campaigns.domain.plan.estimates import SET_UP_S
from campaigns.domain.plan.turns import ALONE_S
from campaigns.domain.presentation.charts import (
    Axis,
    Band,
    Chart,
    Charts,
    LineStyle,
    Mark,
    Places,
    Series,
    columns,
)
from campaigns.domain.presentation.intervals import (
    FACTOR_FROM,
    change_words,
    difference_words,
    ends_words,
)
from campaigns.domain.presentation.overhead_table import OverheadAnswer
from campaigns.domain.presentation.results import Answer, TestAnswer
from campaigns.domain.presentation.tables import Cell
from campaigns.domain.units import DASH, THIN, counted, ends_ms, figure, number
from campaigns.models import Campaign, Run, Test
from campaigns.operations.queries import why_nothing_begins
from campaigns.runs.queries.runs import share_over

# More comparisons are in the table of ratios alone.
MOST_CARDS = 6
_MOST_TILES = 5
_TICK_GAP = 13.0  # percent; a card is some 420 px wide
_RATIOS_GAP = 16.0  # of half of the page
_FUNNEL_GAP = 16.0  # of the height of a low panel
_ARROWS = dict.fromkeys(BOUNDED, "≤") | {
    Word.SLOWER: "→", Word.FASTER: "←", Word.SAME: "=", Word.OPEN: "?",
}  # fmt: skip
_RATIO = 3  # its cell in a row of overheads


@dataclass(frozen=True, slots=True)
class Card:
    """One comparison. `value` is a figure only where it is settled, else `ends` stands in its
    place. `mark` and `axis` draw its interval, None without one; `at_least`: a part is hidden."""

    title: str
    plan: str
    pill: str
    arrow: str
    is_strong: bool
    is_open: bool
    at_least: bool
    value: str
    unit: str
    times: str
    ends: str
    names: tuple[str, str]
    mark: RatioMark | None = None
    axis: RatioAxis | None = None
    funnel: Charts | None = None


def settling(
    overhead: OverheadAnswer, end_s: float, threshold: float, key: str, title: str = ""
) -> Chart | None:
    """None before the second look."""
    looks = overhead.narrowing
    if len(looks) < 2:
        return None
    # A pass that was added begins where those before it have ended.
    end_s = max(end_s, looks[-1]["seconds"])
    in_factors = _in_factors(looks[-1])
    words = _factor_words if in_factors else _share_words
    ends = [look[end] for look in looks for end in ("low", "high")]
    around = [] if in_factors else [1 / (1 + threshold), 1 + threshold]
    low, high = min([*ends, *around]) / 1.03, max([*ends, *around]) * 1.03
    ticks = [(t, words(t) or "0") for t in spaced_ratios(low, high, _FUNNEL_GAP)]
    axis = Axis(scale="log", low=low, high=high, ticks=ticks)
    equal = [] if in_factors else [Mark(axis="y", at=1, label=overhead.names[0])]
    rows = [
        (min(end_s, each["seconds"]), each["ratio"], each["low"], each["high"]) for each in looks
    ]
    now_s = rows[-1][0]
    # Of the first look from which on the word has stayed; None while it is open.
    settled_s, last = None, looks[-1]["word"]
    if last in {Word.SLOWER, Word.FASTER, Word.SAME}:
        others = [n for n, look in enumerate(looks) if look["word"] != last]
        settled_s = looks[others[-1] + 1 if others else 0]["seconds"]
    texts = [f"{figure(best)} [{figure(low)}, {figure(high)}]" for _, best, low, high in rows]
    expected, ahead = _expected(rows[-1], overhead.more_s, end_s) if settled_s is None else ([], [])
    if settled_s is not None:
        at = f"settled at {number(settled_s, 0)}{THIN}s"
        expected = [Mark(at=min(end_s, settled_s), label=at, colour="accent")]
    bands = [Band(axis="y", low=around[0], high=around[1])] if around else []
    return Chart(
        key,
        title,
        "",
        f"How the interval narrows{': ' * bool(title)}{title}.",
        size="funnel",
        x=Axis(title="second", low=0, high=end_s),
        y=axis,
        series=[
            Series(style=LineStyle("ink"), look="area", **columns("x y low high", rows)),
            Series(style=LineStyle("ink"), texts=texts, **columns("x y", rows)),
            *ahead,
        ],
        bands=[Band(low=now_s, high=end_s, look="wash"), *bands],
        marks=[*equal, *expected],
    )


def _expected(
    last: tuple[float, ...], more_s: float | None, end_s: float
) -> tuple[list[Mark], list[Series]]:
    """When it settles, and how its ends narrow until then: with the root of the time."""
    now_s, ratio, low, high = last
    if not more_s or now_s >= end_s or not 0 < low < ratio < high:
        return [], []
    at_s = now_s + more_s
    until_s = min(at_s, end_s)
    times_s = [now_s + (until_s - now_s) * n / 6 for n in range(7)]
    ends = [
        [ratio * (end / ratio) ** sqrt(now_s / time_s) for time_s in times_s] for end in (low, high)
    ]
    style = LineStyle("ink", (3, 3))
    mark = Mark(at=at_s, label=f"about {number(at_s, 0)}{THIN}s", colour="accent", dash=(2, 3))
    return [mark] * (at_s < end_s), [Series(style=style, x=times_s, y=each) for each in ends]


def drawn_funnel(
    overheads: Sequence[OverheadAnswer], threshold: float, limit_s: float | None
) -> dict[str, Any]:
    """{"charts": None before the second look, "groups": what narrows}; {} without any. `limit_s` as
    in `cards_of`."""
    groups = [each for each in overheads if each.narrowing]
    if not groups:
        return {}
    end_s = limit_s or max(look["seconds"] for each in groups for look in each.narrowing)
    panels = [
        panel
        for n, each in enumerate(groups)
        if (panel := settling(each, end_s, threshold, f"funnel-{n}", each.title))
    ]
    return {"charts": funnel_charts("funnel", panels) if panels else None, "groups": groups}


def cards_of(answer: Answer, threshold: float, limit_s: float | None = None) -> list[Card]:
    """A card for each comparison; none for many, and where nothing is known. `limit_s`: how
    long the arms may take turns, while they do."""
    overheads = answer.overheads
    if answer.has_no_answer or answer.errors.is_everything or len(overheads) > MOST_CARDS:
        return []
    intervals = [next((row for row in each.forest if row["primary"]), None) for each in overheads]
    axes = {
        in_factors: RatioAxis(
            [[each] for each in intervals if each and _in_factors(each) == in_factors],
            threshold,
            _TICK_GAP,
            _factor_words if in_factors else _share_words,
        )
        for in_factors in (True, False)
    }
    is_known = any(each.table.rows[0].cells[_RATIO].value is not None for each in overheads)
    if not (is_known or limit_s):
        return []  # the sentence says why
    return [
        replace(
            _card(overhead, interval, axes[_in_factors(interval)] if interval else None),
            **({} if is_known else {"ends": "Warming up"}),
            funnel=funnel_charts(f"funnel-{n}", [panel])
            if limit_s and (panel := settling(overhead, limit_s, threshold, "funnel"))
            else None,
        )
        for n, (overhead, interval) in enumerate(zip(overheads, intervals, strict=True))
    ]


def _in_factors(interval: dict[str, Any]) -> bool:
    """As the figure above its axis is told."""
    return interval["ratio"] >= FACTOR_FROM


def _factor_words(ratio: float) -> str:
    return f"{ratio:g}{THIN}×"


def _share_words(ratio: float) -> str:
    if ratio >= FACTOR_FROM:
        return _factor_words(ratio)
    change = round(100 * (ratio - 1))
    return f"{number(change, 0, signed=True)}{THIN}%" if change else ""


def _card(
    overhead: OverheadAnswer, interval: dict[str, Any] | None, axis: RatioAxis | None
) -> Card:
    row = overhead.table.rows[0]
    ratio = row.cells[_RATIO].value
    word = Word(overhead.word) if overhead.word else None
    is_strong = word in {Word.SLOWER, Word.FASTER}
    value, unit, ends = "", "", overhead.word_reason
    if interval and overhead.has_size:
        ends_of_ratio = interval["ratio"], interval["low"], interval["high"]
        words, ends = "", ends_words(*ends_of_ratio)
        if word:
            words, ends = difference_words(word, *ends_of_ratio, at_least=overhead.at_least)
        if is_strong:
            value, _, unit = words.removeprefix("at least ").rpartition(" ")
        elif word == Word.SAME:
            value = change_words(ratio)
    elif ratio is not None and not word:
        value = f"about {change_words(ratio)}"
    times = ""
    if ratio is not None:
        where = "on average" if row.kind == "mean" else "at the median"
        # A median without the injector's part has the measured one as its upper end.
        row_of_word, *others = overhead.table.rows
        p50 = next((each for each in others if each.kind == "p50"), None)
        if row_of_word.kind != TYPICAL or p50 is None:
            before, after = [cell.text for cell in row_of_word.cells[:2]]
        else:
            both = zip(row_of_word.cells[:2], p50.cells[:2], strict=True)
            before, after = [ends_ms(1000 * low.value, 1000 * high.value) for low, high in both]
        times = f"{after} instead of {before}{THIN}ms {where}"
    return Card(
        title=overhead.title,
        plan=overhead.plan_label,
        pill=f"{overhead.word[:1].upper()}{overhead.word[1:]}",
        arrow=_ARROWS.get(word, ""),
        is_strong=is_strong,
        is_open=word in {None, Word.OPEN},
        at_least=overhead.at_least and is_strong and bool(value),
        value=value,
        unit=unit,
        times=times,
        ends=ends,
        names=overhead.names,
        mark=axis.mark(interval) if axis else None,
        axis=axis,
    )


def ratios_of(
    overheads: Sequence[OverheadAnswer], threshold: float, *, has_cards: bool
) -> dict[str, Any]:
    """As `forest_groups`, of the rows that have an interval and stand in no card."""
    forest = forest_groups(overheads, threshold, _RATIOS_GAP)
    groups = []
    for group in forest["groups"]:
        rows = [
            (row, cells, mark)
            for row, cells, mark in group["rows"]
            if mark and not (has_cards and mark.is_primary)
        ]
        groups += [group | {"rows": rows}] if rows else []
    return {"axis": forest["axis"], "groups": groups}


# --- tiles ---------------------------------------------------------------------------------------
def tiles_of(answer: Answer) -> list[dict[str, Any]]:
    """A tile for each test, where nothing is compared. None where there is no answer, or nothing
    but failures."""
    if answer.overheads or answer.has_no_answer or answer.errors.is_everything:
        return []
    if len(answer.tests) <= _MOST_TILES:
        return [_test_tile(each) for each in answer.tests]
    means_ms = [[ms for ms in each.means_ms if ms is not None] or [0.0] for each in answer.tests]
    by_mean = sorted(zip(means_ms, answer.tests, strict=True), key=lambda each: -fmean(each[0]))
    slowest = [test for _, test in by_mean[: _MOST_TILES - 1]]
    more = len(answer.tests) - len(slowest)
    rest = {"title": "And", "note": "", "value": number(more), "unit": "more tests"}
    lines = ["none slower on average"]
    return [*map(_test_tile, slowest), {**rest, "lines": lines}]


def _test_tile(test: TestAnswer) -> dict[str, Any]:
    keys = [column.key for column in test.table.columns]
    pooled_row = next((row for row in test.table.rows if row.kind == "pooled"), None)
    cells = dict(zip(keys, pooled_row.cells, strict=True)) if pooled_row else {}
    metric = next((key for key in ("p95", "p50", "mean") if _has_value(cells, key)), "mean")
    cell = cells[metric] if _has_value(cells, metric) else None
    lines = [f"{cells['rate'].text} ok {test.nouns}/s"] if _has_value(cells, "rate") else []
    lines += [
        counted(cells[key].value, nouns)
        for key, nouns in (("n", test.nouns), ("errors", "errors"))
        if _has_value(cells, key)
    ]
    return {
        "title": test.label,
        "note": test.plan_label,
        "value": f"{'~' * cell.weak}{cell.text}" if cell else DASH,
        "unit": f"ms, {metric}" if cell else "",
        "lines": lines or ["no usable run"],
    }


def _has_value(cells: dict[str, Cell], key: str) -> bool:
    return key in cells and cells[key].value is not None


_LATEST_WAITS = 5


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """A campaign's progress. `share` of its runs, with the part of the run under way that is over;
    `ends_at` is None while it cannot be estimated, as while no run `begins`."""

    n_done: int
    n_runs: int
    share: float
    ends_at: datetime | None
    begins: bool = True

    @property
    def percent(self) -> float:
        return round(100 * self.share, 1)

    @property
    def left_s(self) -> float | None:
        """0 where it ends any moment."""
        if self.ends_at is None:
            return None
        return max(0.0, (self.ends_at - timezone.now()).total_seconds())


# How long a run takes, by its test and whether it is sent alone; None: the target decides.
_PlannedS = Mapping[tuple[int, bool], float | None]


@dataclass(frozen=True, slots=True)
class _Run:
    test: tuple[int, bool]  # and whether it is sent alone
    is_done: bool
    t0: datetime | None
    ended_at: datetime | None


def progress_of(campaign: Campaign, current: Run | None = None) -> CampaignProgress:
    """`current` is the run under way. Each run takes as long as the done ones of its test, or as
    planned; between two runs as much time passes as lately."""
    return progress_by_campaign([campaign], {campaign.pk: current})[campaign.pk]


def progress_by_campaign(
    campaigns: Sequence[Campaign], current: Mapping[int, Run | None]
) -> dict[int, CampaignProgress]:
    """`progress_of` each, with its run in `current`, in three queries for all of them."""
    runs: dict[int, list[_Run]] = {campaign.pk: [] for campaign in campaigns}
    rows = Run.objects.filter(campaign__in=runs)
    columns = ("campaign", "test", "is_alone", "state", "t0", "ended_at")
    for campaign, test, is_alone, state, *times in rows.values_list(*columns):
        runs[campaign].append(_Run((test, is_alone), state == RunState.DONE, *times))
    standings = [_Standing(each, current.get(each.pk), runs[each.pk]) for each in campaigns]
    keys = [test for each in standings for test in each.unmeasured]
    planned_s_by_test: _PlannedS = {}  # None where only the target decides
    if keys:
        rows = Campaign.objects.filter(tests__in={test for test, _ in keys}).distinct()
        tests = Prefetch("tests", Test.objects.select_related("plan_version"))
        lasts_s: dict[int, float | None] = {}
        for campaign in rows.prefetch_related(tests):
            estimates = estimates_of_runs(campaign, campaign.tests.all())
            lasts_s |= {test: each.duration_s for test, each in estimates.items()}
        for test, is_alone in keys:
            run_s = lasts_s[test]
            planned_s_by_test[test, is_alone] = min(run_s, ALONE_S) if run_s and is_alone else run_s
    progress = {each.campaign.pk: each.progress(planned_s_by_test) for each in standings}
    if any(each.n_done < each.n_runs for each in progress.values()) and why_nothing_begins():
        return {pk: replace(each, ends_at=None, begins=False) for pk, each in progress.items()}
    return progress


class _Standing:
    """A campaign with its run under way and what its done runs took."""

    def __init__(self, campaign: Campaign, current: Run | None, runs: Sequence[_Run]):
        self.campaign = campaign
        self._current = current
        self._n_runs = len(runs)
        self._runs_left = [run.test for run in runs if not run.is_done]
        # One, or all that take turns.
        began = current and current.t0
        self._under_way = [run.test for run in runs if began == run.t0 and not run.is_done]
        done_runs = sorted(
            (run for run in runs if run.is_done and run.t0 and run.ended_at),
            key=lambda run: run.ended_at,
        )
        lengths: dict[tuple[int, bool], list[float]] = {}
        for run in done_runs:
            lengths.setdefault(run.test, []).append(_between_s(run.t0, run.ended_at))
        self._lengths_s = {test: median(each) for test, each in lengths.items()}
        waits = [_between_s(earlier.ended_at, later.t0) for earlier, later in pairwise(done_runs)]
        usual = campaign.pause_s + SET_UP_S
        # Of the latest: other campaigns that it took turns with may be over.
        self._wait_s = median(waits[-_LATEST_WAITS:]) if waits else usual

    @property
    def unmeasured(self) -> set[tuple[int, bool]]:
        """The tests of which only the plan says how long a run takes."""
        return set() if self.campaign.is_held else set(self._runs_left) - self._lengths_s.keys()

    def progress(self, planned_s: _PlannedS) -> CampaignProgress:
        """`planned_s`: how long a run of each `unmeasured` test takes."""
        n_done, n_runs = self._n_runs - len(self._runs_left), self._n_runs
        over = n_done
        if self._current:
            over += len(self._under_way) * share_over(self._current)
        share = over / n_runs if n_runs else 0.0
        return CampaignProgress(n_done, n_runs, share, self._ends_at(planned_s))

    def _ends_at(self, planned_s: _PlannedS) -> datetime | None:
        if self.campaign.is_held or self.campaign.waits_for_quiet or not self._runs_left:
            return None  # when somebody decides, the machine is quiet, or somebody adds runs
        # Those that neither a run nor the plan tells take as long as the others did.
        other_s = fmean(self._lengths_s.values()) if self._lengths_s else None
        known_s = {**planned_s, **self._lengths_s}
        known_s = {test: other_s if each is None else each for test, each in known_s.items()}
        lengths_s = [known_s[test] for test in self._runs_left]
        if None in lengths_s:
            return None
        now, waits_s = timezone.now(), len(self._runs_left) * self._wait_s
        if self._current is None or self._current.t0 is None:
            return now + timedelta(seconds=sum(lengths_s) + waits_s)
        current_s = sum(known_s[test] for test in self._under_way)
        turns = self._current.frozen.turns
        if turns and not turns.until_settled:
            current_s = turns.limit_s  # of a pass that was added as much as it was added for
        end = max(now, self._current.t0 + timedelta(seconds=current_s))
        others_s = sum(lengths_s) - current_s + waits_s - len(self._under_way) * self._wait_s
        return end + timedelta(seconds=others_s)


def _between_s(earlier: datetime, later: datetime) -> float:
    """0 where a clock was set back in between."""
    return max(0.0, (later - earlier).total_seconds())


def planned_s(campaign: Campaign, repeats: int) -> float | None:
    """How long so many blocks of its tests take; None where only the target decides that."""
    tests = campaign.tests.select_related("plan_version", "endpoint__target")
    estimate = estimate_cells(
        [cell_of(test) for test in tests if not test.is_of_reference],
        in_turns=campaign.order == Campaign.Order.SIDE_BY_SIDE,
        repeats=repeats,
        has_reference=any(test.is_of_reference for test in tests),
        **{each: getattr(campaign, each) for each in ("pause_s", "limit_s", "until_settled")},
        perf=campaign.perf_scope,
    )
    return None if estimate.runs_of_unknown_duration else estimate.duration_s


def funnel_charts(key: str, panels: Sequence[Chart]) -> Charts:
    seconds = sorted({x for panel in panels for x in panel.series[0].x})
    return Charts(
        key,
        "How the answer settles",
        panels,
        Places(x=seconds, at=[f"{number(each, 0)} s" for each in seconds]),
        in_columns=len(panels) > 1,
    )
