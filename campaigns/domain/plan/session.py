"""What one connection and one simulated user do: calls, bursts, pauses, cookies, credentials."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.fields import choice, flag, number, part, read_scalars, text, whole
from campaigns.domain.plan.load import ArrivalUnit, Load
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

    # fmt: off
    kind: ThinkKind = choice("Think time", ThinkKind.NONE,
        {ThinkKind.NONE: "None", ThinkKind.CONSTANT: "Constant",
        ThinkKind.UNIFORM: "Between two values", ThinkKind.EXPONENTIAL: "Exponential"},
        help="The pause between requests, or between bursts. It is part of no measured time.")
    mean_s: float = number("Mean", 0.0, example="", high=MAX_THINK_S, unit="s",
        used_by={ThinkKind.CONSTANT, ThinkKind.EXPONENTIAL},
        help="Of a constant or exponential think time.")
    min_s: float = number("Shortest", 0.0, example="", high=MAX_THINK_S, unit="s",
        used_by={ThinkKind.UNIFORM},
        help="Of a think time between two values; below the longest.")
    max_s: float = number("Longest", 0.0, example="", high=MAX_THINK_S, unit="s",
        used_by={ThinkKind.UNIFORM},
        help="Of a think time between two values.")
    # fmt: on

    def drawn_s(self, share: float) -> float:
        """A pause in seconds from a number uniform in [0, 1)."""
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
        """The longest expected pause: one in 20,000 exponential ones is longer."""
        return self.max_s or self.mean_s * (10 if self.kind == ThinkKind.EXPONENTIAL else 1)


@dataclass(frozen=True, slots=True)
class Session:
    """`calls_per_connection` 0: as many as the server allows. `calls_per_session` None: a session
    lasts as long as the run. Calls come in bursts of `burst_length`, at most `pipeline_depth` of
    them unanswered at once; `first_call_alone`: the others of a burst wait for the first reply.
    `connections_per_session` None: one. Several share the calls of a burst. `retry_on_failure`: a
    failed call is made again before it ends its session.
    """

    # fmt: off
    calls_per_connection: int = whole("Requests per connection", 0, example="", high=MAX_CALLS,
        help="With kept connections. Without a value, or 0: as many as the server allows. 1: a "
        "new connection for each request. Where connections arrive, or in a window, each sends "
        "this many; without a value: one.", fact="{:,}",
        option="--calls-per-connection N",
        option_help="close a kept connection after N requests; where connections arrive, or in a "
        "window, each sends N", option_default="0: when the server does, and 1")
    calls_per_session: int | None = whole("Requests per session", low=1, high=MAX_CALLS,
        help="The user then starts over: first step, new connection, no cookies. Without a value: "
        "never. Where sessions arrive, each sends this many.", fact="{:,}",
        option="--calls-per-session N",
        option_help="after N requests a user starts over: new connection, no cookies; where "
        "sessions arrive, each sends N", option_default="never")
    connections_per_session: int | None = whole("Connections per session", low=1,
        high=MAX_CONNECTIONS_PER_SESSION,
        help="Where sessions arrive: the requests of a burst share up to this many connections. "
        "Without a value: one.", fact="up to {:,}, shared by the requests of a burst",
        option="--connections-per-session N", option_default="1")
    cookies: bool = flag("Cookies",
        help="Each session keeps the cookies that it receives and sends them back.",
        fact="kept per session",
        option="--cookies")
    retry_on_failure: bool = flag("Retry failed requests", later=True,
        help=f"Where sessions arrive: a failed request is sent again at once, up to {MAX_RETRIES} "
        "times, before it ends its session. Not after a timeout; never POST or PATCH.",
        detail="Sent again are only GET, HEAD, OPTIONS, PUT and DELETE: nobody knows what a POST "
        "did when its reply failed. Refused where requests or connections arrive and in closed "
        "loads, where a failed request ends nothing, and with pipelining, where nobody knows "
        "which of the unanswered requests were done. httperf's `--retry-on-failure` goes on "
        "without end, after one status (`--failure-status`) and after a broken connection; here "
        "`expected_status` says what a failure is, for every load.",
        fact=f"up to {MAX_RETRIES} times",
        option="--retry-on-failure")
    think_time: ThinkTime = part(ThinkTime(),
        help="The pause between requests.")
    burst_length: int = whole("Requests per burst", 1, low=1, high=MAX_CALLS,
        help="Requests between two pauses.",
        option="--burst-length N")
    first_call_alone: bool = flag("First request alone", True,
        help="The other requests of a burst wait for the first reply, as in a browser.",
        detail="Of a burst that is pipelined or shared by connections.",
        option="--all-at-once",
        option_help="send the whole burst at once instead of waiting for the first reply")
    pipeline_depth: int = whole("Pipeline depth", 1, low=1, high=MAX_PIPELINE_DEPTH,
        help="Requests on a connection that wait for their reply at the same time; each without a "
        "body. 1: no pipelining.", fact="up to {:,} requests on a connection wait for their reply",
        option="--pipeline D")
    # fmt: on


@dataclass(frozen=True, slots=True)
class Auth:
    """Credentials without their secret, which is stored separately and never part of a plan."""

    # fmt: off
    kind: AuthKind = choice("Credentials", AuthKind.NONE,
        {AuthKind.NONE: "None", AuthKind.BASIC: "User and password",
        AuthKind.BEARER: "Bearer token"},
        help="Sent with every request. The secret is stored apart and never part of a plan.")
    user: str = text("User", high=200, used_by={AuthKind.BASIC},
        help="For a user and password only; no colon and no control characters.")
    # fmt: on


PLAIN_SESSION = Session()
NO_AUTH = Auth()


def calls_per_arrival(load: Load, session: Session) -> int:
    """How many requests come with each arrival, or with each connection of a window."""
    if load.arrival_unit == ArrivalUnit.SESSION:
        return session.calls_per_session or 1
    if load.counts_connections:
        return max(1, session.calls_per_connection)
    return 1


def makes_visits(load: Load, session: Session) -> bool:
    """Whether an arrival makes further calls: a session, or a connection with several calls."""
    is_session = load.arrival_unit == ArrivalUnit.SESSION
    return is_session or calls_per_arrival(load, session) > 1


def counts_sessions(load: Load, session: Session) -> bool:
    """Whether a run counts how its sessions ended."""
    return load.arrival_unit == ArrivalUnit.SESSION or session.calls_per_session is not None


def connections_per_arrival(load: Load, session: Session, *, is_kept: bool) -> int:
    """The most connections that one arrival opens where all goes well; `is_kept`: for many calls.

    Arriving requests share kept connections, so each opens at most one.
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
    for name in ("secret", "password", "token"):
        if name in reader.data:
            reader.fail(name, "A secret is never part of a plan; pass it beside the plan.")
    auth = Auth(**read_scalars(reader, Auth))
    if auth.kind == AuthKind.BASIC and not _USER.fullmatch(auth.user):
        reader.fail("user", "Enter the user name; it cannot contain a colon.")
    if auth.kind != AuthKind.BASIC and auth.user:
        reader.fail("user", f"The credentials {auth.kind} have no user; leave it empty.")
    if auth.kind != AuthKind.NONE and any(
        name.lower() == "authorization" for step in steps for name, _ in step.headers
    ):
        reader.fail("kind", "There is already an Authorization header; remove one of them.")
    return auth
