"""The installation in numbers, for whoever watches it. All projects together: no name of any."""

from dataclasses import dataclass, field

from django.db import connection
from django.db.models import Count, F

from campaigns.core.dbtime import ClockTimestamp
from campaigns.domain.lifecycle import LIVE_SHARD_STATES, RunState
from campaigns.engine.queries.engine import head_runs
from campaigns.machines.models import THE_ROW
from campaigns.models import InjectorHost, LoadControl, Run, Shard
from campaigns.operations.queries.load_control import waiting_campaigns, why_load_is_off


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number that may rise and fall, with a unit in its name; one value for each of its labels,
    {label: value} by the label's values."""

    name: str
    text: str
    labels: tuple[str, ...] = ()
    values: dict[tuple[str, ...], float] = field(default_factory=dict)


def gauges() -> list[Gauge]:
    """A bounded number of statements, whatever the installation holds."""
    # 0 while none waits, or only for the pause between two runs.
    waits = head_runs().values_list(ClockTimestamp() - F("due_at"), flat=True)
    longest = waits.order_by("due_at").first()
    return [
        _single("load_on", "1 while runs may begin, 0 while load is off.", not why_load_is_off()),
        *_dispatcher(),
        _runs(),
        _single(
            "campaigns_waiting",
            "Campaigns that have queued runs, also those between two runs.",
            waiting_campaigns().count(),
        ),
        _single(
            "queue_age_seconds",
            "How long the run has waited that could begin and has waited longest.",
            max(0.0, longest.total_seconds()) if longest else 0.0,
        ),
        *_hosts(),
        _single("database_bytes", "Size of the database.", _database_bytes()),
    ]


def _single(name: str, text: str, value: float) -> Gauge:
    return Gauge(name, text, values={(): float(value)})


def _dispatcher() -> list[Gauge]:
    """Nothing before its first word."""
    row = LoadControl.objects.filter(pk=THE_ROW, dispatcher_seen_at__isnull=False)
    silence = row.values_list(ClockTimestamp() - F("dispatcher_seen_at"), flat=True).first()
    if silence is None:
        return []
    text = "Time since the dispatcher last reported; it does so every 2 s."
    return [_single("dispatcher_silent_seconds", text, silence.total_seconds())]


def _runs() -> Gauge:
    """Those that are done would grow for ever, and are asked of the API."""
    states = [state for state in RunState if state is not RunState.DONE]
    found = Run.objects.filter(state__in=states).values_list("state").annotate(n=Count("pk"))
    counts = dict.fromkeys(states, 0) | dict(found.order_by())
    values = {(str(state),): float(counts[state]) for state in states}
    return Gauge("runs", "Runs that are not done, by state.", ("state",), values)


def _hosts() -> list[Gauge]:
    busy = Shard.objects.filter(state__in=sorted(LIVE_SHARD_STATES)).values_list("host")
    counts = dict(busy.annotate(n=Count("pk")).order_by())
    hosts = list(InjectorHost.objects.annotate(silence=ClockTimestamp() - F("seen_at")))

    def each(name: str, text: str, value) -> Gauge:
        values = {(host.name,): float(value(host)) for host in hosts}
        return Gauge(f"injector_host_{name}", text, ("host",), values)

    return [
        each(
            "silent_seconds",
            "Time since the host last reported; it does so every 5 s.",
            lambda host: host.silence.total_seconds(),
        ),
        each("slots", "Injectors that the host runs at once.", lambda host: host.slots),
        each("busy_slots", "Injectors that it runs now.", lambda host: counts.get(host.name, 0)),
        each(
            "spool_bytes",
            "Spool files that are not fully stored, including those of active runs.",
            lambda host: host.facts.get("spool_bytes", 0),
        ),
    ]


def _database_bytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return cursor.fetchone()[0]
