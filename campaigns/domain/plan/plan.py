"""What to send and how hard. A plan is a frozen value; `from_json` is the only door, and it says
everything that is wrong at once, each sentence under the path of its field.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, Self

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.exchange import Exchange, read_optional_exchange
from campaigns.domain.plan.fields import (
    choice,
    fields_of,
    json_of,
    listed,
    number,
    part,
    read_scalars,
    whole,
)
from campaigns.domain.plan.flows import (
    Flow,
    flow_faults,
    mean_steps,
    read_flows,
    requests_of,
    steps_of,
)
from campaigns.domain.plan.load import Load, Model, mean_rate_per_s, planned_arrivals
from campaigns.domain.plan.load_rules import load_for, read_load
from campaigns.domain.plan.reply_rules import STATUS_RULE
from campaigns.domain.plan.session import (
    MAX_STREAMS,
    NO_AUTH,
    PLAIN_SESSION,
    Auth,
    HttpVersion,
    Session,
    ThinkKind,
    calls_per_arrival,
    counts_sessions,
    makes_visits,
    read_auth,
    read_session,
    redirect_faults,
    version_faults,
)
from campaigns.domain.plan.step import (
    IN_TURNS,
    MAX_STEPS,
    MOST_REDIRECTS,
    Redirects,
    Step,
    StepOrder,
    default_label,
    read_order,
    read_steps,
    told_apart,
)
from campaigns.domain.plan.threshold import Threshold, read_thresholds
from campaigns.domain.plan.variables import NO_VARIABLES, Variables, declared_names, read_variables
from campaigns.domain.typed_text import JsonReader

MAX_TIMEOUT_S = 600
MAX_WARM_UP_S = 3600


class ConnectionMode(StrEnum):
    NEW = "new"
    KEEP_ALIVE = "keep-alive"
    RESUMED = "resumed"


class Resolve(StrEnum):
    """When the endpoint's host name is resolved."""

    ONCE = "once"
    PER_CONNECTION = "per_connection"
    ALL_ADDRESSES = "all_addresses"


@dataclass(frozen=True, slots=True)
class Timeouts:
    # fmt: off
    connect_s: float = number("Connect within", 5.0, positive=True, high=MAX_TIMEOUT_S, unit="s",
        help="Time limit of the TCP handshake; at most the limit of the whole request.",
        option="--connect-timeout S", option_default="5 s, or --timeout where that is less")
    tls_s: float = number("TLS within", 5.0, positive=True, high=MAX_TIMEOUT_S, unit="s",
        help="Time limit of the TLS handshake; at most the limit of the whole request.",
        option="--tls-timeout S", option_default="5 s, or --timeout where that is less")
    total_s: float = number("Reply within", 30.0, positive=True, high=MAX_TIMEOUT_S, unit="s",
        help="Time limit of a whole request, from its start to its last byte.",
        option="--timeout S")
    # fmt: on


@dataclass(frozen=True, slots=True)
class Plan:
    # fmt: off
    steps: tuple[Step, ...] = listed("Steps", f"1 to {MAX_STEPS} objects",
        help="The requests, described below. Left out, or [], with an `exchange`.")
    load: Load = part(Load(),
        help="How hard, described below.")
    connection_mode: ConnectionMode = choice("Connections", ConnectionMode.KEEP_ALIVE,
        {ConnectionMode.NEW: "New for each request", ConnectionMode.KEEP_ALIVE: "Keep-alive",
        ConnectionMode.RESUMED: "New, TLS resumed"}, example=ConnectionMode.NEW,
        help="The plan's proposal; a campaign can use others.",
        detail="With an `exchange` `new` (default there) or `resumed`. What counts is the "
        "`connection_mode` of the order itself.")
    timeouts: Timeouts = part(Timeouts(), group="limits",
        help="Time limits of one request, described below.")
    expected_status: tuple[str, ...] = listed("Expected status", 'list, `["2xx", "3xx"]`',
        ("2xx", "3xx"), example="2xx 3xx", group="right",
        help="Statuses such as 404, or classes such as 2xx. Any other status counts as an error.",
        detail="At least one; any other is `status_unexpected`.", from_text=str,
        option="--expect S,S", option_default="2xx,3xx")
    warm_up_s: int = whole("Warm-up", 0, high=MAX_WARM_UP_S, unit="s", group="start",
        help="The same load before the measurement, not part of any figure.",
        option="--warm-up S")
    order: StepOrder = part(IN_TURNS, group="steps",
        help="Which step a request sends, described below.")
    flows: tuple[Flow, ...] = listed("Several flows", "list, described below; []", later=True,
        http_only=True, group="flows",
        help="Ways of users through the steps, each with its share of the sessions, such as 90 % "
        "browse and 10 % buy.",
        detail="Where users are simulated: in closed and sequential loads, and where sessions "
        "arrive.",
        option="--flow NAME=SHARE:STEPS",
        option_help="a flow of users, such as 'browse=90:3': its share of the sessions, and how "
        "many of the requests, in their order, belong to it; repeat it for the others")
    thresholds: tuple[Threshold, ...] = listed("Thresholds", "list, described below; []",
        group="thresholds",
        help="Rules that a run must keep, one per line: a percentile from p50 to p99.99, mean or "
        "max (p99.9 < 2s), errors in % (errors of check < 0.1 %), rate (rate > 100 /s); of one "
        "step p95 of step 2 < 300 ms, of one flow p95 of browse < 300 ms; first_byte_p95 of the "
        "wait for the first byte; for sessions "
        "session_p95 and so on, sessions_failed in %, session_rate; for the target's machine, if "
        "an agent watches it, target_cpu, target_memory and target_resent in %. They are checked "
        "every second and at the end.",
        detail="The site judges them; injectors ignore them.",
        option="--threshold RULE",
        option_help="a rule that the run must keep, such as 'p95<300ms', 'errors<1%', "
        "'rate>100', 'errors of check<0.1%', 'p99.9 of step 2<2s' or 'p95 of browse<300ms' of a "
        "flow; for sessions "
        "'session_p95<10s', 'sessions_failed<1%' or 'session_rate>5'; "
        "may be repeated")
    exchange: Exchange | None = part(None, Exchange, typed="object or null",
        help="WebSocket in place of steps, described below.")
    session: Session = part(PLAIN_SESSION, http_only=True, group="visits",
        help="What a user does, described below.")
    auth: Auth = part(NO_AUTH, group="auth",
        help="Credentials, described below.")
    variables: Variables = part(NO_VARIABLES, group="values",
        help="Values that are filled in, described below.")
    http_version: HttpVersion = choice("HTTP version", HttpVersion.HTTP_1_1,
        {version: f"HTTP/{version}" for version in HttpVersion}, http_only=True, group="http",
        help="1.0 keeps a connection only where the server says keep-alive too. 2 sends several "
        "requests at a time on a connection; over HTTPS the server must agree to it, without TLS "
        "it must take it at once.",
        detail="1.0 asks for it by `Connection: keep-alive`; refused with pipelining. 2 is RFC "
        "9113: only `h2` is offered by ALPN; without TLS, or with `alpn` false, the connection "
        "begins with HTTP/2 (prior knowledge).",
        option="--http",
        option_help="version of HTTP; 1.0 keeps a connection only where the server says so too; 2 "
        "is agreed on in the TLS handshake, and taken for granted without TLS")
    streams: int = whole("Streams per connection", 1, low=1, high=MAX_STREAMS, http_only=True,
        later=True, group="http",
        help="With HTTP/2: requests at a time on each connection, at most as many as the server "
        "allows. A new connection for each request has one. Where sessions or connections arrive, "
        "and in a window, the requests of a burst share the streams.",
        detail="Refused above 1 with another `http_version`, and where requests are sent one after "
        "another. A closed load sends on `connections` × `streams`; arriving requests use up the "
        "streams of open connections before another is opened.",
        fact="{:,} per connection",
        option="--streams M",
        option_help="up to M requests at a time on each connection of HTTP/2")
    resolve: Resolve = choice("Resolve host name", Resolve.ONCE,
        {Resolve.ONCE: "Once, before the run", Resolve.PER_CONNECTION: "For each connection",
        Resolve.ALL_ADDRESSES: "All addresses, in turns"},
        group="http",
        help="For each connection, it is the part dns of the response time. An endpoint with an "
        "address needs none. All addresses in turns: connections go round them, so have at least "
        "as many, and the report has figures for each address.",
        detail="With `all_addresses` an address that does not answer is not replaced by another: "
        "[addresses](injector.md#connections).",
        option="--resolve",
        option_help="resolve the host name once before the first request, or for each connection "
        "as the part dns of its response time; or once, and send to all of its addresses in turns")
    redirects: Redirects = choice("Redirects", Redirects.OFF,
        {Redirects.OFF: "Not followed", Redirects.SAME_ORIGIN: "Followed at the same origin",
        Redirects.ALL: "Followed everywhere"},
        http_only=True, later=True, group="http",
        help=f"Followed as a browser does, up to {MOST_REDIRECTS}. The response time is that of "
        "the whole request, and the report has the time of each redirect. Everywhere means where "
        "load may go.",
        detail="A request is counted once, however many redirects it has: "
        "[redirects](injector.md#redirects). Refused with pipelining, and where connections are "
        "counted.",
        option="--redirects",
        option_help="follow redirects at the same origin, or at all that load may go to")
    # fmt: on

    @property
    def labels(self) -> tuple[str, ...]:
        """What the rows of its steps are called, below the flow's where there are flows; an
        exchange has one."""
        if self.exchange is not None:
            return (default_label("WebSocket", self.exchange.path),)
        parts = steps_of(self.flows) or [range(len(self.steps))]
        each = (told_apart(self.steps[number].label for number in part) for part in parts)
        return tuple(label for labels in each for label in labels)

    @property
    def full_labels(self) -> tuple[str, ...]:
        """The same with their flows, for rows that stand alone."""
        if not self.flows:
            return self.labels
        flows = (flow.name for flow in self.flows for _ in range(flow.steps))
        return tuple(f"{flow}: {label}" for flow, label in zip(flows, self.labels, strict=True))

    def to_json(self) -> dict[str, Any]:
        """The stored and exported form; `from_json(plan.to_json()) == plan`."""
        return json_of(self)

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """A plan from parsed JSON. Raises InvalidPlan with a sentence for each wrong field."""
        reader = JsonReader(data)
        exchange = read_optional_exchange(reader)
        steps = read_steps(reader) if exchange is None else ()
        requests = steps if exchange is None else (exchange.spoken,)
        load = read_load(reader.child("load"))
        flows = read_flows(reader, len(steps))
        most_calls = len(steps) if reader.data.get("flows") else None
        if flows:
            most_calls = max(flow.steps for flow in flows)
        session = read_session(reader.child("session"), load, steps, most_calls)
        raw = reader.data.get("expected_status", ["2xx", "3xx"])
        if isinstance(raw, str):
            raw = raw.replace(",", " ").split()
        rules = tuple(str(rule).lower() for rule in raw) if isinstance(raw, list | tuple) else ()
        if not rules or not all(STATUS_RULE.fullmatch(rule) for rule in rules):
            reader.fail("expected_status", "Write statuses or classes, such as 2xx 304.")
        plan = cls(
            **read_scalars(reader, cls) | _read_mode(reader, exchange),
            steps=steps,
            load=load,
            timeouts=_read_timeouts(reader.child("timeouts")),
            expected_status=rules,
            order=read_order(reader.child("order"), len(steps)),
            flows=flows,
            thresholds=read_thresholds(
                reader,
                has_sessions=bool(flows) or counts_sessions(load, session),
                n_steps=len(requests),
                flows=[flow.name for flow in flows],
                is_http=exchange is None,
            ),
            exchange=exchange,
            session=session,
            auth=read_auth(reader.child("auth"), requests),
            variables=read_variables(reader.child("variables"), requests),
        )
        of_all = load, plan.longest_session
        for field, sentence in (
            *version_faults(plan.http_version, plan.streams, *of_all),
            *redirect_faults(plan.redirects, load, session),
        ):
            reader.fail(field, sentence)
        if flows and steps:
            for field, sentence in flow_faults(flows, load, plan.order, steps, plan.variables):
                reader.fail(field, sentence)
        if exchange is not None:
            sentence = "This is for HTTP steps; a WebSocket plan does not use it."
            for owner, where in ((plan, reader), (load, reader.child("load"))):
                for name, row in fields_of(type(owner)).items():
                    if row.http_only and getattr(owner, name) != row.default:
                        where.fail(name, sentence)
        if reader.errors:
            raise InvalidPlan(reader.errors)
        return plan

    @property
    def keeps_sessions(self) -> bool:
        """Whether each simulated user goes through the steps in an order of its own."""
        return (
            self.session.cookies
            or self.session.calls_per_session is not None
            or bool(self.flows)
            or any(step.extract for step in self.steps)
        )

    @property
    def longest_session(self) -> Session:
        """With the calls of the longest flow, where there are flows."""
        if not self.flows:
            return self.session
        return replace(self.session, calls_per_session=max(flow.steps for flow in self.flows))

    @property
    def calls_per_arrival(self) -> float:
        """How many requests come with each arrival of an open load or with each connection of a
        window; 1 elsewhere. Of flows with different numbers of steps it is the mean.
        """
        if self.flows and makes_visits(self.load, self.session):
            mean = mean_steps(self.flows)
            return int(mean) if mean.denominator == 1 else float(mean)
        return calls_per_arrival(self.load, self.session)

    @property
    def nouns(self) -> str:
        """What its runs count: each WebSocket, opened and closed, is one."""
        return "requests" if self.exchange is None else "connections"

    @property
    def planned_requests(self) -> int | None:
        """Measured requests that the plan asks for; None where only the target decides, or where
        it depends on the seed: of flows with different numbers of steps."""
        arrivals = planned_arrivals(self.load)
        if arrivals is None:
            return None
        if self.flows and makes_visits(self.load, self.session):
            return requests_of(self.flows, arrivals)
        return arrivals * self.calls_per_arrival

    @property
    def planned_rate_per_s(self) -> float | None:
        """Of requests; None where nothing says it, or where several come with an arrival: sessions
        make them uneven."""
        return mean_rate_per_s(self.load) if self.calls_per_arrival == 1 else None

    @property
    def variable_names(self) -> frozenset[str]:
        return frozenset(declared_names(self.variables, self.steps))

    @property
    def is_plain(self) -> bool:
        """No session options, nothing kept from replies, no flows, and no redirect followed."""
        if self.flows or self.redirects != Redirects.OFF:
            return False
        return self.session == PLAIN_SESSION and not self.variable_names

    @property
    def is_flat_out(self) -> bool:
        """Whether connections send without a pause until a time is over: then the rate of the
        replies is the answer, and their times follow from the number of connections."""
        load, think_time = self.load, self.session.think_time
        is_pausing = self.exchange is not None or think_time.kind != ThinkKind.NONE
        is_crowd = load.model == Model.CLOSED and (load.connections or 1) > 1
        return is_crowd and bool(load.duration_s) and not is_pausing

    @property
    def seeks_limit(self) -> bool:
        """Whether the load looks for how much the target can take, so that overload is what was
        looked for: it is flat out, or its stages only rise."""
        return self.load.only_rises or self.is_flat_out

    def for_injectors(self, n: int) -> Self:
        """With the total load of all injectors, as stored in a run."""
        return replace(self, load=load_for(self.load, n))

    def status_is_expected(self, status: int) -> bool:
        return status_fits(status, self.expected_status)


@lru_cache(maxsize=1024)
def status_fits(status: int, rules: tuple[str, ...]) -> bool:
    """Whether a status is one of these, or in one of these classes, such as 404 and 2xx."""
    text = str(status)
    return any(rule == text or (rule.endswith("xx") and rule[0] == text[0]) for rule in rules)


def _read_mode(reader: JsonReader, exchange: Exchange | None) -> dict[str, ConnectionMode]:
    """What a WebSocket plan has in place of the usual mode."""
    if exchange is None:
        return {}
    mode = reader.choice("connection_mode", ConnectionMode, ConnectionMode.NEW)
    if mode == ConnectionMode.KEEP_ALIVE:
        reader.fail("connection_mode", "Each WebSocket opens a connection: choose new or resumed.")
    return {"connection_mode": mode}


def _read_timeouts(reader: JsonReader) -> Timeouts:
    """No part may take longer than the whole; a default is shorter where the whole is."""
    timeouts = Timeouts(**read_scalars(reader, Timeouts))
    for name in ("connect_s", "tls_s"):
        if getattr(timeouts, name) <= timeouts.total_s:
            continue
        if name in reader.data:
            reader.fail(name, f"Cannot be longer than the total limit of {timeouts.total_s:g} s.")
        timeouts = replace(timeouts, **{name: timeouts.total_s})
    return timeouts


# What a campaign sends to the installation's own target, to see whether the environment moved.
REFERENCE_NAME = "benchsite's own target"
REFERENCE_MODE = ConnectionMode.KEEP_ALIVE
# Enough requests for a p95, at a rate that leaves any machine idle.
REFERENCE_PLAN = Plan.from_json(
    {
        "steps": [{"method": "GET", "path": "/"}],
        "load": {"model": "open", "rate_per_s": 200, "duration_s": 3},
        "connection_mode": str(REFERENCE_MODE),
        "warm_up_s": 1,
    }
)
