"""A Celery worker on the queue `inject` announces its host while it is alive."""

import gc
import logging
import os
import platform
import resource
import socket
import sys
import threading

import django
from celery.signals import (
    worker_before_create_process,
    worker_process_init,
    worker_ready,
    worker_shutting_down,
)
from django.conf import settings

from campaigns.operations.services.load_control import announce_host
from workers.database import UNREACHABLE, drop_connection, first_line_of, use_own_connection
from workers.dialling import own_addresses
from workers.file_reserve import FileReserve
from workers.host_use import HostWatch
from workers.leftovers import store_leftovers
from workers.spool import spool_bytes

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
