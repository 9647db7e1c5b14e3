"""The k6 script that sends what a plan of one step sends; or why there is none."""

import json
from decimal import Decimal
from fractions import Fraction

from campaigns.domain.plan.load import (
    Distribution,
    Load,
    Model,
    WhenSaturated,
    planned_arrivals,
    planned_duration_s,
)
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.step import Step

_MOST_READY = 100
_TIMES = "Its http_req_duration excludes connecting and TLS, and starts at the actual start."
_LAST = " It would start one more request at the very end; the script skips it."
_OWN = " Each of its users has its own connection, so it opens more of them."
_DROPS = " A request that is due while all its users are busy is dropped."


def why_no_script(plan: Plan, step: Step) -> str:
    """Why there is no script, as a sentence; "" if there is one."""
    load, names = plan.load, [name.lower() for name, _ in step.headers]
    if len(set(names)) < len(names):
        return "k6 sends each header only once."
    if load.model in {Model.CLOSED, Model.SEQUENTIAL}:
        return (
            "k6's ramp-up of users has different steps than this plan's." if load.ramp_up_s else ""
        )
    if load.stages or load.distribution != Distribution.DETERMINISTIC:
        return "A k6 scenario only has evenly spaced arrivals at one rate."
    return ""


def script(plan: Plan, step: Step, url: str, *, is_kept: bool) -> tuple[str, str]:
    """(the command, what still differs)."""
    load = plan.load
    is_closed = load.model in {Model.CLOSED, Model.SEQUENTIAL}
    if is_closed:
        # k6 refuses more users than iterations; the surplus would never send anything.
        vus = min(load.connections or 1, load.requests or load.connections or 1)
        end = {"executor": "shared-iterations", "vus": vus, "iterations": load.requests}
        if load.duration_s is not None:
            end = {"executor": "constant-vus", "vus": vus, "duration": _time(load.duration_s)}
    options = {
        "scenarios": {"plan": end if is_closed else _arrivals(load)},
        "noConnectionReuse": not is_kept,
        "discardResponseBodies": True,
    }
    request = [
        json.dumps(step.method),
        json.dumps(url),
        json.dumps(step.body) if step.body else "null",
        json.dumps({"headers": dict(step.headers), "timeout": _time(plan.timeouts.total_s)}),
    ]
    call = f"http.request({', '.join(request)})"
    guard = f"exec.scenario.iterationInTest < {planned_arrivals(load)} && "
    lines = [
        "import http from 'k6/http';",
        *([] if is_closed else ["import exec from 'k6/execution';"]),
        f"export const options = {json.dumps(options)};",
        f"export default () => {'' if is_closed else guard}{call};",
    ]
    words = _TIMES
    if not is_closed:
        drops = _DROPS if load.when_saturated == WhenSaturated.QUEUE else ""
        words += _LAST + (_OWN if is_kept else "") + drops
    return "\n".join(["k6 run - <<'EOF'", *lines, "EOF"]), words


def _arrivals(load: Load) -> dict[str, object]:
    """k6 takes a whole number of iterations in a unit of time, and lasts a second at least."""
    rate, unit = load.requests, _time(load.over_s or 0)
    if load.model == Model.OPEN:
        rate, unit_s = Fraction(str(load.rate_per_s)).as_integer_ratio()
        unit = f"{unit_s}s"
    return {
        "executor": "constant-arrival-rate",
        "rate": rate,
        "timeUnit": unit,
        "duration": _time(max(1, planned_duration_s(load))),
        "preAllocatedVUs": min(load.max_in_flight, _MOST_READY),
        "maxVUs": load.max_in_flight,
    }


def _time(seconds: float) -> str:
    """To the last digit, as Go reads it."""
    return f"{Decimal(repr(seconds)).normalize():f}s"
