"""The small campaigns of a round: started as a user does it, and looked at while they run."""

import time
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from django.db.models import F

from benchmarks.faults.kinds import RunPhase, Victim
from benchmarks.faults.network import HOSTS, TARGETS
from benchmarks.faults.rounds import FaultRound
from benchmarks.faults.world import TARGET_PORT
from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import create_campaign, start_campaign
from campaigns.core.database import ClockTimestamp, db_now
from campaigns.core.permissions import Actor
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import LIVE_SHARD_STATES, RunState
from campaigns.engine.services.endings import stop_run
from campaigns.models import InjectorHost, LoadControl, Run, Shard
from tests.factories import make_endpoint, make_plan, make_project, make_target, make_user
from tests.stuck import stuck_runs
from workers.database import UNREACHABLE, drop_connection

RATE_PER_S, WARM_UP_S, MEASURED_S = 40, 1, 3
PLANNED = RATE_PER_S * (WARM_UP_S + MEASURED_S)
POLL_S = 0.05
HEARD_S = 6.0  # a host announces itself every 5 s
OVER = (RunState.FINALIZING, RunState.DONE)
Answer = TypeVar("Answer")


def ask(query: Callable[[], Answer]) -> Answer | None:
    """What PostgreSQL answers; None while it is out of reach."""
    try:
        return query()
    except UNREACHABLE:
        drop_connection()
        return None


# --- start and stop ------------------------------------------------------------------------------
@cache
def owner() -> Actor:
    return Actor(user=make_user("owner"))


@cache
def _endpoints() -> list:
    """One for each campaign that begins together."""
    project = make_project("Faults", owner=owner().user)
    return [make_endpoint(make_target(project), host=host, port=TARGET_PORT) for host in TARGETS]


def path_of(round_: FaultRound, place: int) -> str:
    """By this path the target's own log knows whose requests arrived."""
    return f"/round/{round_.number}/{place}"


def start(round_: FaultRound) -> list[int]:
    """The runs, by place. The first campaign's has two injectors."""
    return [_start(round_, place, endpoint) for place, endpoint in enumerate(_endpoints())]


def _start(round_: FaultRound, place: int, endpoint) -> int:
    project = endpoint.target.project
    spec = {
        "steps": [{"label": "", "method": "GET", "path": path_of(round_, place)}],
        "load": {"model": "open", "rate_per_s": RATE_PER_S, "duration_s": MEASURED_S},
        "warm_up_s": WARM_UP_S,
        "timeouts": {"connect_s": 2, "tls_s": 2, "total_s": 4},
    }
    campaign = create_campaign(
        by=owner(),
        project=project,
        name=f"Round {round_.number}, {place + 1}",
        cells=[CampaignCell(make_plan(project, spec=spec), endpoint, "keep-alive")],
        repeats=1,
        order="listed",
        pause_s=0,
        injectors=2 if place == 0 else 1,
        keeps_going=True,
    )
    start_campaign(
        by=owner(), campaign=campaign, anyway=not round_.begins_with_first_request(place)
    )
    return campaign.runs.get().pk


def stop(run_id: int) -> bool:
    """As the button does it; False for a run that has ended. Without a database the call to stop
    has gone through Redis all the same."""
    try:
        stop_run(by=owner(), run=Run.objects.select_related("campaign__project").get(pk=run_id))
    except Refused:
        return False
    except UNREACHABLE:
        drop_connection()
    return True


# --- phases --------------------------------------------------------------------------------------
def await_phase(run_id: int, phase: RunPhase, within: float, until: float) -> bool:
    """Wait until the run is so far into that phase; False if it does not come to it by then."""
    lengths_s = {
        RunPhase.FIRST: 0.5,
        RunPhase.BEFORE: 1.0,
        RunPhase.ENDING: 0.3,
        RunPhase.STORING: 0.5,
    }
    lengths_s |= {RunPhase.WARM_UP: WARM_UP_S, RunPhase.MEASURED: MEASURED_S}
    begun_at = None
    while begun_at is None and time.monotonic() < until:
        begun_at = ask(lambda: _begin_of(run_id, phase))
        time.sleep(POLL_S)
    if begun_at is None:
        return False
    time.sleep(max(0.0, begun_at + within * lengths_s[phase] - time.monotonic()))
    return True


def _begin_of(run_id: int, phase: RunPhase) -> float | None:
    """On this process's clock; None if that is not known yet."""
    row = Run.objects.filter(pk=run_id).values_list("state", F("t0") - ClockTimestamp())
    state, left = row.get()
    now = time.monotonic()
    if phase is RunPhase.FIRST:
        return now
    if phase is RunPhase.BEFORE:
        return None if state == RunState.QUEUED else now
    if phase is RunPhase.ENDING:
        return now if state in OVER else None
    if left is None:
        return now if state in OVER else None
    offsets_s = {RunPhase.WARM_UP: 0, RunPhase.MEASURED: WARM_UP_S}
    return now + left.total_seconds() + offsets_s.get(phase, WARM_UP_S + MEASURED_S)


def victim_of(run_id: int) -> Victim:
    """Who sends the run's load now; while nobody does, either host may be about to."""
    live = Shard.objects.filter(run=run_id, state__in=LIVE_SHARD_STATES)
    shards = ask(lambda: list(live)) or []
    if not shards:
        return Victim(run_id, HOSTS[run_id % len(HOSTS)])
    first = shards[0]
    return Victim(run_id, first.host, (int(first.worker.rsplit(" ", 1)[1]),))


# --- what all wait for ---------------------------------------------------------------------------
def unheard(pids: dict[str, list[int]]) -> str:
    """A host whose worker of now has not announced itself, or the dispatcher; "" if all have."""
    fresh = InjectorHost.objects.filter(seen_at__gt=db_now(-HEARD_S))
    seen = dict(fresh.values_list("name", "facts"))
    for host in HOSTS:
        if seen.get(host, {}).get("pid") not in pids[host]:
            return host
    beats = LoadControl.objects.filter(dispatcher_seen_at__gt=db_now(-HEARD_S))
    return "" if beats.exists() else "the dispatcher"


def unended(run_ids: list[int]) -> list[str]:
    """The runs that have not ended, with their states."""
    waiting = Run.objects.filter(pk__in=run_ids).exclude(state=RunState.DONE)
    return [f"run {pk} is {state}" for pk, state in waiting.values_list("pk", "state")]


def overdue() -> list[str]:
    return [f"run {run} is stuck in {state}" for run, state in stuck_runs()]
