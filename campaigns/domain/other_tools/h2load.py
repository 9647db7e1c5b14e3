"""The command of h2load that sends what a plan of HTTP/2 does; or why there is none."""

import shlex

from campaigns.domain.plan.load import MAX_REQUESTS, Model
from campaigns.domain.plan.plan import ConnectionMode, Plan

_SAYS = "It has no time limit for a reply, and counts every 2xx and 3xx as right."


def why_no_h2load(plan: Plan) -> str:
    """A sentence, or "" if there is an equivalent."""
    load, step = plan.load, plan.steps[0]
    if load.model not in {Model.CLOSED, Model.SEQUENTIAL}:
        return "h2load sends at a rate of connections, not of requests."
    if load.ramp_up_s:
        return "h2load begins connections in groups, not one after the other."
    if plan.connection_mode != ConnectionMode.KEEP_ALIVE:
        return "h2load sends all requests on the connections that it began with."
    if step.body:
        return "h2load sends a body only from a file, with POST."
    if load.duration_s is not None and load.duration_s != int(load.duration_s):
        return f"h2load only takes whole seconds, but this plan lasts {load.duration_s:.15g} s."
    return ""


def h2load_command(plan: Plan, url: str) -> tuple[str, str]:
    """(the command, what still differs)."""
    load, step = plan.load, plan.steps[0]
    stop = ["-n", str(load.requests)] if load.requests else ["-D", f"{load.duration_s:.0f}"]
    # h2load refuses more connections than requests; the surplus would never send anything.
    n_connections = min(load.connections or 1, load.requests or MAX_REQUESTS)
    words = ["h2load", *stop, "-c", str(n_connections), "-m", str(plan.streams)]
    if step.method != "GET":
        words += ["-H", shlex.quote(f":method: {step.method}")]
    for name, value in step.headers:
        words += ["-H", shlex.quote(f"{name}: {value}")]
    return " ".join((*words, shlex.quote(url + step.path))), _SAYS
