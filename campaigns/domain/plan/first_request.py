"""The one request of a plan that is sent to each of its endpoints before a campaign's first run."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from types import MappingProxyType
from typing import Any

from campaigns.domain.plan.exchange import OPENING, Exchange
from campaigns.domain.plan.generators import ValueMaker
from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.redirects import Redirects
from campaigns.domain.plan.step import BODIES, Step
from campaigns.domain.plan.variables import filled_in, needed_values

# Somebody waits for it, so it has no longer than this, whatever the plan allows.
LONGEST_S, SHORTEST_S = 30.0, 5.0
# So many are sent at a time where nobody else sends any; then all take no longer than this.
AT_ONCE, ALL_WITHIN_S = 8, 64.0
# A scenario with longer pauses, all together, is not tried.
PAUSES_WITHIN_S = 5.0
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def first_request(plan: Plan, together: int = 1, *, epoch_ns: int = 0) -> dict[str, Any]:
    """What to send, how long to wait and which status is right, as a probe stores it. `together`:
    how many requests somebody waits for at the same time. `epoch_ns`: when it is sent.

    It is the plan's first step, whatever its method, with the values of the first table row; what
    later replies would provide is empty. It has the step's checks and extractions, of which only
    those must give a value that a step needs. Of a WebSocket plan it is a connection with the
    scenario and one message.
    """
    most_s = longest_s(together)
    limits = ("connect_s", "tls_s", "total_s")
    return {
        **_what(plan, epoch_ns),
        "timeouts": {name: min(getattr(plan.timeouts, name), most_s) for name in limits},
        "expected_status": list(plan.expected_status),
    }


def longest_s(together: int) -> float:
    """Seconds that each of so many may take, so that nobody waits long where every target hangs; a
    shorter time would be no fair trial."""
    n_rounds = ceil(together / AT_ONCE)
    return max(SHORTEST_S, min(LONGEST_S, ALL_WITHIN_S / n_rounds))


def changes_something(plan: Plan) -> str:
    """The first request, such as "POST /orders", if it may change something; else ""."""
    if plan.exchange is not None:
        is_own = plan.exchange.texts or plan.exchange.scenario
        return f"messages to {plan.exchange.path}" if is_own else ""
    if plan.steps[0].method in SAFE_METHODS:
        return ""
    return f"{plan.steps[0].method} {plan.steps[0].path}"


def _what(plan: Plan, epoch_ns: int) -> dict[str, Any]:
    if plan.exchange is not None:
        opening = with_values(plan, plan.exchange.opening, epoch_ns)
        return {
            "method": "GET",
            "path": opening.path,
            "headers": [list(pair) for pair in opening.headers],
            "subprotocols": list(plan.exchange.subprotocols),
            "message": None,
            "exchange": _said_once(plan, plan.exchange, epoch_ns),
        }
    of_its_flow = plan.steps[: plan.flows[0].steps] if plan.flows else plan.steps
    needed = needed_values(plan.variables, of_its_flow)
    first = plan.steps[0]
    extracts = tuple(replace(each, may_miss=each.name not in needed) for each in first.extract)
    step = with_values(plan, replace(first, extract=extracts), epoch_ns).to_json()
    names = ("label", "method", "path", "headers", *BODIES, "checks")
    names += ("extract",) if extracts else ()
    sent = {name: step[name] for name in names if name in step}
    if plan.http_version != HttpVersion.HTTP_1_1:
        sent["http_version"] = str(plan.http_version)
    if plan.redirects != Redirects.OFF:
        sent |= {"redirects": str(plan.redirects), "cookies": plan.session.cookies}
    return sent


def _said_once(plan: Plan, exchange: Exchange, epoch_ns: int) -> dict[str, Any]:
    """Of an exchange, without its opening: the scenario and the first message."""

    def filled(text: str) -> str:
        return with_values(plan, replace(exchange.opening, body=text), epoch_ns).body

    is_short = exchange.waits_s <= PAUSES_WITHIN_S
    tried = replace(
        exchange,
        messages=min(exchange.messages, 1) if is_short else 0,
        texts=tuple(map(filled, exchange.texts[:1])) if is_short else (),
        rate_per_s=None,
        scenario=tuple(map(filled, exchange.scenario)) if is_short else (),
    ).to_json()
    return {name: value for name, value in tried.items() if name not in OPENING}


def with_values(
    plan: Plan, step: Step, epoch_ns: int, saved: Mapping[str, str] = MappingProxyType({})
) -> Step:
    """The step with the values of the first table row, those that are made, and `saved` ones of
    earlier replies."""
    if not plan.variable_names:
        return step
    variables = plan.variables
    row = variables.values(0) if variables.table[0] else {}
    made = ValueMaker(variables.generators, 0, b"%d" % epoch_ns)
    return filled_in(step, row | made.values(0) | made.times(epoch_ns) | saved)
