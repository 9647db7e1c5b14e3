"""Checks whether a host is a project's own, when somebody has asked for it."""

from celery import shared_task

from campaigns.queue import OWNERSHIP
from campaigns.services.own_services import policy
from campaigns.services.ownership import finish_check, what_to_check
from workers.names import addresses_of
from workers.proofs import check_host


@shared_task(name=OWNERSHIP)
def check_ownership(claim_id: int) -> None:
    found = what_to_check(claim_id=claim_id)
    if found is None:
        return
    claim, origins = found
    addresses = addresses_of(claim.host, origins[0].port) if origins else []
    never = policy([])["never"]
    seen = check_host(claim.host, origins, addresses, claim.token, never)
    finish_check(claim_id=claim.pk, asked_at=claim.asked_at, seen=seen)
