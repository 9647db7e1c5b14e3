"""How far a campaign is, and when it will end."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import fmean, median

from django.utils import timezone

from campaigns.domain.lifecycle import RunState
from campaigns.domain.plan.estimates import estimate_campaign
from campaigns.models import Campaign, Run, Test
from campaigns.queries.load_control import why_nothing_begins
from campaigns.queries.runs import planned_end, share_over

_MOST_GAPS = 10


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
        return None if self.ends_at is None else (self.ends_at - timezone.now()).total_seconds()


def progress_of(campaign: Campaign, current: Run | None = None) -> CampaignProgress:
    """`current` is the run under way: the campaign ends when that run ends as planned and each of
    the others has taken as long as usual."""
    return progress_by_campaign([campaign], {campaign.pk: current})[campaign.pk]


def progress_by_campaign(
    campaigns: Sequence[Campaign], current: Mapping[int, Run | None]
) -> dict[int, CampaignProgress]:
    """`progress_of` each, with its run in `current`, in three queries for all of them."""
    ends: dict[int, list[datetime | None]] = {campaign.pk: [] for campaign in campaigns}
    runs = Run.objects.filter(campaign__in=ends).values_list("campaign", "state", "ended_at")
    for campaign, state, ended_at in runs:
        ends[campaign].append(ended_at if state == RunState.DONE else None)
    found = [_Standing(each, current.get(each.pk), ends[each.pk]) for each in campaigns]
    tests = _tests_by_campaign([each.campaign for each in found if each.asks_the_plan])
    progress = {each.campaign.pk: each.progress(tests.get(each.campaign.pk, ())) for each in found}
    if any(each.n_done < each.n_runs for each in progress.values()) and why_nothing_begins():
        return {pk: replace(each, ends_at=None, begins=False) for pk, each in progress.items()}
    return progress


class _Standing:
    """A campaign with its run under way, and when each of its runs ended."""

    def __init__(self, campaign: Campaign, current: Run | None, ends: Sequence[datetime | None]):
        self.campaign = campaign
        self._current = current
        self._n_runs = len(ends)
        self._done = sorted(filter(None, ends))
        self._n_left = self._n_runs - len(self._done)
        self._end = planned_end(current) if current else None
        self._is_in_last_run = self._end is not None and self._n_left == 1
        self._has_experience = bool(self._done and campaign.started_at)

    @property
    def asks_the_plan(self) -> bool:
        """Whether nothing else says how long its runs take."""
        is_clear = self.campaign.is_held or self._is_in_last_run or self._has_experience
        return self._n_runs > 0 and not is_clear

    def progress(self, tests: Iterable[Test]) -> CampaignProgress:
        """`tests` are the campaign's, where it `asks_the_plan`."""
        n_done, n_runs = len(self._done), self._n_runs
        over = n_done + (share_over(self._current) if self._current else 0)
        share = over / n_runs if n_runs else 0.0
        return CampaignProgress(n_done, n_runs, share, self._ends_at(tests))

    def _ends_at(self, tests: Iterable[Test]) -> datetime | None:
        if self.campaign.is_held:
            return None  # when somebody decides
        now = timezone.now()
        if self._is_in_last_run:
            return max(self._end, now)
        run_s = self._usual_run_s(tests)
        if run_s is None:
            return None
        if self._end:
            return max(self._end, now) + timedelta(seconds=(self._n_left - 1) * run_s)
        return now + timedelta(seconds=self._n_left * run_s)

    def _usual_run_s(self, tests: Iterable[Test]) -> float | None:
        """Seconds from one run's end to the next: of those that are done, else as planned."""
        if self._has_experience:
            return _usual_gap_s([self.campaign.started_at, *self._done])
        if not self._n_runs:
            return None
        whole_s = _planned_s(self.campaign, tests, self.campaign.repeats)
        return None if whole_s is None else whole_s / self._n_runs


def _tests_by_campaign(campaigns: Sequence[Campaign]) -> dict[int, list[Test]]:
    found: dict[int, list[Test]] = {}
    for test in Test.objects.filter(campaign__in=campaigns).select_related("plan_version"):
        found.setdefault(test.campaign_id, []).append(test)
    return found


def _usual_gap_s(ends: list[datetime]) -> float:
    """The mean time from one run's end to the next; a long wait before added blocks is no gap, nor
    is a clock that was set back between the two."""
    gaps = [max(0.0, (later - earlier).total_seconds()) for earlier, later in pairwise(ends)]
    most = _MOST_GAPS * median(gaps)
    return fmean(min(gap, most) for gap in gaps)


def planned_s(campaign: Campaign, repeats: int) -> float | None:
    """How long so many blocks of its tests take; None where only the target decides that."""
    return _planned_s(campaign, campaign.tests.select_related("plan_version"), repeats)


def _planned_s(campaign: Campaign, tests: Iterable[Test], repeats: int) -> float | None:
    estimate = estimate_campaign(
        [(test.plan(), test.connection_mode, test.injectors) for test in tests],
        repeats=repeats,
        pause_s=campaign.pause_s,
    )
    return None if estimate.runs_of_unknown_duration else estimate.duration_s
