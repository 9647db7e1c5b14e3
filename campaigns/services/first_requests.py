"""Before a campaign's first run: one request for each of its plans and endpoints. Runs may begin
once the campaign is open (`opened_at`): when all of these were answered as their plans expect, or
if it keeps going whatever fails. Otherwise it is on hold (`held_at`), until somebody starts it
anyway, tries again or stops it, or until an hour is over. They wait for their turn as long as it
takes (`probe_queue`), so also for as long as load is off."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import RunState
from campaigns.live.notify import notify_viewers
from campaigns.models import Campaign, Endpoint, PlanVersion, Probe, Run
from campaigns.models.dbtime import db_now
from campaigns.permissions import Action, Actor, require
from campaigns.queries.first_requests import first_requests_of
from campaigns.services.endings import stop_by_itself
from campaigns.services.probes import request_first
from campaigns.services.vault import require_secret

HELD_FOR_S = 3600
MAX_TRIED = 50


def send_first_requests(*, by: Actor, campaign: Campaign) -> None:
    """Enqueue one for each plan version and endpoint; modes and injectors make no difference."""
    tests = campaign.tests.select_related("plan_version__plan", "endpoint__target__project")
    cells = {(each.plan_version_id, each.endpoint_id): each for each in tests.order_by("position")}
    sent = {"by": by, "campaign": campaign, "together": len(cells)}
    for test in cells.values():
        request_first(version=test.plan_version, endpoint=test.endpoint, **sent)


@transaction.atomic
def try_cells(*, by: Actor, cells: Sequence[tuple[PlanVersion, Endpoint]]) -> None:
    """Enqueue the same for cells of a campaign that does not exist yet. Raises Refused."""
    if not cells:
        raise Refused("Tick at least one cell to try.")
    if len(cells) > MAX_TRIED:
        raise Refused(f"At most {MAX_TRIED} plans and endpoints can be tried at once. Untick some.")
    for version, endpoint in cells:
        require_secret(by=by, version=version, endpoint=endpoint)
        request_first(by=by, version=version, endpoint=endpoint, together=len(cells))


@transaction.atomic
def settle_campaign(*, campaign_id: int) -> bool:
    """Open the campaign or hold it, once all its requests came back; whether it did."""
    campaign = _waiting().filter(pk=campaign_id, held_at=None).select_for_update().first()
    if campaign is None:
        return False
    found = first_requests_of(campaign)
    if found.waiting:
        return False
    is_open = campaign.keeps_going or not found.wrong
    _waiting().filter(pk=campaign_id).update(**{"opened_at" if is_open else "held_at": Now()})
    notify_viewers(campaign_id=campaign_id)
    return True


def settle_campaigns() -> int:
    """The same for all that have their answers, should the worker of the last one have died."""
    unanswered = Probe.objects.filter(campaign=OuterRef("pk"), finished_at=None)
    ready = _waiting().filter(~Exists(unanswered), held_at=None)
    return sum(settle_campaign(campaign_id=pk) for pk in list(ready.values_list("pk", flat=True)))


def end_held_campaigns() -> int:
    """Stop those that nobody has decided about for an hour."""
    forgotten = _waiting().filter(held_at__lt=db_now(-HELD_FOR_S))
    return sum(stop_by_itself(each, _forgotten_words(each)) for each in forgotten)


def _forgotten_words(campaign: Campaign) -> str:
    failure = first_requests_of(campaign).failure
    return f"Not started: {failure}. Nobody started it anyway within an hour."


@transaction.atomic
def start_anyway(*, by: Actor, campaign: Campaign) -> None:
    """Let the runs begin, whatever came back. Raises Forbidden or Refused."""
    require(by, Action.RUN, campaign.project)
    if not _waiting().filter(pk=campaign.pk).update(opened_at=Now(), held_at=None):
        raise Refused("This campaign does not wait for its first requests.")
    forget_unsent(campaign)
    notify_viewers(campaign_id=campaign.pk)


@transaction.atomic
def try_again(*, by: Actor, campaign: Campaign) -> None:
    """Send what failed once more, with the endpoints as they are now, which the runs then use too.
    Raises Forbidden or Refused."""
    require(by, Action.RUN, campaign.project)
    if not send_again(by=by, campaign=campaign):
        raise Refused("This campaign is not on hold; there is nothing to try again.")
    # Nothing has run yet, so an accepted certificate, say, is part of the runs to come.
    runs = list(campaign.runs.filter(state=RunState.QUEUED).select_related("test__endpoint"))
    endpoints = {run.test.endpoint_id: run.test.endpoint for run in runs}
    frozen = {pk: endpoint.frozen().to_json() for pk, endpoint in endpoints.items()}
    for run in runs:
        run.snapshot |= {"endpoint": frozen[run.test.endpoint_id]}
    Run.objects.bulk_update(runs, ["snapshot"], batch_size=200)
    notify_viewers(campaign_id=campaign.pk)


@transaction.atomic
def send_again(*, by: Actor, campaign: Campaign) -> bool:
    """Send what failed once more, if the campaign is on hold; whether it was."""
    held = _waiting().filter(pk=campaign.pk, held_at__isnull=False)
    if not held.select_for_update().exists():
        return False
    held.update(held_at=None)
    failed = [each.probe for each in first_requests_of(campaign).wrong]
    sent = {"by": by, "campaign": campaign, "together": len(failed)}
    for probe in failed:
        campaign.first_requests.filter(pk=probe.pk).update(campaign=None)
        request_first(version=probe.plan_version, endpoint=probe.endpoint, **sent)
    return True


def forget_unsent(campaign: Campaign) -> None:
    """Take back the requests that no worker has picked up yet."""
    campaign.first_requests.filter(claimed_at=None, finished_at=None).delete()


def _waiting():
    """The started campaigns whose runs may not begin yet."""
    return Campaign.objects.filter(
        started_at__isnull=False, opened_at=None, stop_requested_at=None, finished_at=None
    )
