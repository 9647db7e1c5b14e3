"""Injector hosts announce themselves; their announcements provide the slots."""

from django.db.models import Case, F, When
from django.db.models.functions import Now

from campaigns.models import InjectorHost
from campaigns.models.dbtime import db_now
from campaigns.queries.injector_hosts import ALIVE_S


def announce_host(*, name: str, slots: int, facts: dict) -> None:
    """Record that host `name` is alive and can run up to `slots` injectors at once. `started_at`
    stays while announcements continue and is reset after a gap."""
    fields = {"slots": slots, "facts": facts, "seen_at": Now()}
    since = Case(When(seen_at__lt=db_now(-ALIVE_S), then=Now()), default=F("started_at"))
    if not InjectorHost.objects.filter(name=name).update(**fields, started_at=since):
        InjectorHost.objects.bulk_create(
            [InjectorHost(name=name, started_at=Now(), **fields)], ignore_conflicts=True
        )
