"""Reads of injector hosts: which are online, and how many slots are busy. What the injector hosts
offer now, and what active runs take of it. Checks no permissions."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Now

from campaigns.core.database import db_now
from campaigns.domain.lifecycle import ACTIVE_STATES, LIVE_SHARD_STATES
from campaigns.domain.lifecycle import ShardState as Part
from campaigns.domain.presentation.host_use import HostUse, busiest
from campaigns.domain.units import figure
from campaigns.models import InjectorHost, Shard


def hosts(*, has_names: bool = False) -> list[InjectorHost]:
    """All hosts by name; each has `busy` (slots with a live shard), `is_alive`, what else uses it
    (`told`, None where that is not known; with the `has_names` of programs), and its facts in
    words: `machine` and `limits`."""
    busy = dict(
        Shard.objects.filter(state__in=sorted(LIVE_SHARD_STATES), run__leader=None)
        .values_list("host")
        .annotate(n=Count("pk"))
    )
    rows = list(InjectorHost.objects.annotate(now=Now()))
    for host in rows:
        host.busy = busy.get(host.name, 0)
        host.is_alive = answers(host.seen_at, host.now)
        host.told = None
        if host.is_alive and host.use:
            use = HostUse.of(f"{host.name}'s", host.use)
            host.told = use if has_names else use.without_names()
        host.machine = machine_words(host.facts)
        # The limits on its load (open files, local ports), and its addresses.
        words = []
        if isinstance(host.facts.get("open_files"), int):
            words.append(f"{host.facts['open_files']:,} open files")
        first, _, last = str(host.facts.get("local_ports") or "").partition(" ")
        if first.isdecimal() and last.isdecimal():
            words.append(f"{int(last) - int(first) + 1:,} local ports")
        if host.facts.get("addresses"):
            words.append(str(host.facts["addresses"]))
        host.limits = words
    return rows


def answers(seen_at: datetime, now: datetime) -> bool:
    return now - seen_at <= timedelta(seconds=ALIVE_S)


def machine_words(facts: dict[str, Any]) -> list[str]:
    """CPU, cores, memory and operating system, as far as the host reported them."""
    cores, usable = facts.get("cores"), facts.get("usable_cores")
    memory = facts.get("memory_bytes")
    words = [
        facts.get("cpu"),
        cores and f"{cores} cores" + (f", {usable} usable" if usable not in (None, cores) else ""),
        memory and f"{figure(memory / 1e9)} GB",
        facts.get("os"),
    ]
    return [str(each) for each in words if each]


# A host that announced itself within this time is alive; it does so every 5 s.
ALIVE_S = 15
NO_HOST = "No injector host is online. make run and docker compose up -d start one."


def live_hosts():
    """The injector hosts that announced themselves recently."""
    return InjectorHost.objects.filter(seen_at__gt=db_now(-ALIVE_S))


def host_uses() -> list[HostUse]:
    """What else uses the live hosts, as far as they tell."""
    rows = list(live_hosts().order_by("name").values_list("name", "use"))
    is_this = len(rows) == 1 and not settings.IS_SERVER
    return [
        HostUse.of("this machine's" if is_this else f"{name}'s", use) for name, use in rows if use
    ]


def busy_host() -> HostUse | None:
    """The live host that other programs, its hypervisor or its quota disturb most; None where none
    does."""
    return busiest(host_uses())


def total_slots() -> int:
    """How many injectors the live hosts can run at once."""
    return live_hosts().aggregate(n=Sum("slots"))["n"] or 0


def taken_slots() -> int:
    """Slots in use by, or reserved for, active runs."""
    return Shard.objects.filter(
        state__in=[Part.OPEN, *LIVE_SHARD_STATES], run__state__in=ACTIVE_STATES, run__leader=None
    ).count()


def free_slots() -> int:
    return max(0, total_slots() - taken_slots())


@dataclass(frozen=True, slots=True)
class LiveHosts:
    """What the live hosts offer together. `most_runs`: how many runs may be active at once, which
    is their number of cores. `addresses`: theirs, as far as they reported them."""

    slots: int
    most_runs: int
    addresses: frozenset[str]

    def have_room_for(self, n_injectors: int, n_active: int) -> bool:
        """Whether so many more injectors find a slot each, and beside active ones a core each. A
        run that is alone may have more of them than cores (its judgement shows the effect)."""
        return n_active + n_injectors <= (self.most_runs if n_active else self.slots)


def live_hosts_now() -> LiveHosts:
    """In one statement. Two runs on one core would disturb each other. A host that does not report
    its cores counts with its slots."""
    hosts = list(live_hosts().order_by().values_list("slots", "facts"))
    return LiveHosts(
        slots=sum(slots for slots, _ in hosts),
        most_runs=sum(min(slots, facts.get("usable_cores") or slots) for slots, facts in hosts),
        addresses=frozenset(
            address for _, facts in hosts for address in str(facts.get("addresses") or "").split()
        ),
    )


def own_addresses() -> frozenset[str]:
    return live_hosts_now().addresses


class Compiled:
    """A query that is compiled once. What it compares with the present must be a function of the
    database, such as `ClockTimestamp`."""

    def __init__(self, query: QuerySet):
        self._sql = query.query.sql_with_params()

    def rows(self) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(*self._sql)
            return cursor.fetchall()
