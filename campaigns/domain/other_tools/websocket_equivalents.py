"""The command of wsperf that does what a WebSocket plan does, or why no tool's command does."""

import shlex

from campaigns.domain.plan.load import Hold, Model
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.session import AuthKind

_K6 = (
    "No single command: k6 only opens WebSockets from a script, and times their opening together "
    "with TCP and TLS."
)
_WSPERF = (
    "Its values are per worker, as here per injector process. It closes with code 1001, verifies "
    "no certificates, has no time limits, and reports only opening handshakes, including failed "
    "ones."
)


def commands_of(plan: Plan) -> list[tuple[str, str, str]]:
    """[(tool, command, what differs; or, where the command is "", why there is none)]."""
    http_only = [(tool, "", "It only measures HTTP.") for tool in ("ab", "httperf", "wrk")]
    why_not = _why_not_wsperf(plan)
    command = "" if why_not else _wsperf(plan)
    return [*http_only, ("k6", "", _K6), ("wsperf", command, why_not or _WSPERF)]


def _why_not_wsperf(plan: Plan) -> str:
    exchange, load = plan.exchange, plan.load
    if load.model != Model.WINDOW or load.requests is None or load.hold != Hold.CLOSE:
        return "It opens a number of connections within a window and closes each one immediately."
    if exchange.messages:
        return "It opens and closes connections, but sends no messages."
    if exchange.headers or exchange.subprotocols or plan.auth.kind != AuthKind.NONE:
        return "It cannot send headers, subprotocols or credentials."
    if plan.connection_mode == ConnectionMode.RESUMED or plan.variable_names:
        return "It does not resume TLS sessions, and every connection opens the same address."
    return ""


def _wsperf(plan: Plan) -> str:
    load = plan.load
    address = shlex.quote(f"ws://TARGET{plan.exchange.path}")
    return f"wsperf {address} 1 {load.requests} {load.low} {load.high} result_%d.json"
