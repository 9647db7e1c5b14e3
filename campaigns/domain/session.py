"""What one connection and one simulated user do: calls, bursts, pauses, cookies, credentials."""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

from campaigns.domain.fields import Fields
from campaigns.domain.loads import ArrivalUnit, Load, Model
from campaigns.domain.steps import Step

MAX_CALLS = 1_000_000
MAX_THINK_S = 3600
MAX_PIPELINE_DEPTH = 64
PIPELINED_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
_USER = re.compile(r"[^\x00-\x1f\x7f:]{1,200}")


class ThinkKind(StrEnum):
    NONE = "none"
    CONSTANT = "constant"
    UNIFORM = "uniform"
    EXPONENTIAL = "exponential"


class AuthKind(StrEnum):
    NONE = "none"
    BASIC = "basic"
    BEARER = "bearer"


@dataclass(frozen=True, slots=True)
class ThinkTime:
    """The pause between calls (between bursts, where there are any); in no measured time."""

    kind: ThinkKind = ThinkKind.NONE
    mean_s: float = 0.0
    min_s: float = 0.0
    max_s: float = 0.0

    def drawn_s(self, share: float) -> float:
        """A pause in seconds from a number that is evenly spread over [0, 1)."""
        match self.kind:
            case ThinkKind.CONSTANT:
                return self.mean_s
            case ThinkKind.UNIFORM:
                return self.min_s + (self.max_s - self.min_s) * share
            case ThinkKind.EXPONENTIAL:
                return -self.mean_s * math.log(1.0 - share)
        return 0.0


@dataclass(frozen=True, slots=True)
class Session:
    """`calls_per_connection` 0: as many as the server allows. `calls_per_session` None: a session
    lasts as long as the run. Calls come in bursts of `burst_length`, at most `pipeline_depth` of
    them unanswered at once; `first_call_alone`: the others of a burst wait for the first reply.
    """

    calls_per_connection: int = 0
    burst_length: int = 1
    first_call_alone: bool = True
    pipeline_depth: int = 1
    think_time: ThinkTime = ThinkTime()
    calls_per_session: int | None = None
    connections_per_session: int | None = None
    cookies: bool = False


@dataclass(frozen=True, slots=True)
class Auth:
    """Credentials without their secret, which is kept apart and never part of a plan."""

    kind: AuthKind = AuthKind.NONE
    user: str = ""


PLAIN_SESSION = Session()
NO_AUTH = Auth()


def read_session(reader: Fields, load: Load, steps: tuple[Step, ...]) -> Session:
    session = Session(
        calls_per_connection=_count(reader, "calls_per_connection", 0, low=0),
        burst_length=_count(reader, "burst_length", 1),
        first_call_alone=reader.boolean("first_call_alone", True),
        pipeline_depth=_count(reader, "pipeline_depth", 1, high=MAX_PIPELINE_DEPTH),
        think_time=_read_think_time(reader.child("think_time")),
        calls_per_session=_count(reader, "calls_per_session", None),
        connections_per_session=_count(reader, "connections_per_session", None),
        cookies=reader.boolean("cookies", False),
    )
    _check_against_load(reader, session, load)
    if session.pipeline_depth > 1 and (fault := _pipeline_fault(session, load, steps)):
        reader.fail("pipeline_depth", fault)
    reader.refuse_unknown(*Session.__dataclass_fields__)
    return session


def _pipeline_fault(session: Session, load: Load, steps: tuple[Step, ...]) -> str | None:
    if load.model != Model.CLOSED:
        return f"The load model {load.model} has one call on a connection at a time; choose closed."
    if any(step.method not in PIPELINED_METHODS or step.body for step in steps):
        return f"Only {', '.join(sorted(PIPELINED_METHODS))} without a body can be pipelined."
    if session.cookies or any(step.extract for step in steps):
        return "Calls leave before earlier replies are there: no cookies, no values from replies."
    if session.think_time.kind != ThinkKind.NONE and session.burst_length == 1:
        return "With a pause after every call there is nothing to pipeline; make bursts longer."
    return None


def _count(
    reader: Fields, name: str, default: int | None, low: int = 1, high: int = MAX_CALLS
) -> int | None:
    return reader.number(name, default, low=low, high=high, whole=True)


def _read_think_time(reader: Fields) -> ThinkTime:
    kind = reader.choice("kind", ThinkKind, ThinkKind.NONE)
    think_time = ThinkTime(
        kind,
        *(
            reader.number(name, 0.0, low=0, high=MAX_THINK_S)
            for name in ("mean_s", "min_s", "max_s")
        ),
    )
    has_mean = kind in {ThinkKind.CONSTANT, ThinkKind.EXPONENTIAL}
    if has_mean and "mean_s" not in reader.data:
        reader.fail("mean_s", f"Say how long the {kind} think time is, in seconds.")
    if not has_mean and think_time.mean_s:
        reader.fail("mean_s", f"The think time {kind} has no use for a mean; leave it empty.")
    if kind == ThinkKind.UNIFORM and think_time.min_s >= think_time.max_s:
        reader.fail("max_s", "Write a longest think time above the shortest.")
    if kind != ThinkKind.UNIFORM and (think_time.min_s or think_time.max_s):
        reader.fail("min_s", f"The think time {kind} has no use for bounds; leave them empty.")
    reader.refuse_unknown("kind", "mean_s", "min_s", "max_s")
    return think_time


def _check_against_load(reader: Fields, session: Session, load: Load) -> None:
    if session.connections_per_session is not None:
        reader.fail(
            "connections_per_session",
            "It means something only where whole sessions arrive; here a session has one "
            "connection. Leave it empty, and say in the load how many connections there are.",
        )
    if load.model not in {Model.CLOSED, Model.SEQUENTIAL}:
        for name, is_used in (
            ("think_time.kind", session.think_time.kind != ThinkKind.NONE),
            ("burst_length", session.burst_length > 1),
            ("calls_per_session", session.calls_per_session is not None),
        ):
            if is_used:
                reader.fail(
                    name,
                    f"With the load model {load.model} requests start when they are due, so there "
                    "is nothing between them to arrange. Choose closed or sequential.",
                )
    if load.model == Model.WINDOW and (session.cookies or session.calls_per_connection):
        name = "cookies" if session.cookies else "calls_per_connection"
        reader.fail(name, "A window makes one call on each connection; choose another load model.")
    if load.arrival_unit == ArrivalUnit.CONNECTION and session.calls_per_connection > 1:
        reader.fail(
            "calls_per_connection",
            "Each arrival is a connection with one request; leave it at 0, or let requests arrive.",
        )
    per_connection = session.calls_per_connection
    if 0 < per_connection < session.burst_length:
        reader.fail("burst_length", f"A connection ends after {per_connection} calls already.")


def read_auth(reader: Fields, steps: tuple[Step, ...]) -> Auth:
    auth = Auth(reader.choice("kind", AuthKind, AuthKind.NONE), reader.text("user", "", limit=200))
    if auth.kind == AuthKind.BASIC and not _USER.fullmatch(auth.user):
        reader.fail("user", "Write the user's name; it has no colon.")
    if auth.kind != AuthKind.BASIC and auth.user:
        reader.fail("user", f"The credentials {auth.kind} have no user; leave it empty.")
    if auth.kind != AuthKind.NONE and any(
        name.lower() == "authorization" for step in steps for name, _ in step.headers
    ):
        reader.fail("kind", "There is an Authorization header already; take one of them out.")
    for name in ("secret", "password", "token"):
        if name in reader.data:
            reader.fail(name, "A secret is no part of a plan; give it apart.")
    reader.refuse_unknown("kind", "user", "secret", "password", "token")
    return auth
