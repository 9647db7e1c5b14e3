"""Scrapes an exporter once, when somebody has set it or asked for it."""

import contextlib

from celery import shared_task

from campaigns.domain.measured.exporter import offers
from campaigns.domain.measured.exporter_seconds import NothingKnown, reading_of
from campaigns.domain.measured.exposition import NotExposition
from campaigns.queue import EXPORTER
from campaigns.services.scrapes import (
    ScrapeOrder,
    finish_exporter_check,
    what_to_scrape_once,
)
from workers.exporter_client import ExporterClient, ScrapeFailed


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
    return offers(reading_of(answer.text, counts_process=order.is_server))
