"""Checks that somebody asked for: whether a host is a project's own, what an exporter offers."""

import contextlib
from collections.abc import Sequence

from celery import shared_task

from campaigns.core.own_services import policy
from campaigns.core.queue import EXPORTER, OWNERSHIP
from campaigns.domain.metrics.exporter import NotExposition, NothingKnown, offers, reading_of
from campaigns.domain.plan.addresses import HostCheck
from campaigns.domain.plan.target import Origin
from campaigns.machines.services.scrapes import (
    ScrapeOrder,
    finish_exporter_check,
    what_to_scrape_once,
)
from campaigns.models import HostClaim
from campaigns.operations.queries.load_control import LOAD_IS_OFF, why_load_is_off
from campaigns.targets.services.ownership import finish_check, what_to_check
from workers.dialling import addresses_of
from workers.exporter_client import ExporterClient, ScrapeFailed
from workers.proofs import check_host


@shared_task(name=OWNERSHIP)
def check_ownership(claim_id: int) -> None:
    found = what_to_check(claim_id=claim_id)
    if found is None:
        return
    claim, origins = found
    off = HostCheck(faults=(LOAD_IS_OFF,)) if why_load_is_off() else None
    finish_check(
        claim_id=claim.pk, asked_at=claim.asked_at, seen=off or _check_claim(claim, origins)
    )


def _check_claim(claim: HostClaim, origins: Sequence[Origin]) -> HostCheck:
    addresses = addresses_of(claim.host, origins[0].port) if origins else []
    never = policy([])["never"]
    return check_host(claim.host, origins, addresses, claim.token, never)


@shared_task(name=EXPORTER)
def check_exporter(exporter_id: int) -> None:
    found = what_to_scrape_once(exporter_id=exporter_id)
    if found is None:
        return
    order, asked_at = found
    try:
        finish_exporter_check(order=order, asked_at=asked_at, offers=_offers(order))
    except (ScrapeFailed, NotExposition, NothingKnown) as fault:
        finish_exporter_check(order=order, asked_at=asked_at, problem=str(fault))


def _offers(order: ScrapeOrder) -> list[str]:
    with contextlib.closing(ExporterClient(order)) as client:
        answer = client.ask()
    return offers(reading_of(answer.text, itself=order.name if order.is_server else ""))
