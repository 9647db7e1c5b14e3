"""How long a run may take before the dispatcher stops it: no run is endless, whatever answers."""

from math import ceil

from campaigns.domain.plan import MAX_DURATION_S, Load, Timeouts, longest_duration_s

OVERRUN_GRACE_S = 30.0


def longest_run_s(load: Load, timeouts: Timeouts, warm_up_s: float, injectors: int = 1) -> float:
    """Seconds after the start at which a run is stopped as an overrun.

    The plan's own duration where it has one. A closed plan that ends after N requests over C
    connections has none: the slowest target that still answers within the limits keeps it busy for
    ⌈N / C⌉ × the total timeout after its ramp-up and start offsets, at most the longest duration
    that a plan may have. To either come the warm-up, one total timeout for what is in flight at
    the end, and 30 s of grace.
    """
    sending_s = longest_duration_s(load)
    if sending_s is None:
        rounds = ceil((load.requests or 1) / (load.connections or load.high or 1))
        sending_s = load.ramp_up_s + rounds * timeouts.total_s + (load.hold_s or 0)
        sending_s += load.start_offset_s * (injectors - 1)
        sending_s = min(sending_s, MAX_DURATION_S)
    return warm_up_s + sending_s + timeouts.total_s + OVERRUN_GRACE_S
