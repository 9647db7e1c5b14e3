"""What one connection and one simulated user do: calls, bursts, pauses, cookies, credentials."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.load import ArrivalUnit, Load, Model
from campaigns.domain.plan.step import Step

MAX_CALLS = 1_000_000
MAX_THINK_S = 3600
MAX_PIPELINE_DEPTH = 64
MAX_CONNECTIONS_PER_SESSION = 64
# Of one call; httperf goes on without end.
MAX_RETRIES = 3
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

    @property
    def longest_s(self) -> float:
        """The longest pause to be reckoned with: one in 20,000 exponential ones is longer."""
        return self.max_s or self.mean_s * (10 if self.kind == ThinkKind.EXPONENTIAL else 1)


@dataclass(frozen=True, slots=True)
class Session:
    """`calls_per_connection` 0: as many as the server allows. `calls_per_session` None: a session
    lasts as long as the run. Calls come in bursts of `burst_length`, at most `pipeline_depth` of
    them unanswered at once; `first_call_alone`: the others of a burst wait for the first reply.
    `connections_per_session` None: one. Several share the calls of a burst. `retry_on_failure`: a
    failed call is made again before it ends its session.
    """

    calls_per_connection: int = 0
    burst_length: int = 1
    first_call_alone: bool = True
    pipeline_depth: int = 1
    think_time: ThinkTime = ThinkTime()
    calls_per_session: int | None = None
    connections_per_session: int | None = None
    cookies: bool = False
    retry_on_failure: bool = False


@dataclass(frozen=True, slots=True)
class Auth:
    """Credentials without their secret, which is kept apart and never part of a plan."""

    kind: AuthKind = AuthKind.NONE
    user: str = ""


PLAIN_SESSION = Session()
NO_AUTH = Auth()


def calls_per_arrival(load: Load, session: Session) -> int:
    """How many requests come with each arrival, or with each connection of a window."""
    if load.arrival_unit == ArrivalUnit.SESSION:
        return session.calls_per_session or 1
    if load.arrival_unit == ArrivalUnit.CONNECTION or load.model == Model.WINDOW:
        return max(1, session.calls_per_connection)
    return 1


def makes_visits(load: Load, session: Session) -> bool:
    """Whether what arrives goes on by itself: a session, or a connection with several calls."""
    is_session = load.arrival_unit == ArrivalUnit.SESSION
    return is_session or calls_per_arrival(load, session) > 1


def counts_sessions(load: Load, session: Session) -> bool:
    """Whether a run says how its sessions ended."""
    return load.arrival_unit == ArrivalUnit.SESSION or session.calls_per_session is not None


def connections_per_arrival(load: Load, session: Session, *, is_kept: bool) -> int:
    """The most connections that one arrival opens where all goes well; `is_kept`: for many calls.

    Requests that arrive share what is kept, so it is at most one for each.
    """
    if load.arrival_unit != ArrivalUnit.SESSION:
        return 1
    calls = calls_per_arrival(load, session)
    if not is_kept:
        return calls
    one_after_another = (
        -(-calls // session.calls_per_connection) if session.calls_per_connection else 1
    )
    return min(calls, max(session.connections_per_session or 1, one_after_another))


def stored_session(data: Mapping[str, Any]) -> Session:
    """The session of a plan that was checked when it was stored; fields may lack."""
    think = dict(data.get("think_time") or {})
    if think:
        think["kind"] = ThinkKind(think["kind"])
    return Session(**{**data, "think_time": ThinkTime(**think)})


def longest_visit_s(load: Load, session: Session, total_s: float) -> float:
    """The most seconds that one arrival may take, each of its calls at most `total_s`."""
    calls = calls_per_arrival(load, session)
    n_pauses = -(-calls // session.burst_length) - 1
    return calls * total_s + n_pauses * session.think_time.longest_s


def read_auth(reader: JsonReader, steps: tuple[Step, ...]) -> Auth:
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
