"""How long a run may take before the dispatcher stops it: no run is endless, whatever answers."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from campaigns.domain.plan.exchange import longest_attempt_s
from campaigns.domain.plan.load import MAX_DURATION_S, Load, Model, longest_duration_s
from campaigns.domain.plan.plan import Timeouts
from campaigns.domain.plan.session import PLAIN_SESSION, Session, longest_visit_s

OVERRUN_GRACE_S = 30.0


def longest_run_s(
    load: Load,
    timeouts: Timeouts,
    warm_up_s: float,
    injectors: int = 1,
    exchange: Mapping[str, Any] | None = None,
    session: Session = PLAIN_SESSION,
) -> float:
    """Seconds after the start at which a run is stopped as an overrun.

    The plan's own duration where it has one. A closed plan that ends after N requests over C
    connections has none: the slowest target that still answers within the limits keeps it busy for
    ⌈N / C⌉ × the total timeout (and a pause) after its ramp-up and start offsets, at most the
    longest duration that a plan may have. To either come the warm-up, one total timeout for what is
    in flight at the end, and 30 s of grace. The attempts of an exchange (as stored) may be longer
    than that; so may an arriving session, or a connection with several calls, which is in flight
    with all of its calls and pauses.
    """
    visit_s = longest_visit_s(load, session, timeouts.total_s)
    attempt_s = min(max(longest_attempt_s(exchange, timeouts.total_s), visit_s), MAX_DURATION_S)
    sending_s = longest_duration_s(load)
    if sending_s is None:
        rounds = ceil((load.requests or 1) / (load.connections or load.high or 1))
        pause_s = 0.0 if load.model == Model.WINDOW else session.think_time.longest_s
        sending_s = load.ramp_up_s + rounds * (attempt_s + pause_s)
        sending_s += load.start_offset_s * (injectors - 1)
        sending_s = min(sending_s, MAX_DURATION_S)
    return warm_up_s + sending_s + (load.hold_s or 0) + attempt_s + OVERRUN_GRACE_S
