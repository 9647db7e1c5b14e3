"""The driver of an order: which one its load asks for, what it needs, how much it will send."""

from collections.abc import Callable, Sequence

from campaigns.domain.plan import arrivals
from campaigns.domain.plan.load import ArrivalUnit, Hold, Model, planned_arrivals
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.shards import LoadSlice
from workers.injector.attempt import Request, Worker
from workers.injector.connection import NS, Dialler
from workers.injector.loads import ClosedLoad, OpenLoad
from workers.injector.order import Order
from workers.injector.users import Script
from workers.injector.visits import VisitLoad, VisitWindow
from workers.injector.websocket.window import WebSocketWindow
from workers.injector.window import Marks, WindowLoad, make_http_opener

Load = ClosedLoad | OpenLoad | WindowLoad


def wire_mode(plan: Plan, mode: ConnectionMode) -> ConnectionMode:
    """What a request says of its connection.

    Those of a window are all new, and held ones stay open; so are those of connections that arrive.
    Either is kept for as long as it has calls to make.
    """
    load = plan.load
    is_connection = load.arrival_unit == ArrivalUnit.CONNECTION
    if load.model != Model.WINDOW and not is_connection:
        return mode
    if load.hold != Hold.CLOSE or plan.calls_per_arrival > 1:
        return ConnectionMode.KEEP_ALIVE
    return ConnectionMode.NEW if mode == ConnectionMode.KEEP_ALIVE else mode


def requests_of(plan: Plan, shard: LoadSlice) -> int | None:
    """How many requests this process will send; None where only time ends it."""
    count = _arrivals_of(plan, shard)
    return None if count is None else count * plan.calls_per_arrival


def _arrivals_of(plan: Plan, shard: LoadSlice) -> int | None:
    load = plan.load
    if arrivals.is_scheduled(load):
        return len(shard.own(0, planned_arrivals(load)))
    if load.model == Model.WINDOW:
        numbers = arrivals.numbers_of(load, shard)
        return None if numbers is None else len(numbers)
    return arrivals.requests_of(load, shard)


def connections_of(plan: Plan, shard: LoadSlice) -> tuple[int, int | None]:
    """(how many connections it needs at once, how many it can make use of; None: any number).

    Arrivals of an open load can wait in the queue, so there those of one will do.
    """
    load = plan.load
    if arrivals.is_scheduled(load):
        of_each = plan.session.connections_per_session or 1
        return of_each, load.max_in_flight * of_each
    if load.model != Model.WINDOW:
        wanted = arrivals.connections_of(load, shard)
        return wanted, wanted
    is_kept = load.hold == Hold.KEEP_UNTIL_ALL
    return max(load.high, _arrivals_of(plan, shard) or 0 if is_kept else 0), None


def make_driver(
    order: Order,
    requests: Sequence[Request],
    dialler: Dialler,
    make_worker: Callable[[], Worker],
    n_connections: int,
    script: Script | None,
) -> Load:
    """The driver, which may have `n_connections` open at once."""
    plan, shard = order.plan, order.shard
    load = plan.load
    has_visits = script is not None and script.makes_visits
    if load.model == Model.WINDOW:
        settings = (
            make_worker,
            arrivals.numbers_of(load, shard),
            Marks(load.low, load.high, n_connections),
            (load.hold, load.hold_s or 0.0),
            requests[0].events,
            arrivals.start_offset_ns(load, shard),
        )
        if plan.exchange is not None:
            return WebSocketWindow(requests[0], *settings)
        if has_visits:
            return VisitWindow(requests, dialler, script, *settings)
        return WindowLoad(make_http_opener(requests, dialler), *settings)
    if arrivals.is_scheduled(load):
        schedule = arrivals.schedule(load, plan.warm_up_s, shard, order.seed)
        drain_ns = int(plan.timeouts.total_s * NS)
        most = n_connections // (plan.session.connections_per_session or 1)
        settings = requests, make_worker, schedule, most, drain_ns, load.when_saturated
        if has_visits:
            return VisitLoad(*settings, script=script)
        return OpenLoad(*settings)
    offsets_ns, limit = arrivals.ramp_offsets_ns(load, shard), arrivals.requests_of(load, shard)
    return ClosedLoad(requests, make_worker, shard, offsets_ns, limit)
