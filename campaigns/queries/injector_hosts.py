"""Reads of injector hosts: which are online, and how many slots are busy."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import Now

from campaigns.domain.lifecycle import LIVE_SHARD_STATES
from campaigns.domain.units import figure
from campaigns.models import InjectorHost, Shard
from campaigns.queries.slots import ALIVE_S


def hosts() -> list[InjectorHost]:
    """All hosts by name; each has `busy` (slots with a live shard), `is_alive`, and its facts
    in words: `machine` and `limits`.
    """
    busy = dict(
        Shard.objects.filter(state__in=sorted(LIVE_SHARD_STATES))
        .values_list("host")
        .annotate(n=Count("pk"))
    )
    found = list(InjectorHost.objects.annotate(now=Now()))
    for host in found:
        host.busy = busy.get(host.name, 0)
        host.is_alive = answers(host.seen_at, host.now)
        host.machine = machine_words(host.facts)
        host.limits = limit_words(host.facts)
    return found


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


def limit_words(facts: dict[str, Any]) -> list[str]:
    """The limits on its load (open files, local ports), and its addresses."""
    words = []
    if isinstance(facts.get("open_files"), int):
        words.append(f"{facts['open_files']:,} open files")
    first, _, last = str(facts.get("local_ports") or "").partition(" ")
    if first.isdecimal() and last.isdecimal():
        words.append(f"{int(last) - int(first) + 1:,} local ports")
    if facts.get("addresses"):
        words.append(str(facts["addresses"]))
    return words
