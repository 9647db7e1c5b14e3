"""A plan in words: its load, the order of its steps, its WebSocket exchange; what its load means,
in one sentence beside its curve; what differs between two plans or the settings of two runs, field
by field; and what a field's option of the command line does.
"""

from collections.abc import Sequence
from typing import Any

from campaigns.domain.plan.exchange import Deflate, Exchange
from campaigns.domain.plan.fields import PlanField, all_fields, fields_of
from campaigns.domain.plan.flows import Flow
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
    text_of_stages,
)
from campaigns.domain.plan.plan import Plan, Resolve
from campaigns.domain.plan.session import AuthKind, HttpVersion, ThinkKind, ThinkTime
from campaigns.domain.plan.step import OrderKind, Redirects
from campaigns.domain.units import counted, duration

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
            if load.distribution == Distribution.UNIFORM:
                gaps = f"{load.uniform_min_s:g} to {load.uniform_max_s:g} s"
                return f"a {load.arrival_unit} every {gaps}, {until}"
            random = " at random" if load.distribution == Distribution.EXPONENTIAL else ""
            return f"{load.rate_per_s:,g} {load.arrival_unit}s/s{random}, {until}"
        case Model.WINDOW:
            return f"{load.low:,} to {load.high:,} connections being opened, {until}"
        case Model.SEQUENTIAL:
            return f"one after another, {until}"
    ramp = f" after a ramp-up of {load.ramp_up_s:g} s" if load.ramp_up_s else ""
    connections = counted(load.connections or 1, "connections")
    return f"{connections}{ramp}, {until}"


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
    # 60: 10-50 → 60 s: 10 to 50 requests/s.
    stages = [
        f"{seconds} s: {rates.replace('-', ' to ')} {load.arrival_unit}s/s"
        for seconds, _, rates in (line.partition(": ") for line in lines)
    ]
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
    if exchange.deflate != Deflate.NONE:
        protocols.append(("Compression", fields_of(Exchange)["deflate"].choices[exchange.deflate]))
    if exchange.scenario:
        protocols.append(("Scenario", "; ".join(exchange.scenario)))
    if not exchange.n_messages:
        none = "none, only the scenario" if exchange.scenario else "none, only the handshakes"
        return [("Messages", none), *protocols, ("Close", close)]
    kind = "binary" if exchange.binary else "text"
    rate = (
        f"{exchange.rate_per_s:g}/s on each connection"
        if exchange.rate_per_s
        else "as fast as the mode allows"
    )
    check = f", compared by {_VERIFY[exchange.verify]}"
    if exchange.texts or exchange.reply:
        check = f", the reply is: {exchange.rule.line}"
    of_size = f"{exchange.size_bytes:,} B, {kind}"
    if exchange.texts:
        of_size = f"{counted(len(exchange.texts), 'own texts')} in turn, {kind}"
    return [
        ("Messages", f"{exchange.n_messages:,} per connection, {of_size}"),
        ("Echoes", _ECHOES[exchange.mode] + ("" if exchange.mode == "send_only" else check)),
        ("Message rate", rate),
        *protocols,
        ("Close", close),
    ]


def order_words(plan: Plan) -> str:
    """The order of the steps in words; "" where there is only one."""
    order = plan.order
    if plan.flows:
        return "in flows"
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


_RESOLVED = {
    Resolve.ONCE: "",
    Resolve.PER_CONNECTION: "resolved for each connection",
    Resolve.ALL_ADDRESSES: "resolved once, connections go to all addresses in turns",
}
_FOLLOWED = {
    Redirects.OFF: "",
    Redirects.SAME_ORIGIN: "followed at the same origin",
    Redirects.ALL: "followed wherever load may go",
}


def flow_words(flows: Sequence[Flow]) -> str:
    """browse 90 %: 3 steps; buy 10 %: 1 step"""
    whole = sum(flow.share for flow in flows)
    return "; ".join(
        f"{flow.name} {100 * flow.share / whole:.3g} %: {counted(flow.steps, 'steps')}"
        for flow in flows
    )


def session_facts(plan: Plan, *, has_secret: bool) -> list[tuple[str, str]]:
    """[(name, words)] of what differs from plain requests."""
    session = plan.session
    alone = ", the first alone" if session.first_call_alone else ""
    burst = f"{session.burst_length:,} requests{alone}"
    names, rows = plan.variables.table
    extracts = [f"{each.name} from {step.label}" for step in plan.steps for each in step.extract]
    checks = [f"{step.label}: {each.line}" for step in plan.steps for each in step.checks]
    generators = [each.line for each in plan.variables.generators]
    table = (
        f"{', '.join(names)}: {counted(len(rows), 'rows')}, {plan.variables.order}" if names else ""
    )
    secret = "secret stored" if has_secret else "no secret stored yet; edit the plan to enter it"
    credentials = {
        AuthKind.BASIC: f"user {plan.auth.user} and a password; {secret}",
        AuthKind.BEARER: f"bearer token; {secret}",
    }
    facts = [
        ("Host name", _RESOLVED[plan.resolve]),
        ("Redirects", _FOLLOWED[plan.redirects]),
        ("Flows", flow_words(plan.flows)),
        *field_facts(session),
        ("Think time", _think_words(session.think_time, session.burst_length)),
        ("Bursts", burst if session.burst_length > 1 else ""),
        ("Variables", "; ".join(filter(None, (table, *generators, *extracts)))),
        ("Checks", "; ".join(checks)),
        ("Credentials", credentials.get(plan.auth.kind, "")),
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


def arrival_noun(model: Model, unit: ArrivalUnit, *, is_exchange: bool) -> str:
    """What arrives: request, connection or session; a WebSocket plan's requests are WebSockets."""
    if is_exchange:
        return "WebSocket"
    return str(unit) if model in {Model.OPEN, Model.OVER} else "request"


def noun_of(plan: Plan) -> str:
    """`arrival_noun` of a plan."""
    load = plan.load
    return arrival_noun(load.model, load.arrival_unit, is_exchange=plan.exchange is not None)


def curve_unit(plan: Plan) -> str:
    """The unit of the plan's load curve: requests/s, connections."""
    match plan.load.model:
        case Model.OPEN | Model.OVER:
            return f"{noun_of(plan)}s/s"
        case Model.WINDOW:
            return "connections being opened, at most"
    return "connections"


def load_sentence(plan: Plan) -> str:
    """One request every 100 ms; the first at 0 s, the last at 9.9 s."""
    load, noun = plan.load, noun_of(plan)
    if load.model == Model.WINDOW:
        until = f"for {duration(load.duration_s)}" if load.duration_s else ""
        if load.requests:
            each = " by each" if load.per_injector else ""
            until = f"until {load.requests:,} have been opened{each}"
        return (
            f"Each injector process opens {load.high:,} connections at a time, and again up to "
            f"{load.high:,} when fewer than {load.low:,} are being opened, {until}."
        )
    if load.model in {Model.OPEN, Model.OVER}:
        return _arrivals_sentence(load, noun)
    sentence = _connections_sentence(load, noun, plan.streams)
    return (
        f"Each injector process: {sentence[0].lower()}{sentence[1:]}"
        if load.per_injector
        else sentence
    )


def _arrivals_sentence(load: Load, noun: str) -> str:
    count, length_s = planned_arrivals(load), planned_duration_s(load)
    number, gap_s = counted(count, f"{noun}s"), length_s / count
    if load.stages:
        how = " at random instants" if load.distribution == Distribution.EXPONENTIAL else ""
        stages = counted(len(load.stages), "stages").replace("1 stage", "one stage")
        return f"{number}{how} in {stages}, {duration(length_s)} in all."
    if count == 1:
        is_random = load.distribution == Distribution.EXPONENTIAL
        when = f" at a random instant within {duration(length_s)}" if is_random else ", at 0 s"
        return f"One {noun}{when}."
    if load.distribution == Distribution.EXPONENTIAL:
        return (
            f"{number} at random instants within {duration(length_s)}, {_gap(gap_s)} apart on "
            "average."
        )
    if load.distribution == Distribution.UNIFORM:
        gaps = f"{_gap(load.uniform_min_s)} to {_gap(load.uniform_max_s)}"
        return f"{number}, each {gaps} after the one before; about {duration(length_s)} in all."
    # A rate keeps its gap also where its last one would end after the measurement.
    gap_s = load.over_s / load.requests if load.model == Model.OVER else 1 / load.rate_per_s
    last_s = (count - 1) * gap_s
    return f"One {noun} every {_gap(gap_s)}; the first at 0 s, the last at {last_s:,.6g} s."


def _connections_sentence(load: Load, noun: str, n_streams: int) -> str:
    is_one = load.model == Model.SEQUENTIAL or load.connections == 1
    who = "One connection sends" if is_one else f"{load.connections:,} connections send"
    if load.requests:
        is_done = "is" if load.requests == 1 else "are"
        until = (
            f"until {counted(load.requests, f'{noun}s')} {is_done} done; the target decides how "
            "long that takes"
        )
    else:
        until = f"for {duration(load.duration_s)}; the target decides how many {noun}s that makes"
    ramp = (
        f" Connections begin one by one over {duration(load.ramp_up_s)}." if load.ramp_up_s else ""
    )
    if noun == "WebSocket":
        at_a_time = "One WebSocket is" if is_one else f"{load.connections:,} WebSockets are"
        return f"{at_a_time} open at a time, each after one has closed, {until}.{ramp}"
    if n_streams > 1:
        each = "" if is_one else " each"
        who = f"{who} on {n_streams:,} streams{each}"
    return f"{who}, each request after the reply to the one before, {until}.{ramp}"


def _gap(seconds: float) -> str:
    return f"{seconds * 1000:,.6g} ms" if seconds < 1 else f"{seconds:,.6g} s"


_UNITS = {"_per_s": ", per s", "_s": ", s"}
# Labels of the plan form that need the heading above them.
_UNDER = {"session.think_time": "Think time", "exchange": "WebSocket"}
# Fields with other words than the form's, and those that no plan has.
_NAMES = {
    "connection_mode": "Connection mode",
    "endpoint.verify_tls": "Certificate verified",
    "endpoint.tls.min_version": "Minimum TLS version",
    "endpoint.tls.max_version": "Maximum TLS version",
    "endpoint.tls.ca_pem": "Trusted authorities",
    "endpoint.tls.client_certificate_pem": "Client certificate",
    "endpoint.tls.sni": "Server name (SNI)",
    "endpoint.tls.alpn": "ALPN",
    "endpoint.tls.profile": "TLS profile",
    "endpoint.tls.groups": "Key exchange groups",
    "endpoint.tls.ciphers": "Ciphers of TLS 1.2",
    "endpoint.tls.ciphersuites": "Ciphers of TLS 1.3",
    "endpoint.tls.signatures": "Signatures",
}


def changes_between(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The fields that differ, in the order of the JSON; a missing one reads "–"."""
    fields = changed_fields(before, after)
    return [(field_name(field), *values) for field, values in fields.items()]


def changed_fields(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The same by path: {"plan.load.rate_per_s": ("100", "200")}."""
    if before == after:
        return {}
    old, new = _flat(before), _flat(after)
    fields = [*new, *(field for field in old if field not in new)]
    both = {field: (_value_text(old.get(field)), _value_text(new.get(field))) for field in fields}
    return {field: values for field, values in both.items() if values[0] != values[1]}


_NUMBERED = {"thresholds": "threshold", "flows": "flow"}


def field_name(path: str) -> str:
    """load.rate_per_s → Rate, requests/s; steps.0.path → Path; steps.1.path → Step 2 path.

    A field of the registry has its label; a plan inside other settings begins with "plan.".
    """
    path = path.removeprefix("plan.")
    row = all_fields(Plan).get(path)
    if path in _NAMES:
        return _NAMES[path]
    if row and row.label:
        heading = _UNDER.get(path.rpartition(".")[0])
        label = f"{heading}: {row.label.lower()}" if heading else row.label
        return f"{label}, {row.unit}" if row.unit else label
    head, _, rest = path.partition(".")
    if head == "steps":
        index, _, rest = rest.partition(".")
        rest = rest if index == "0" else f"step {int(index) + 1} {rest}"
    if head in _NUMBERED:
        index, _, rest = rest.partition(".")
        rest = f"{_NUMBERED[head]} {int(index or 0) + 1} {rest}"
    name = (rest or head).replace(".", " ")
    unit = next((unit for unit in _UNITS if name.endswith(unit)), "")
    words = name.removesuffix(unit).replace("_", " ") + _UNITS.get(unit, "")
    return words[:1].upper() + words[1:]


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    """Leaves by path. Lists of plain values and header pairs stay whole."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        items = enumerate(value)
    else:
        return {path: value}
    return {
        name: leaf
        for key, each in items
        for name, leaf in _flat(each, f"{path}.{key}" if path else str(key)).items()
    }


def _value_text(value: Any) -> str:
    if value is None or value == "" or value == []:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(": ".join(each) if isinstance(each, list) else str(each) for each in value)
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def option_help(field: PlanField) -> str:
    """What the option of the command line does, and its default in brackets."""
    words = (field.option_help or field.help).removesuffix(".")
    words = words[0].lower() + words[1:]
    if field.kind is bool:
        default = "off"
    elif field.default is None or field.default == ():
        default = "none"
    else:
        is_number = field.is_number
        default = f"{field.default:g} {field.unit}".strip() if is_number else str(field.default)
    return f"{words} ({field.option_default or default})"


def field_facts(part: Any) -> list[tuple[str, str]]:
    """[(label, words)] of the fields of a plan's part that are not at their default."""
    return [
        (row.label, row.fact.format(value))
        for name, row in fields_of(type(part)).items()
        if row.fact and (value := getattr(part, name)) != row.default
    ]
