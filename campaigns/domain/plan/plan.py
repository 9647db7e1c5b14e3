"""What to send and how hard. A plan is a frozen value; `from_json` is the only door, and it says
everything that is wrong at once, each sentence under the path of its field.
"""

import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.exchange import Exchange, read_optional_exchange
from campaigns.domain.plan.load import ArrivalUnit, Load, planned_arrivals
from campaigns.domain.plan.load_rules import read_load
from campaigns.domain.plan.session import (
    NO_AUTH,
    PLAIN_SESSION,
    Auth,
    Session,
    calls_per_arrival,
    counts_sessions,
    read_auth,
)
from campaigns.domain.plan.session_rules import read_session
from campaigns.domain.plan.step import Step, read_steps
from campaigns.domain.plan.step_order import IN_TURNS, StepOrder, read_order
from campaigns.domain.plan.threshold import Threshold, read_thresholds
from campaigns.domain.plan.variables import NO_VARIABLES, Variables, declared_names, read_variables

_STATUS = re.compile(r"[1-5](?:xx|\d\d)")


class ConnectionMode(StrEnum):
    NEW = "new"
    KEEP_ALIVE = "keep-alive"
    RESUMED = "resumed"


class HttpVersion(StrEnum):
    """1.0 keeps a connection only where both sides say keep-alive, as ab -k does."""

    HTTP_1_1 = "1.1"
    HTTP_1_0 = "1.0"


class Resolve(StrEnum):
    """When the endpoint's name is looked up."""

    ONCE = "once"
    PER_CONNECTION = "per_connection"


@dataclass(frozen=True, slots=True)
class Timeouts:
    connect_s: float = 5.0
    tls_s: float = 5.0
    total_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[Step, ...]
    load: Load
    connection_mode: ConnectionMode = ConnectionMode.KEEP_ALIVE
    timeouts: Timeouts = Timeouts()
    expected_status: tuple[str, ...] = ("2xx", "3xx")
    warm_up_s: int = 0
    order: StepOrder = IN_TURNS
    thresholds: tuple[Threshold, ...] = ()
    exchange: Exchange | None = None
    session: Session = PLAIN_SESSION
    auth: Auth = NO_AUTH
    variables: Variables = NO_VARIABLES
    http_version: HttpVersion = HttpVersion.HTTP_1_1
    resolve: Resolve = Resolve.ONCE

    @property
    def labels(self) -> tuple[str, ...]:
        """What the rows of its steps are called; an exchange has one."""
        if self.exchange is not None:
            return (f"WebSocket {self.exchange.path}"[:100],)
        return tuple(step.label for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """The stored and exported form; `from_json(plan.to_json()) == plan`."""
        data = asdict(self)
        data["steps"] = [step.to_json() for step in self.steps]
        data["load"] = self.load.to_json()
        data["connection_mode"] = str(self.connection_mode)
        data["http_version"] = str(self.http_version)
        data["resolve"] = str(self.resolve)
        data["expected_status"] = list(self.expected_status)
        data["thresholds"] = list(data["thresholds"])
        data["exchange"] = self.exchange and self.exchange.to_json()
        data["order"] |= {"kind": str(self.order.kind), "weights": list(self.order.weights)}
        data["session"]["think_time"]["kind"] = str(self.session.think_time.kind)
        data["auth"]["kind"] = str(self.auth.kind)
        data["variables"]["order"] = str(self.variables.order)
        return data

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """A plan from parsed JSON. Raises InvalidPlan with a sentence for each wrong field."""
        reader = JsonReader(data)
        exchange = read_optional_exchange(reader)
        steps = read_steps(reader) if exchange is None else ()
        requests = steps if exchange is None else (exchange.opening,)
        load = read_load(reader.child("load"))
        session = read_session(reader.child("session"), load, steps)
        plan = cls(
            steps=steps,
            load=load,
            connection_mode=_read_mode(reader, is_exchange=exchange is not None),
            timeouts=_read_timeouts(reader.child("timeouts")),
            expected_status=_read_status(reader),
            warm_up_s=int(reader.number("warm_up_s", 0, low=0, high=3600, whole=True) or 0),
            order=read_order(reader.child("order"), len(steps)),
            thresholds=read_thresholds(reader, has_sessions=counts_sessions(load, session)),
            exchange=exchange,
            session=session,
            auth=read_auth(reader.child("auth"), requests),
            variables=read_variables(reader.child("variables"), requests),
            http_version=reader.choice("http_version", HttpVersion, HttpVersion.HTTP_1_1),
            resolve=reader.choice("resolve", Resolve, Resolve.ONCE),
        )
        reader.refuse_unknown(*cls.__dataclass_fields__)
        if exchange is not None:
            _check_exchange_load(reader.child("load"), load)
        if plan.http_version == HttpVersion.HTTP_1_0 and plan.session.pipeline_depth > 1:
            reader.fail("http_version", "HTTP/1.0 knows no pipelining; choose 1.1, or depth 1.")
        if exchange is not None:
            _refuse_beside_exchange(reader, plan)
        if reader.errors:
            raise InvalidPlan(reader.errors)
        return plan

    @property
    def keeps_sessions(self) -> bool:
        """Whether each simulated user goes through the steps in an order of its own."""
        return (
            self.session.cookies
            or self.session.calls_per_session is not None
            or any(step.extract for step in self.steps)
        )

    @property
    def calls_per_arrival(self) -> int:
        """How many requests come with each arrival of an open load or with each connection of a
        window; 1 elsewhere.
        """
        return calls_per_arrival(self.load, self.session)

    @property
    def planned_requests(self) -> int | None:
        """Measured requests that the plan asks for; None where only the target decides."""
        arrivals = planned_arrivals(self.load)
        return None if arrivals is None else arrivals * self.calls_per_arrival

    @property
    def variable_names(self) -> frozenset[str]:
        return frozenset(declared_names(self.variables, self.steps))

    def status_is_expected(self, status: int) -> bool:
        text = str(status)
        return any(
            rule == text or (rule.endswith("xx") and rule[0] == text[0])
            for rule in self.expected_status
        )


def _read_mode(reader: JsonReader, *, is_exchange: bool) -> ConnectionMode:
    usual = ConnectionMode.NEW if is_exchange else ConnectionMode.KEEP_ALIVE
    mode = reader.choice("connection_mode", ConnectionMode, usual)
    if is_exchange and mode == ConnectionMode.KEEP_ALIVE:
        reader.fail("connection_mode", "A WebSocket is opened anew: choose new, or resumed.")
    return mode


def _check_exchange_load(reader: JsonReader, load: Load) -> None:
    if load.arrival_unit != ArrivalUnit.REQUEST:
        reader.fail("arrival_unit", "A WebSocket plan's arrivals are connections already.")


def _refuse_beside_exchange(reader: JsonReader, plan: Plan) -> None:
    for name, standard in (
        ("session", PLAIN_SESSION),
        ("http_version", HttpVersion.HTTP_1_1),
    ):
        if getattr(plan, name) != standard:
            reader.fail(name, "It is for HTTP steps; a plan with an exchange has none.")


def _read_timeouts(reader: JsonReader) -> Timeouts:
    standard = Timeouts()
    timeouts = Timeouts(
        connect_s=reader.number("connect_s", standard.connect_s, low=0, high=600, above_low=True),
        tls_s=reader.number("tls_s", standard.tls_s, low=0, high=600, above_low=True),
        total_s=reader.number("total_s", standard.total_s, low=0, high=600, above_low=True),
    )
    for name in ("connect_s", "tls_s"):
        if name in reader.data and getattr(timeouts, name) > timeouts.total_s:
            reader.fail(name, f"Cannot be longer than the total limit of {timeouts.total_s:g} s.")
    reader.refuse_unknown("connect_s", "tls_s", "total_s")
    return timeouts


def _read_status(reader: JsonReader) -> tuple[str, ...]:
    raw = reader.data.get("expected_status", ["2xx", "3xx"])
    if isinstance(raw, str):
        raw = raw.replace(",", " ").split()
    rules = tuple(str(rule).lower() for rule in raw) if isinstance(raw, list | tuple) else ()
    if not rules or not all(_STATUS.fullmatch(rule) for rule in rules):
        reader.fail("expected_status", "Write statuses or classes, such as 2xx 304.")
    return rules
