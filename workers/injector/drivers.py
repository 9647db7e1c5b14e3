"""Chooses the driver for an order, and says what it needs and how much it will send."""

from collections.abc import Callable, Sequence

from campaigns.domain.plan import arrivals, flows
from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.load import Hold, Model, planned_arrivals
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.shards import LoadSlice
from workers.injector.attempt import Worker
from workers.injector.connection import NS
from workers.injector.loads import ClosedLoad, OpenLoad
from workers.injector.modes import streams_of
from workers.injector.order import Order
from workers.injector.request import Request
from workers.injector.users import SessionContext
from workers.injector.visits import VisitLoad, VisitWindow
from workers.injector.websocket.window import WebSocketWindow
from workers.injector.window import Marks, WindowLoad, make_http_opener

Load = ClosedLoad | OpenLoad | WindowLoad


def protocol_of(plan: Plan) -> str:
    """What ALPN offers."""
    return "h2" if plan.http_version == HttpVersion.HTTP_2 else "http/1.1"


def requests_of(plan: Plan, shard: LoadSlice) -> int | None:
    """How many requests this process will send; None if only time ends the load, or where it
    depends on which flows arrive."""
    count = arrivals_of(plan, shard)
    if count is None or not (plan.flows and arrivals.is_scheduled(plan.load)):
        return None if count is None else count * plan.calls_per_arrival
    return flows.requests_of(plan.flows, count) if shard.count == 1 else None


def arrivals_of(plan: Plan, shard: LoadSlice) -> int | None:
    """How many arrivals, connections of a window or requests it has; None: only time ends it."""
    load = plan.load
    if arrivals.is_scheduled(load):
        return len(shard.own(0, planned_arrivals(load)))
    if load.model == Model.WINDOW:
        numbers = arrivals.numbers_of(load, shard)
        return None if numbers is None else len(numbers)
    return arrivals.requests_of(load, shard)


def connections_of(plan: Plan, shard: LoadSlice) -> tuple[int, int | None]:
    """(connections needed at once, connections it can use; None: any number).

    Arrivals of an open load can wait in the queue, so the connections of one arrival are enough.
    """
    load = plan.load
    if arrivals.is_scheduled(load):
        of_each = plan.session.connections_per_session or 1
        return of_each, load.max_in_flight * of_each
    if load.model != Model.WINDOW:
        wanted = arrivals.connections_of(load, shard)
        return wanted, wanted
    is_kept = load.hold == Hold.KEEP_UNTIL_ALL
    return max(load.high, arrivals_of(plan, shard) or 0 if is_kept else 0), None


def make_driver(
    order: Order,
    requests: Sequence[Request],
    make_worker: Callable[[], Worker],
    n_connections: int,
    context: SessionContext | None,
) -> Load:
    """The driver; it may have up to `n_connections` open at once."""
    plan, shard = order.plan, order.shard
    load = plan.load
    has_visits = context is not None and context.makes_visits
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
            return VisitWindow(requests, context, *settings)
        return WindowLoad(make_http_opener(requests), *settings)
    if arrivals.is_scheduled(load):
        schedule = arrivals.schedule(load, plan.warm_up_s, shard, order.seed)
        drain_ns = int(plan.timeouts.total_s * NS)
        most = n_connections // (plan.session.connections_per_session or 1)
        settings = requests, make_worker, schedule, most, drain_ns, load.when_saturated
        if has_visits:
            return VisitLoad(*settings, context=context)
        return OpenLoad(*settings)
    offsets_ns, limit = arrivals.ramp_offsets_ns(load, shard), arrivals.requests_of(load, shard)
    if plan.http_version == HttpVersion.HTTP_2:
        from workers.injector.http2.worker import ClosedStreams

        n_streams = streams_of(plan, order.mode)
        each_ns = [offset_ns for offset_ns in offsets_ns for _ in range(n_streams)]
        return ClosedStreams(requests, make_worker, shard, each_ns, limit)
    return ClosedLoad(requests, make_worker, shard, offsets_ns, limit)
