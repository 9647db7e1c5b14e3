"""A Celery worker on the queue `inject` announces its host while it is alive.

Checks that somebody asked for: whether a host is a project's own, what an exporter offers."""

import contextlib
import gc
import logging
import os
import platform
import resource
import socket
import sys
import threading
from collections.abc import Sequence

import django
from celery import shared_task
from celery.signals import (
    worker_before_create_process,
    worker_process_init,
    worker_ready,
    worker_shutting_down,
)
from django.conf import settings

from campaigns.core.own_services import policy
from campaigns.core.queue import EXPORTER, OWNERSHIP
from campaigns.domain.metrics.exporter import NotExposition, NothingKnown, offers, reading_of
from campaigns.domain.plan.addresses import HostCheck
from campaigns.domain.plan.target import Origin
from campaigns.machines.services import ScrapeOrder, finish_exporter_check, what_to_scrape_once
from campaigns.models import HostClaim
from campaigns.operations.queries.load_control import LOAD_IS_OFF, why_load_is_off
from campaigns.operations.services.load_control import announce_host
from campaigns.targets.services import finish_check, what_to_check
from workers.database import UNREACHABLE, drop_connection, first_line_of, use_own_connection
from workers.dialling import addresses_of, own_addresses
from workers.file_reserve import FileReserve
from workers.host_use import HostWatch
from workers.scraping import ExporterClient, ScrapeFailed
from workers.single_requests import check_host
from workers.spool import spool_bytes, store_leftovers

logger = logging.getLogger(__name__)

ANNOUNCE_EVERY_S = 5.0
_ended = threading.Event()


def host_name() -> str:
    """What this injector host is called: the setting, or the machine's own name."""
    return settings.INJECTOR_NAME or socket.gethostname()


@worker_before_create_process.connect
def _share_memory(**_) -> None:
    """The collector of a child leaves alone what the worker has loaded. It would write to every
    object, and each child would have a copy of all of them."""
    gc.freeze()


@worker_process_init.connect
def _leave_the_pool(**_) -> None:
    """In each child that runs tasks: forked processes cannot use the web's connection pool."""
    use_own_connection()


@worker_ready.connect
def _begin(sender, **_) -> None:
    """`sender` is the worker's consumer."""
    if "inject" not in sender.app.amqp.queues.consume_from:
        return
    slots = sender.pool.num_processes
    threading.Thread(target=_announce, args=(slots,), name="announce", daemon=True).start()


@worker_shutting_down.connect
def _end(**_) -> None:
    _ended.set()


def _announce(slots: int) -> None:
    use_own_connection()
    facts, use = host_facts(), HostWatch()
    reserve, trouble = FileReserve(), ""
    while not _ended.is_set():
        try:
            with reserve.free():
                now = {"spool_bytes": spool_bytes()}
                own = {"facts": {**facts, **now}, "use": use.take()}
                announce_host(name=host_name(), slots=slots, **own)
                store_leftovers()
                drop_connection()
            trouble = ""
        except UNREACHABLE as error:
            # Said once, not every 5 s.
            last, trouble = trouble, first_line_of(error)
            if trouble != last:
                logger.warning("The host was not announced: %s", trouble)
        except Exception:  # an unreadable spool must not keep the host from announcing itself
            logger.exception("Announcing the host failed")
        # Celery forks this process: keep no connection open between two announcements.
        drop_connection()
        _ended.wait(ANNOUNCE_EVERY_S)


def host_facts() -> dict:
    """Facts about the injector host, shown next to its slots."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory,
        "os": platform.platform(),
        "python": sys.version.split()[0],
        "django": django.get_version(),
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "addresses": " ".join(own_addresses()),
        "local_ports": _first_line("/proc/sys/net/ipv4/ip_local_port_range"),
        "time_wait_reuse": _first_line("/proc/sys/net/ipv4/tcp_tw_reuse"),
        "pid": os.getpid(),
    }


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            models = (line.split(":", 1)[1].strip() for line in lines if "model name" in line)
            return next(models, platform.machine())
    except OSError:
        return platform.machine()


def _first_line(path: str) -> str:
    try:
        with open(path) as file:
            return " ".join(file.readline().split())
    except OSError:
        return ""


@shared_task(name=OWNERSHIP)
def check_ownership(claim_id: int) -> None:
    request = what_to_check(claim_id=claim_id)
    if request is None:
        return
    claim, origins = request
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
