"""A plan in words: its load, the order of its steps, its WebSocket exchange."""

from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.load import (
    ArrivalUnit,
    Distribution,
    Hold,
    Load,
    Model,
    WhenSaturated,
    peak_rate_per_s,
    planned_arrivals,
    planned_duration_s,
)
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import AuthKind, ThinkKind, ThinkTime
from campaigns.domain.plan.stages import text_of_stages
from campaigns.domain.plan.step_order import OrderKind
from campaigns.domain.shown.field_words import field_facts
from campaigns.domain.units import counted

_DISTRIBUTION_WORDS = {
    Distribution.DETERMINISTIC: "even",
    Distribution.EXPONENTIAL: "random (exponential gaps, exact number)",
    Distribution.UNIFORM: "random gaps between two limits (uniform)",
}
_UNIT_WORDS = {
    ArrivalUnit.REQUEST: "requests",
    ArrivalUnit.CONNECTION: "new connections with their requests",
    ArrivalUnit.SESSION: "sessions: users who send their requests and leave",
}
_HOLD_WORDS = {
    Hold.CLOSE: "closed immediately",
    Hold.KEEP_UNTIL_ALL: "kept until all are open",
    Hold.KEEP_S: "kept for {:g} s",
}
_ECHOES = {
    "echo_sync": "wait for each",
    "echo_async": "do not wait, match in order",
    "send_only": "none expected",
}
_VERIFY = {"exact": "every byte", "length": "length"}


def plan_load_words(plan: Plan) -> str:
    """The plan's load in words; what a WebSocket plan makes are connections, each a WebSocket."""
    words = load_words(plan.load)
    return words if plan.exchange is None else words.replace("request", "WebSocket")


def load_words(load: Load) -> str:
    """The load in words, as lists and plan pages say it: 100 requests over 10 s."""
    words = _whole_words(load)
    return f"each injector process: {words}" if load.per_injector else words


def _whole_words(load: Load) -> str:
    until = (
        counted(load.requests, f"{load.arrival_unit}s")
        if load.requests
        else f"{load.duration_s or 0:g} s"
    )
    match load.model:
        case Model.OVER:
            return f"{counted(load.requests, f'{load.arrival_unit}s')} over {load.over_s:g} s"
        case Model.OPEN:
            if load.stages:
                random = ", at random" if load.distribution == Distribution.EXPONENTIAL else ""
                number, seconds = planned_arrivals(load), planned_duration_s(load)
                peak = peak_rate_per_s(load)
                n_stages = f"{len(load.stages)} stages" if len(load.stages) > 1 else "one stage"
                arrivals = counted(number, f"{load.arrival_unit}s")
                return f"{arrivals} in {n_stages} of {seconds:g} s, at most {peak:,g}/s{random}"
            return f"{_arrival_words(load)}, {until}"
        case Model.WINDOW:
            return f"{load.low:,} to {load.high:,} connections being opened, {until}"
        case Model.SEQUENTIAL:
            return f"one after another, {until}"
    ramp = f" after a ramp-up of {load.ramp_up_s:g} s" if load.ramp_up_s else ""
    connections = counted(load.connections or 1, "connections")
    return f"{connections}{ramp}, {until}"


def _arrival_words(load: Load) -> str:
    if load.distribution == Distribution.UNIFORM:
        return f"a {load.arrival_unit} every {load.uniform_min_s:g} to {load.uniform_max_s:g} s"
    random = " at random" if load.distribution == Distribution.EXPONENTIAL else ""
    return f"{load.rate_per_s:,g} {load.arrival_unit}s/s{random}"


def _stage_line(text: str, unit: ArrivalUnit) -> str:
    """60: 10-50 → 60 s: 10 to 50 requests/s."""
    seconds, _, rates = text.partition(": ")
    return f"{seconds} s: {rates.replace('-', ' to ')} {unit}s/s"


def load_facts(load: Load) -> list[tuple[str, str]]:
    """Further facts about a plan's load, for its page: name and value."""
    shares = [f"{100 * weight / sum(load.shares):.3g} %" for weight in load.shares]
    common = [*field_facts(load), *([("Injector shares", ", ".join(shares))] if shares else [])]
    if load.model == Model.WINDOW:
        return [
            *common,
            ("Marks per injector process", f"low {load.low:,}, high {load.high:,}"),
            ("Open connections", f"{_HOLD_WORDS[load.hold]}".format(load.hold_s or 0)),
        ]
    if load.model not in {Model.OPEN, Model.OVER}:
        return common
    rest = "are dropped" if load.when_saturated == WhenSaturated.DROP else "wait"
    lines = text_of_stages(load.to_json()["stages"]).splitlines()
    stages = [_stage_line(line, load.arrival_unit) for line in lines]
    return [
        *((f"Stage {n}", words) for n, words in enumerate(stages, 1)),
        *common,
        ("Arrivals", _DISTRIBUTION_WORDS[load.distribution]),
        ("What arrives", _UNIT_WORDS[load.arrival_unit]),
        ("Max in flight", f"{load.max_in_flight:,} {load.arrival_unit}s; the others {rest}"),
    ]


def replay_words(plan: Plan) -> tuple[str, str]:
    """(what became of requests that were replayed, why): over HTTP/2 a server may leave some out on
    a connection that goes on."""
    if plan.http_version == HttpVersion.HTTP_2:
        return "sent again", "the server had not taken them"
    return "sent again on a new connection", "the server had closed the kept connection"


def exchange_facts(exchange: Exchange | None) -> list[tuple[str, str]]:
    """What a plan's page says of its WebSocket exchange: name and value."""
    if exchange is None:
        return []
    close = f"code {exchange.close_code}, within {exchange.close_timeout_s:g} s"
    protocols = (
        [("Subprotocols", ", ".join(exchange.subprotocols))] if exchange.subprotocols else []
    )
    if not exchange.messages:
        return [("Messages", "none, only the handshakes"), *protocols, ("Close", close)]
    kind = "binary" if exchange.binary else "text"
    rate = (
        f"{exchange.rate_per_s:g}/s on each connection"
        if exchange.rate_per_s
        else "as fast as the mode allows"
    )
    compared = "" if exchange.mode == "send_only" else f", compared by {_VERIFY[exchange.verify]}"
    return [
        ("Messages", f"{exchange.messages:,} per connection, {exchange.size_bytes:,} B, {kind}"),
        ("Echoes", _ECHOES[exchange.mode] + compared),
        ("Message rate", rate),
        *protocols,
        ("Close", close),
    ]


def order_words(plan: Plan) -> str:
    """The order of the steps in words; "" where there is only one."""
    order = plan.order
    if len(plan.steps) <= 1:
        return ""
    match order.kind:
        case OrderKind.BLOCKS:
            return f"in blocks of {counted(order.block_repeat, 'requests')}"
        case OrderKind.RANDOM:
            return "at random, by the recorded seed"
        case OrderKind.WEIGHTED:
            weights = " : ".join(f"{weight:g}" for weight in order.weights)
            return f"at random by weights {weights}, by the recorded seed"
    return "in turns"


def session_facts(plan: Plan, *, has_secret: bool) -> list[tuple[str, str]]:
    """[(name, words)] of what differs from plain requests."""
    session = plan.session
    facts = [
        *field_facts(session),
        ("Think time", _think_words(session.think_time, session.burst_length)),
        ("Bursts", _burst_words(plan)),
        ("Variables", _variable_words(plan)),
        ("Credentials", _auth_words(plan, has_secret=has_secret)),
    ]
    return [(name, words) for name, words in facts if words]


def _think_words(think: ThinkTime, burst_length: int) -> str:
    between = "between bursts" if burst_length > 1 else "between requests"
    match think.kind:
        case ThinkKind.CONSTANT:
            return f"{think.mean_s:g} s {between}"
        case ThinkKind.UNIFORM:
            return f"{think.min_s:g} to {think.max_s:g} s {between}, evenly spread"
        case ThinkKind.EXPONENTIAL:
            return f"{think.mean_s:g} s {between} on average, exponential"
    return ""


def _variable_words(plan: Plan) -> str:
    names, rows = plan.variables.table
    taken = [f"{each.name} from {step.label}" for step in plan.steps for each in step.extract]
    table = (
        f"{', '.join(names)}: {counted(len(rows), 'rows')}, {plan.variables.order}" if names else ""
    )
    return "; ".join(part for part in (table, *taken) if part)


def _burst_words(plan: Plan) -> str:
    session = plan.session
    if session.burst_length == 1:
        return ""
    alone = ", the first alone" if session.first_call_alone else ""
    return f"{session.burst_length:,} requests{alone}"


def _auth_words(plan: Plan, *, has_secret: bool) -> str:
    stored = "secret stored" if has_secret else "no secret stored yet; edit the plan to enter it"
    match plan.auth.kind:
        case AuthKind.BASIC:
            return f"user {plan.auth.user} and a password; {stored}"
        case AuthKind.BEARER:
            return f"bearer token; {stored}"
    return ""
