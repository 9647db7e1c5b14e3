"""How far a campaign is, and when it will end."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import mean, median

from django.utils import timezone

from campaigns.domain.plan.estimates import estimate_campaign
from campaigns.models import Campaign, Run
from campaigns.queries.runs import planned_end, share_over

_MOST_GAPS = 10


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
    whole_s = planned_s(campaign, campaign.repeats) if n_runs else None
    return None if whole_s is None else whole_s / n_runs


def _usual_gap_s(ends: list[datetime]) -> float:
    """The mean time from one run's end to the next; a long wait before added blocks is no gap."""
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(ends)]
    most = _MOST_GAPS * median(gaps)
    return mean(min(gap, most) for gap in gaps)


def planned_s(campaign: Campaign, repeats: int) -> float | None:
    tests = campaign.tests.select_related("plan_version")
    estimate = estimate_campaign(
        [(test.plan(), test.connection_mode, test.injectors) for test in tests],
        repeats=repeats,
        pause_s=campaign.pause_s,
    )
    return None if estimate.runs_of_unknown_duration else estimate.duration_s
