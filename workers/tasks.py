"""The Celery tasks. A worker on the queue `inject` announces its host while it is alive, checks
what somebody asked for (whether a host is a project's own, what an exporter offers), and launches
waiting shards: when the doorbell rings, and those that wait although it was rung, because Redis is
away or its messages come to nobody. One child of each injector worker looks for the latter. What it
launches has a thread and a connection of its own; a worker that is asked to end waits for it, as
for every launch.

The general worker has periodic tasks (how often: `workers.side_threads.PERIODIC_TASKS_S`), makes
ready what depends on a campaign's results, and starts schedules of which many are due. What catches
up goes on for a few seconds and leaves the rest for its next turn: people wait in the same queue
for checks of hosts and exporters."""

import contextlib
import gc
import logging
import os
import platform
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable

import django
from billiard import current_process
from billiard.common import terminate_handler_fired
from celery import current_app, shared_task
from celery.signals import (
    worker_before_create_process,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutting_down,
)
from django.conf import settings
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from campaigns.core.database import database_time, db_now
from campaigns.core.queue import (
    EXPORTER,
    HOUSEKEEPING,
    INJECT,
    OWNERSHIP,
    RESULTS,
    RETENTION,
    SCHEDULES,
    SO_FAR,
)
from campaigns.domain.metrics.exporter import NotExposition, NothingKnown, offers, reading_of
from campaigns.domain.plan.addresses import HostCheck
from campaigns.engine.queries.engine import unheard_shards
from campaigns.items.services import empty_trash
from campaigns.machines.services import finish_exporter_check, what_to_scrape_once
from campaigns.models import Campaign, InjectorHost, Probe, Target
from campaigns.operations.queries import LOAD_IS_OFF, why_load_is_off
from campaigns.operations.services.load_control import announce_host
from campaigns.plans.services import forget_unused_bodies
from campaigns.runs.services import cache_so_far, remove_old_seconds
from campaigns.schedules.services import fire_due, forget_old_firings
from campaigns.targets.queries import policy
from campaigns.targets.services import finish_check, what_to_check
from workers.database import (
    UNREACHABLE,
    FileReserve,
    drop_connection,
    first_line_of,
    use_own_connection,
)
from workers.dialling import addresses_of, own_addresses
from workers.host_use import HostWatch
from workers.launcher import launch_one
from workers.scraping import ExporterClient, ScrapeFailed
from workers.single_requests import check_host
from workers.spool import spool_bytes, store_leftovers

logger = logging.getLogger(__name__)

ANNOUNCE_EVERY_S = 5.0
_shutdown = threading.Event()


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
    _shutdown.set()


def _announce(slots: int) -> None:
    use_own_connection()
    facts, use = host_facts(), HostWatch()
    reserve, trouble = FileReserve(), ""
    while not _shutdown.is_set():
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
        _shutdown.wait(ANNOUNCE_EVERY_S)


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
    if why_load_is_off():
        check = HostCheck(faults=(LOAD_IS_OFF,))
    else:
        addresses = addresses_of(claim.host, origins[0].port) if origins else []
        never = policy([])["never"]
        check = check_host(claim.host, origins, addresses, claim.token, never)
    finish_check(claim_id=claim.pk, asked_at=claim.asked_at, seen=check)


@shared_task(name=EXPORTER)
def check_exporter(exporter_id: int) -> None:
    check = what_to_scrape_once(exporter_id=exporter_id)
    if check is None:
        return
    order, asked_at = check
    try:
        with contextlib.closing(ExporterClient(order)) as client:
            answer = client.ask()
        reading = reading_of(answer.text, itself=order.name if order.is_server else "")
        finish_exporter_check(order=order, asked_at=asked_at, offers=offers(reading))
    except (ScrapeFailed, NotExposition, NothingKnown) as fault:
        finish_exporter_check(order=order, asked_at=asked_at, problem=str(fault))


LOOK_EVERY_S = 5.0
# The dispatcher rings every 5 s, so twice in vain.
UNHEARD_AFTER_S = 12.0


@shared_task(name=INJECT)
def inject() -> None:
    """The worker that gets the doorbell runs one waiting shard, if any is left."""
    _launch_one(host_name())


@worker_process_init.connect
def _begin_lookout(**_) -> None:
    if "inject" in current_app.amqp.queues.consume_from and current_process().index == 0:
        Lookout().start()


class Lookout(threading.Thread):
    """Looks until its child of the worker is to end, and then waits for what it has launched: a
    child ends with all its threads."""

    def __init__(self):
        super().__init__(name="lookout", daemon=True)
        self._shutdown = threading.Event()
        worker_process_shutdown.connect(self.end, weak=False)

    def end(self, **_) -> None:
        """A child that was told to drop what it does waits for nothing."""
        self._shutdown.set()
        if not terminate_handler_fired():
            self.join()

    def run(self) -> None:
        use_own_connection()
        launches: list[threading.Thread] = []
        while not self._shutdown.wait(LOOK_EVERY_S):
            launches = [each for each in launches if each.is_alive()]
            try:
                launches += launch_unheard()
            except UNREACHABLE:  # as the announcing thread says already
                pass
            except Exception:  # the next look may go better
                logger.exception("Looking for waiting shards failed")
            drop_connection()
        for each in launches:
            each.join()


def launch_unheard() -> list[threading.Thread]:
    """Begin a launch of each shard that has waited for too long and has a free slot here; their
    threads. Raises PostgreSQL's errors."""
    host = host_name()
    n_unheard = unheard_shards(host, UNHEARD_AFTER_S)
    if n_unheard:
        logger.warning("%d shards wait, and no doorbell has come through Redis", n_unheard)
    launches = [
        threading.Thread(target=_launch, args=[host], name="unheard", daemon=True)
        for _ in range(n_unheard)
    ]
    for each in launches:
        each.start()
    return launches


def _launch(host: str) -> None:
    use_own_connection()
    try:
        _launch_one(host)
    except UNREACHABLE as error:
        logger.warning("A waiting shard was not claimed: %s", first_line_of(error))
    finally:
        drop_connection()


def _launch_one(host: str) -> None:
    launch_one(worker=f"{host} {os.getpid()}", host=host)


TURN_S = 5.0
RETENTION_PAUSE_S = 0.05
PROBES_KEPT_S = 30 * 24 * 3600
# Containers get a new name at each start; the old names should leave the page at some point.
HOSTS_KEPT_S = 7 * 24 * 3600
TRIED_KEPT_S = 7 * 24 * 3600


def _turn_over() -> Callable[[], bool]:
    """Of a turn that begins now: whether it is over."""
    end = time.monotonic() + TURN_S
    return lambda: time.monotonic() > end


@shared_task(name=SO_FAR)
def keep_measured() -> None:
    """Add up what runs under way have measured, so that a process that begins to show one need not
    read it from its first second."""
    cache_so_far(is_over=_turn_over())


@shared_task(name=RESULTS)
def make_ready(campaign: int) -> None:
    """What lists and pages say of a campaign that has ended, before anybody asks."""
    # Only the process that makes pages loads them.
    from campaigns.campaigns.views.kept_pages import make_pages

    for row in Campaign.objects.filter(pk=campaign).exclude(finished_at=None):
        make_pages(row)


@shared_task(name=SCHEDULES)
def start_schedules() -> None:
    """Help the dispatcher with many that are due at once."""
    is_over = _turn_over()
    while fire_due(timezone.now(), is_helper=True) and not is_over():
        pass


@shared_task(name=RETENTION)
def remove_seconds() -> None:
    n_removed = remove_old_seconds(
        is_over=_turn_over(),
        # Not this host's clock: what one that is wrong would remove is gone.
        now=database_time(),
        pause=lambda: time.sleep(RETENTION_PAUSE_S),
    )
    if n_removed:
        logger.info("Retention: removed %d seconds of old runs", n_removed)


@shared_task(name=HOUSEKEEPING)
def delete_old_rows() -> None:
    """Delete expired sessions, old probes, what was only tried, lost hosts, old outcomes of
    schedules, and what has been in the trash for long."""
    call_command("clearsessions")
    # A campaign's first requests are among its results.
    old = Probe.objects.filter(campaign=None, requested_at__lt=db_now(-PROBES_KEPT_S))
    n_probes, _ = old.delete()
    n_hosts, _ = InjectorHost.objects.filter(seen_at__lt=db_now(-HOSTS_KEPT_S)).delete()
    _delete_tried_targets()
    n_firings = forget_old_firings(database_time())
    n_emptied = empty_trash(is_over=_turn_over())
    forget_unused_bodies()
    words = "Housekeeping: deleted %d probes, %d hosts, %d outcomes of schedules, %d trashed items"
    logger.info(words, n_probes, n_hosts, n_firings, n_emptied)


@transaction.atomic
def _delete_tried_targets() -> None:
    """Those whose address nobody has tried again for a week, nor built anything on."""
    lately = Probe.objects.filter(requested_at__gt=db_now(-TRIED_KEPT_S))
    old = Target.objects.filter(is_kept=False, created_at__lt=db_now(-TRIED_KEPT_S))
    old = old.exclude(endpoints__probes__in=lately)
    pks = list(old.select_for_update(of=("self",), skip_locked=True).values_list("pk", flat=True))
    Target.objects.filter(pk__in=pks, is_kept=False).delete()
