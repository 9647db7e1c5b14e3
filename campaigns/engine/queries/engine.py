"""Reads for the engine and its pages: free slots, live hosts, waiting and stuck runs. Checks no
permissions, except where a sentence names another campaign: the callers are the dispatcher,
operations, and pages that found their campaigns with `visible_to`. What the dispatcher may have to
act on, in one statement that counts nothing: it is asked five times a second, however much is
queued, and whatever has ended.

The installation in numbers, for whoever watches it. All projects together: no name of any."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import cache

from django.db import connection
from django.db.models import (
    CharField,
    Count,
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce, Greatest
from django.utils.timezone import localtime

from campaigns.campaigns.models import UNDER_WAY
from campaigns.core.database import ClockTimestamp, db_now
from campaigns.core.permissions import NOBODY, Actor
from campaigns.domain.lifecycle import ACTIVE_STATES, LIVE_SHARD_STATES, RunState
from campaigns.domain.lifecycle import ShardState as Part
from campaigns.domain.metrics.outcomes import without_addresses
from campaigns.domain.plan.addresses import machines_of, written_addresses
from campaigns.domain.plan.estimates import longest_run_s
from campaigns.domain.plan.load import stored_load
from campaigns.domain.plan.plan import Timeouts
from campaigns.domain.plan.session import stored_session
from campaigns.engine.queries import injector_hosts
from campaigns.machines.models import THE_ROW
from campaigns.models import Campaign, InjectorHost, LoadControl, Probe, Run, Search, Shard
from campaigns.operations.queries import (
    Active,
    waiting_campaigns,
    why_load_is_off,
    why_no_room,
    why_nothing_begins,
)

# Extra time for the dispatcher, which acts once per tick, before a row counts as stuck.


def unheard_shards(host: str, waited_s: float) -> int:
    """For how many of the shards that have waited so long this host has a free slot."""
    late = Run.objects.filter(
        state=RunState.PREPARING, stop_requested=None, leader=None, state_at__lt=db_now(-waited_s)
    )
    n_waiting = Shard.objects.filter(run__in=late, state=Part.OPEN).count()
    if not n_waiting:
        return 0
    slots = InjectorHost.objects.filter(name=host).values_list("slots", flat=True).first() or 0
    own = Shard.objects.filter(run__leader=None)
    n_taken = own.filter(host=host, state__in=LIVE_SHARD_STATES).count()
    return max(0, min(n_waiting, slots - n_taken))


@dataclass(slots=True)
class HeldPlaces:
    """The active runs: how many, of which projects with how many slots, and the targets and
    machines that they hold."""

    n_runs: int = 0
    by_project: Counter[int] = field(default_factory=Counter)
    slots_by_project: Counter[int] = field(default_factory=Counter)
    targets: set[int] = field(default_factory=set)
    machines: set[str] = field(default_factory=set)

    def are_needed_by(self, run: Run) -> bool:
        return run.target_id in self.targets or not self.machines.isdisjoint(run.machines or ())

    def by(self, project: int) -> Active:
        return Active(self.by_project[project], self.slots_by_project[project])

    def add(self, run: Run) -> None:
        """`run`: with its campaign."""
        if run.leader_id is None:
            self.n_runs += 1
            self.by_project[run.campaign.project_id] += 1
            self.slots_by_project[run.campaign.project_id] += run.n_shards
        self.targets.add(run.target_id)
        self.machines.update(run.machines or ())


def held_places() -> HeldPlaces:
    """In one statement."""
    places = HeldPlaces()
    active = Run.objects.filter(state__in=ACTIVE_STATES).order_by().select_related("campaign")
    for run in active.only("target", "machines", "n_shards", "leader", "campaign__project"):
        places.add(run)
    return places


def names_to_look_up() -> list[tuple[int, str, int]]:
    """(run, host, port) of each campaign's next run, and of those that it leads, whose host is a
    name that is not pinned to an address."""
    heads = Q(pk__in=head_runs().values("pk")) | Q(leader__in=head_runs().values("pk"))
    of_host = tuple(f"test__endpoint__{name}" for name in ("host", "address", "port"))
    rows = Run.objects.filter(heads).order_by("pk").values_list("pk", *of_host, "machines")
    return [
        (pk, address or host, port)
        for pk, host, address, port, machines in rows
        if machines is None or written_addresses(address or host) is None
    ]


def head_runs():
    """The next run of each campaign without an active one, with `due_at`: when it may begin. That
    is the previous run's end plus the pause, or the campaign's opening: not before what came back
    of its first requests is known."""
    first = (
        Run.objects.filter(campaign=OuterRef("pk"), state=RunState.QUEUED)
        .order_by("position")
        .values("pk")[:1]
    )
    last_end = (
        Run.objects.filter(campaign=OuterRef("campaign"), state=RunState.DONE)
        .filter(ended_at__isnull=False)
        .order_by("-ended_at")
        .values("ended_at")[:1]
    )
    pause = ExpressionWrapper(
        F("campaign__pause_s") * Value(timedelta(seconds=1)), output_field=DurationField()
    )
    busy = Run.objects.filter(state__in=ACTIVE_STATES).values("campaign")
    going_on = Campaign.objects.filter(opened_at__isnull=False, finished_at=None)
    heads = going_on.exclude(pk__in=busy).order_by().annotate(head=Subquery(first)).values("head")
    return (
        Run.objects.filter(state=RunState.QUEUED, pk__in=heads)
        .annotate(last_end=Subquery(last_end))
        .annotate(
            due_at=Greatest(
                Coalesce(
                    ExpressionWrapper(F("last_end") + pause, output_field=DateTimeField()),
                    F("campaign__opened_at"),
                ),
                # A run requeued after a failed barrier waits from then on.
                F("state_at"),
            )
        )
        .select_related("campaign")
    )


def overrun_runs() -> list[tuple[int, float]]:
    """Running runs that may still send and exceed their time limit: (pk, limit in seconds)."""
    may_send = has_shard(Part.OPEN, Part.CLAIMED, Part.READY, Part.RUNNING)
    return [(pk, limit_s) for pk, limit_s, late_s in running_ages(may_send) if late_s > 0]


def running_ages(condition) -> list[tuple[int, float, float]]:
    """Of running runs: (pk, limit in seconds, by how many seconds it is exceeded)."""
    running = Run.objects.filter(condition, state=RunState.RUNNING, t0__isnull=False)
    rows = running.values_list(
        "pk",
        ClockTimestamp() - F("t0"),
        "snapshot__plan__load",
        "snapshot__plan__timeouts",
        "snapshot__plan__warm_up_s",
        "n_shards",
        "snapshot__plan__exchange",
        "snapshot__plan__session",
        "snapshot__plan__flows",
        "snapshot__turns__limit_s",
    )
    ages = []
    for pk, age, load, timeouts, warm_up_s, n_shards, exchange, *users, turns_s in rows:
        limits = Timeouts(**timeouts)
        user = stored_session(*(each or {} for each in users))
        limit_s = longest_run_s(
            stored_load(load), limits, warm_up_s, n_shards, exchange, user, turns_s
        )
        ages.append((pk, limit_s, age.total_seconds() - limit_s))
    return ages


def has_shard(*states: Part) -> Exists:
    return Exists(Shard.objects.filter(run=OuterRef("pk"), state__in=states))


def waiting_reason(campaign: Campaign, actor: Actor = NOBODY) -> str:
    """Why a started campaign's next run has not begun, in a sentence; "" if none waits."""
    if campaign.is_held:
        return "Paused: a preflight request failed."
    if campaign.waits_for_quiet:
        until = f"{localtime(campaign.quiet_by):%H:%M %Z}"
        return f"Waiting for a quiet machine, until {until} at the latest."
    if campaign.is_before_first_run:
        return "Waiting for what comes back of the first requests."
    head = head_runs().filter(campaign=campaign).first()
    if head is None:
        return ""
    why = reason_to_wait(head, actor)
    return why if actor.sees_machines else without_addresses(why, head.frozen.endpoint.host)


def is_due() -> Q:
    """Of `head_runs`: may begin now. What it waits for never ends in the future by more than its
    pause; where that seems so, the clock was set back."""
    pause = F("campaign__pause_s") * Value(timedelta(seconds=1))
    latest = ExpressionWrapper(ClockTimestamp() + pause, output_field=DateTimeField())
    return Q(due_at__lte=ClockTimestamp()) | Q(due_at__gt=latest)


def reason_to_wait(head: Run, actor: Actor = NOBODY) -> str:
    """Why a row of `head_runs` cannot begin now, in a sentence; "" if it can. Names only those runs
    that the actor may see."""
    if why := why_nothing_begins():
        return why
    if not head_runs().filter(pk=head.pk).filter(is_due()).exists():
        return f"Pausing {head.campaign.pause_s:g} s between two runs."
    slots = injector_hosts.total_slots()
    if not slots:
        return injector_hosts.NO_HOST
    if slots < head.n_shards:
        return (
            f"Each run needs {head.n_shards} injector slots at once, but there are only {slots}. "
            "Start another injector host, or create the campaign with fewer processes per run."
        )
    if head.machines is None:
        return f"Looking up the addresses of {head.frozen.endpoint.host}."
    if rival := _rival_words(head, actor):
        return rival
    if why := why_no_room(head.campaign.project, head.n_shards):
        return why
    if injector_hosts.free_slots() < head.n_shards:
        return f"All injector slots are in use ({injector_hosts.taken_slots()} of {slots})."
    hosts = injector_hosts.live_hosts_now()
    if held_places().n_runs >= hosts.most_runs or not hosts.have_room_for(
        head.n_shards, injector_hosts.taken_slots()
    ):
        return "Other runs leave too few cores for it; they would disturb each other."
    return ""


def _rival_words(head: Run, actor: Actor) -> str:
    head.machines = machines_of(head.machines, injector_hosts.own_addresses())
    # The active runs that use the same target, or a machine that this run needs.
    same = Q(target=head.target_id) | Q(machines__overlap=head.machines or [])
    rival = (
        Run.objects.filter(same, state__in=ACTIVE_STATES)
        .select_related("campaign")
        .order_by("pk")
        .first()
    )
    if rival is None:
        return ""
    machines = sorted(set(head.machines) & set(rival.machines or ()))
    place = machines[0] if machines else rival.frozen.target
    if not Run.objects.visible_to(actor).filter(pk=rival.pk).exists():
        return f"Waits for another campaign's run on {place}."
    return f"Waits for run {rival.position} of \u201c{rival.campaign.name}\u201d on {place}."


class Waiting(StrEnum):
    """Beside the states of runs."""

    CAMPAIGN = "a started campaign that is not finished"
    FIRST_REQUESTS = "a started campaign whose runs may not begin yet"
    REQUEST = "a single request without its result"
    SEARCH = "a search that has not ended"


def under_way() -> frozenset[str]:
    """The states but done that any run is in, and what else is `Waiting`."""
    return frozenset(word for (word,) in _statement().rows())


@cache
def _statement() -> injector_hosts.Compiled:
    going_on = Campaign.objects.filter(UNDER_WAY)
    first, *others = (
        *(
            _exists(Run.objects.filter(state=each), each)
            for each in RunState
            if each != RunState.DONE
        ),
        _exists(going_on, Waiting.CAMPAIGN),
        _exists(going_on.filter(opened_at=None, stop_requested_at=None), Waiting.FIRST_REQUESTS),
        _exists(Probe.objects.filter(finished_at=None), Waiting.REQUEST),
        _exists(Search.objects.filter(ending=None), Waiting.SEARCH),
    )
    return injector_hosts.Compiled(first.union(*others, all=True))


def _exists(rows: QuerySet, word: str) -> QuerySet:
    return rows.order_by().values_list(Value(str(word), output_field=CharField()))[:1]


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
    # Those that are done would grow for ever, and are asked of the API.
    states = [state for state in RunState if state is not RunState.DONE]
    by_state = Run.objects.filter(state__in=states).values_list("state").annotate(n=Count("pk"))
    counts = dict.fromkeys(states, 0) | dict(by_state.order_by())
    values = {(str(state),): float(counts[state]) for state in states}
    row = LoadControl.objects.filter(pk=THE_ROW, dispatcher_seen_at__isnull=False)
    silence = row.values_list(ClockTimestamp() - F("dispatcher_seen_at"), flat=True).first()
    dispatcher = []
    if silence is not None:
        text = "Time since the dispatcher last reported; it does so every 2 s."
        dispatcher = [_single("dispatcher_silent_seconds", text, silence.total_seconds())]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        (n_bytes,) = cursor.fetchone()
    return [
        _single("load_on", "1 while runs may begin, 0 while load is off.", not why_load_is_off()),
        *dispatcher,
        Gauge("runs", "Runs that are not done, by state.", ("state",), values),
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
        _single("database_bytes", "Size of the database.", n_bytes),
    ]


def _single(name: str, text: str, value: float) -> Gauge:
    return Gauge(name, text, values={(): float(value)})


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
