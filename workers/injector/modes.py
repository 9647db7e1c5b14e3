"""What a campaign's connection mode means for the connections of a plan."""

from campaigns.domain.plan.load import ArrivalUnit, Hold, Model
from campaigns.domain.plan.plan import ConnectionMode, Plan


def wire_mode(plan: Plan, mode: ConnectionMode) -> ConnectionMode:
    """The mode that a request's Connection header announces.

    In a window, and where connections arrive, every connection is new. It is kept alive while it is
    held or has more calls to make.
    """
    load = plan.load
    is_connection = load.arrival_unit == ArrivalUnit.CONNECTION
    if load.model != Model.WINDOW and not is_connection:
        return mode
    if load.hold != Hold.CLOSE or plan.calls_per_arrival > 1:
        return ConnectionMode.KEEP_ALIVE
    return ConnectionMode.NEW if mode == ConnectionMode.KEEP_ALIVE else mode


def streams_of(plan: Plan, mode: ConnectionMode) -> int:
    """Requests at a time on a connection: a new one for each request has only that."""
    return plan.streams if wire_mode(plan, mode) == ConnectionMode.KEEP_ALIVE else 1


def requests_at_once(plan: Plan, mode: ConnectionMode) -> int:
    """Of one visitor: the requests of a burst share its connections and their streams."""
    return (plan.session.connections_per_session or 1) * streams_of(plan, mode)
