"""Reads of injector hosts: who answers, and how many of their slots are busy."""

from datetime import datetime, timedelta

from django.db.models import Count
from django.db.models.functions import Now

from campaigns.domain.lifecycle import LIVE_SHARD_STATES
from campaigns.models import InjectorHost, Shard
from campaigns.queries.engine import ALIVE_S


def hosts() -> list[InjectorHost]:
    """All hosts by name; each has `busy` (slots with a live shard) and `is_alive`."""
    busy = dict(
        Shard.objects.filter(state__in=sorted(LIVE_SHARD_STATES))
        .values_list("host")
        .annotate(n=Count("pk"))
    )
    found = list(InjectorHost.objects.annotate(now=Now()))
    for host in found:
        host.busy = busy.get(host.name, 0)
        host.is_alive = answers(host.seen_at, host.now)
    return found


def answers(seen_at: datetime, now: datetime) -> bool:
    return now - seen_at <= timedelta(seconds=ALIVE_S)
