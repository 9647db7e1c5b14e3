"""How far a campaign is, and when it will end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import fmean, median

from django.db.models import Prefetch
from django.utils import timezone

from campaigns.domain.lifecycle import RunState
from campaigns.domain.plan.estimates import SET_UP_S
from campaigns.domain.plan.turns import ALONE_S
from campaigns.models import Campaign, Run, Test
from campaigns.queries.load_control import why_nothing_begins
from campaigns.queries.runs import share_over
from campaigns.services.blocks import cell_of, estimate_cells, estimates_of_runs

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
    found = [_Standing(each, current.get(each.pk), runs[each.pk]) for each in campaigns]
    planned = _planned_by_test([test for each in found for test in each.unmeasured])
    progress = {each.campaign.pk: each.progress(planned) for each in found}
    if any(each.n_done < each.n_runs for each in progress.values()) and why_nothing_begins():
        return {pk: replace(each, ends_at=None, begins=False) for pk, each in progress.items()}
    return progress


class _Standing:
    """A campaign with its run under way and what its done runs took."""

    def __init__(self, campaign: Campaign, current: Run | None, runs: Sequence[_Run]):
        self.campaign = campaign
        self._current = current
        self._n_runs = len(runs)
        self._left = [run.test for run in runs if not run.is_done]
        done = sorted(
            (run for run in runs if run.is_done and run.t0 and run.ended_at),
            key=lambda run: run.ended_at,
        )
        lengths: dict[tuple[int, bool], list[float]] = {}
        for run in done:
            lengths.setdefault(run.test, []).append(_between_s(run.t0, run.ended_at))
        self._lengths_s = {test: median(each) for test, each in lengths.items()}
        waits = [_between_s(earlier.ended_at, later.t0) for earlier, later in pairwise(done)]
        usual = campaign.pause_s + SET_UP_S
        # Of the latest: other campaigns that it took turns with may be over.
        self._wait_s = median(waits[-_LATEST_WAITS:]) if waits else usual

    @property
    def unmeasured(self) -> set[tuple[int, bool]]:
        """The tests of which only the plan says how long a run takes."""
        return set() if self.campaign.is_held else set(self._left) - self._lengths_s.keys()

    def progress(self, planned_s: _PlannedS) -> CampaignProgress:
        """`planned_s`: how long a run of each `unmeasured` test takes."""
        n_done, n_runs = self._n_runs - len(self._left), self._n_runs
        over = n_done + (share_over(self._current) if self._current else 0)
        share = over / n_runs if n_runs else 0.0
        return CampaignProgress(n_done, n_runs, share, self._ends_at(planned_s))

    def _ends_at(self, planned_s: _PlannedS) -> datetime | None:
        if self.campaign.is_held or self.campaign.waits_for_quiet or not self._left:
            return None  # when somebody decides, the machine is quiet, or somebody adds runs
        # Those that neither a run nor the plan tells take as long as the others did.
        other_s = fmean(self._lengths_s.values()) if self._lengths_s else None
        known_s = {**planned_s, **self._lengths_s}
        known_s = {test: other_s if each is None else each for test, each in known_s.items()}
        lengths_s = [known_s[test] for test in self._left]
        if None in lengths_s:
            return None
        now, waits_s = timezone.now(), len(self._left) * self._wait_s
        if self._current is None or self._current.t0 is None:
            return now + timedelta(seconds=sum(lengths_s) + waits_s)
        current_s = known_s[self._current.test_id, self._current.is_alone]
        end = max(now, self._current.t0 + timedelta(seconds=current_s))
        others_s = sum(lengths_s) - current_s + waits_s - self._wait_s
        return end + timedelta(seconds=others_s)


def _between_s(earlier: datetime, later: datetime) -> float:
    """0 where a clock was set back in between."""
    return max(0.0, (later - earlier).total_seconds())


def _planned_by_test(keys: Sequence[tuple[int, bool]]) -> _PlannedS:
    """None where only the target decides."""
    pks = {test for test, _ in keys}
    campaigns = Campaign.objects.filter(tests__in=pks).distinct()
    tests = Prefetch("tests", Test.objects.select_related("plan_version"))
    found = {}
    for campaign in campaigns.prefetch_related(tests) if pks else ():
        estimates = estimates_of_runs(campaign, campaign.tests.all())
        found |= {test: each.duration_s for test, each in estimates.items()}
    return {
        (test, is_alone): min(found[test], ALONE_S) if is_alone and found[test] else found[test]
        for test, is_alone in keys
    }


_SETTINGS = ("pause_s", "limit_s", "until_settled", "perf", "profile")


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
