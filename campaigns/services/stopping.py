"""Stops a campaign by itself: after a run in which everything failed, more would say the same."""

from django.db import transaction
from django.db.models.functions import Now

from campaigns.domain.judged.failures import everything_failed, failure_words
from campaigns.domain.lifecycle import Outcome, RunState
from campaigns.live.notify import notify_viewers
from campaigns.models import Campaign, Run
from campaigns.queries.measurements import latest_summary, stored_measurement
from campaigns.services.runs import end_queued, lock_runs


def stop_if_everything_failed(run: Run) -> bool:
    """Cancel the campaign's queued runs, with a sentence that says why; whether it did."""
    campaign = Campaign.objects.get(pk=run.campaign_id)
    waiting = campaign.runs.filter(state=RunState.QUEUED)
    if campaign.keeps_going or not waiting.exists():
        return False
    words = _words(run)
    return bool(words) and stop_by_itself(campaign, f"Stopped after run {run.position}: {words}.")


def _words(run: Run) -> str:
    """What failed; "" if anything was ok."""
    summary = latest_summary(run)
    if summary is None:
        return ""
    seen = stored_measurement(run, summary)
    attempts = seen.figures.attempts
    if not everything_failed(seen.failures, attempts):
        return ""
    return failure_words(seen.failures, attempts, seen.plan.nouns)


@transaction.atomic
def stop_by_itself(campaign: Campaign, reason: str) -> bool:
    """Cancel what is queued; `reason` is a sentence. False if somebody has stopped it before."""
    going_on = Campaign.objects.filter(pk=campaign.pk, stop_requested_at=None, finished_at=None)
    if not going_on.update(stop_requested_at=Now(), stop_reason=reason):
        return False
    # The campaign before its runs, like whoever stops it: else the two could wait for each other.
    lock_runs(campaign.runs.all())
    end_queued(campaign.runs.all(), Outcome.STOPPED, reason)
    notify_viewers(campaign_id=campaign.pk)
    return True
