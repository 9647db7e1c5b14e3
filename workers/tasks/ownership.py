"""Checks whether a host is a project's own, when somebody has asked for it."""

from collections.abc import Sequence

from celery import shared_task

from campaigns.domain.plan.ownership import HostCheck
from campaigns.domain.plan.target import Origin
from campaigns.models import HostClaim
from campaigns.queries.load_control import LOAD_IS_OFF, why_load_is_off
from campaigns.queue import OWNERSHIP
from campaigns.services.own_services import policy
from campaigns.services.ownership import finish_check, what_to_check
from workers.dialling import addresses_of
from workers.proofs import check_host


@shared_task(name=OWNERSHIP)
def check_ownership(claim_id: int) -> None:
    found = what_to_check(claim_id=claim_id)
    if found is None:
        return
    claim, origins = found
    off = HostCheck(faults=(LOAD_IS_OFF,)) if why_load_is_off() else None
    finish_check(claim_id=claim.pk, asked_at=claim.asked_at, seen=off or _seen(claim, origins))


def _seen(claim: HostClaim, origins: Sequence[Origin]) -> HostCheck:
    addresses = addresses_of(claim.host, origins[0].port) if origins else []
    never = policy([])["never"]
    return check_host(claim.host, origins, addresses, claim.token, never)
