"""What one connection and one simulated user do: calls, bursts, pauses, cookies, credentials; the
versions of HTTP; and the rules between these and the load, in words.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from campaigns.domain.plan.fields import choice, flag, number, part, read_scalars, text, whole
from campaigns.domain.plan.load import MAX_REQUESTS, ArrivalUnit, Load, Model, planned_arrivals
from campaigns.domain.plan.step import REPEATABLE_METHODS, Redirects, Step
from campaigns.domain.typed_text import JsonReader

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
        help="The pause between requests, or between bursts. Not included in results.")
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
    def mean_pause_s(self) -> float:
        return (self.min_s + self.max_s) / 2 if self.kind == ThinkKind.UNIFORM else self.mean_s

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
        help="Requests before a user starts over, with a new connection and no cookies. Leave "
        "empty to never restart. Where sessions arrive, each sends this many.", fact="{:,}",
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


def stored_session(data: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> Session:
    """The session of a plan that was checked when it was stored, of its longest flow if it has
    flows; fields may lack."""
    think = dict(data.get("think_time") or {})
    if think:
        think["kind"] = ThinkKind(think["kind"])
    calls = {"calls_per_session": max(flow["steps"] for flow in flows)} if flows else {}
    return Session(**{**data, "think_time": ThinkTime(**think), **calls})


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


Fault = tuple[str, str]  # (field, sentence)


def read_session(
    reader: JsonReader, load: Load, steps: tuple[Step, ...], most_calls: int | None = None
) -> Session:
    """`most_calls`: those of the longest flow, where flows say how many a session has."""
    think_time = _read_think_time(reader.child("think_time"))
    session = Session(**read_scalars(reader, Session), think_time=think_time)
    longest = session
    if most_calls is not None:
        if session.calls_per_session is not None:
            reader.fail("calls_per_session", "A session ends with its flow; leave this empty.")
        if _is_closed(load) or load.arrival_unit == ArrivalUnit.SESSION:
            longest = replace(session, calls_per_session=most_calls)
    for field, sentence in _faults(longest, load, steps):
        reader.fail(field, sentence)
    return session


def _read_think_time(reader: JsonReader) -> ThinkTime:
    think_time = ThinkTime(**read_scalars(reader, ThinkTime))
    kind = think_time.kind
    has_mean = kind in {ThinkKind.CONSTANT, ThinkKind.EXPONENTIAL}
    if has_mean and "mean_s" not in reader.data:
        reader.fail("mean_s", f"Enter how long the {kind} think time is, in seconds.")
    if not has_mean and think_time.mean_s:
        reader.fail("mean_s", f"The think time {kind} does not use a mean; leave it empty.")
    if kind == ThinkKind.UNIFORM and think_time.min_s >= think_time.max_s:
        reader.fail("max_s", "The longest think time must be above the shortest.")
    if kind != ThinkKind.UNIFORM and (think_time.min_s or think_time.max_s):
        reader.fail("min_s", f"The think time {kind} does not use bounds; leave them empty.")
    return think_time


def _faults(session: Session, load: Load, steps: tuple[Step, ...]) -> Iterator[Fault]:
    if load.arrival_unit == ArrivalUnit.SESSION:
        if session.calls_per_session is None:
            yield "calls_per_session", "Enter how many requests each arriving session sends."
        elif session.burst_length > session.calls_per_session:
            yield (
                "burst_length",
                f"A session already ends after {session.calls_per_session} requests.",
            )
        if session.burst_length == 1 and (session.connections_per_session or 1) > 1:
            yield (
                "connections_per_session",
                "Requests are sent one after another, so one connection is enough; make the bursts "
                "longer, or leave it empty.",
            )
    else:
        yield from _faults_of_others(session, load)
    yield from _faults_of_single_calls(session, load, steps)
    arrivals = planned_arrivals(load) or 0
    if makes_visits(load, session) and arrivals * calls_per_arrival(load, session) > MAX_REQUESTS:
        name = "session" if load.arrival_unit == ArrivalUnit.SESSION else "connection"
        yield (
            f"calls_per_{name}",
            f"All {arrivals:,} together would send more than {MAX_REQUESTS:,} requests.",
        )
    if session.pipeline_depth > 1 and (sentence := _pipeline_fault(session, load, steps)):
        yield "pipeline_depth", sentence
    if session.retry_on_failure and (sentence := _retry_fault(session, load, steps)):
        yield "retry_on_failure", sentence


def _faults_of_others(session: Session, load: Load) -> Iterator[Fault]:
    if session.connections_per_session is not None:
        yield (
            "connections_per_session",
            "Only sessions that arrive can have several connections; leave it empty, and set the "
            "number of connections in the load.",
        )
    if session.calls_per_session is not None and not _is_closed(load):
        yield (
            "calls_per_session",
            f"With the load model {load.model}, requests start when they are due and belong to no "
            "session. Choose closed or sequential, or let sessions arrive.",
        )
    per_connection = session.calls_per_connection
    if 0 < per_connection < session.burst_length:
        yield "burst_length", f"A connection already ends after {per_connection} requests."


def _faults_of_single_calls(
    session: Session, load: Load, steps: tuple[Step, ...]
) -> Iterator[Fault]:
    """Settings between calls have no meaning for single calls."""
    if _is_closed(load) or makes_visits(load, session):
        return
    per_connection = (
        "Each connection sends one request, so there is nothing between requests. Set the "
        "requests per connection."
    )
    when_due = (
        f"With the load model {load.model}, requests start when they are due, so nothing can be "
        "set between them. Choose closed or sequential, or let sessions arrive."
    )
    for name, is_used in (
        ("think_time.kind", session.think_time.kind != ThinkKind.NONE),
        ("burst_length", session.burst_length > 1),
    ):
        if is_used:
            yield name, per_connection if load.counts_connections else when_due
    if load.model == Model.WINDOW:
        if session.cookies:
            yield (
                "cookies",
                "A window sends one request per connection, so no cookie is ever sent back; set "
                "the requests per connection, or choose another load model.",
            )
        elif any(step.extract for step in steps):
            yield (
                "calls_per_connection",
                "Nothing is sent after the reply that gives a value; set how many requests each "
                "connection of the window sends.",
            )


def _pipeline_fault(session: Session, load: Load, steps: tuple[Step, ...]) -> str | None:
    is_visit = makes_visits(load, session)
    if load.model == Model.WINDOW:
        return "A window has one request per connection at a time, so it cannot pipeline."
    if load.model != Model.CLOSED and not is_visit:
        return (
            f"The load model {load.model} has one request per connection at a time; choose closed, "
            "or let sessions arrive, or connections with several requests."
        )
    if any(step.method not in PIPELINED_METHODS or step.has_body for step in steps):
        return f"Only {', '.join(sorted(PIPELINED_METHODS))} without a body can be pipelined."
    if session.cookies or any(step.extract for step in steps):
        return (
            "Pipelined requests leave before earlier replies arrive; they cannot use cookies or "
            "values from replies."
        )
    if session.burst_length == 1 and is_visit:
        return "Requests are sent one after another; make the bursts longer to pipeline."
    if session.think_time.kind != ThinkKind.NONE and session.burst_length == 1:
        return "There is a pause after every request; make the bursts longer to pipeline."
    return None


def _retry_fault(session: Session, load: Load, steps: tuple[Step, ...]) -> str | None:
    if load.arrival_unit != ArrivalUnit.SESSION:
        return (
            "Only sessions that arrive end with a failed request; let sessions arrive, or turn "
            "this off."
        )
    if session.pipeline_depth > 1:
        return (
            "With pipelining nobody knows which requests were done; choose a pipeline depth of 1."
        )
    if unsafe := sorted({step.method for step in steps} - REPEATABLE_METHODS):
        return (
            f"A {unsafe[0]} may have been done although its reply failed, so it is never sent "
            f"again; only {', '.join(sorted(REPEATABLE_METHODS))} are."
        )
    return None


def _is_closed(load: Load) -> bool:
    return load.model in {Model.CLOSED, Model.SEQUENTIAL}


MAX_STREAMS = 1000


class HttpVersion(StrEnum):
    """1.0 keeps a connection only where both sides say keep-alive, as ab -k does. 2 is agreed on by
    ALPN over TLS, and taken for granted without TLS."""

    HTTP_1_1 = "1.1"
    HTTP_1_0 = "1.0"
    HTTP_2 = "2"


def version_faults(
    version: HttpVersion, streams: int, load: Load, session: Session
) -> Iterator[tuple[str, str]]:
    """(field, sentence) for what the version cannot do."""
    if version == HttpVersion.HTTP_1_0 and session.pipeline_depth > 1:
        yield "http_version", "HTTP/1.0 does not support pipelining; choose 1.1."
    if version == HttpVersion.HTTP_2:
        if session.pipeline_depth > 1:
            yield (
                "http_version",
                "HTTP/2 has no pipelining; set the streams per connection instead, or choose 1.1.",
            )
        if streams > 1 and (sentence := _why_one_stream(load, session)):
            yield "streams", sentence
    elif streams > 1:
        yield (
            "streams",
            f"HTTP/{version} has one request at a time on a connection; choose HTTP/2, or leave "
            "this empty.",
        )


def _why_one_stream(load: Load, session: Session) -> str:
    """A sentence where connections have one request at a time; else ""."""
    if load.model == Model.SEQUENTIAL:
        return "One after another is one stream; leave this empty, or choose closed."
    if makes_visits(load, session):
        if session.burst_length > 1:
            return ""
        return (
            "Requests are sent one after another, so one stream is enough; make the bursts longer, "
            "or leave this empty."
        )
    if load.counts_connections:
        return (
            "Each connection sends one request, so one stream is enough; set the requests per "
            "connection and make the bursts longer, or leave this empty."
        )
    if session.calls_per_session is not None:
        return (
            "With several streams users share a connection, so a session cannot end with its own; "
            "leave this empty, or let sessions arrive."
        )
    return ""


def redirect_faults(
    redirects: Redirects, load: Load, session: Session
) -> Iterator[tuple[str, str]]:
    """(field, sentence) for what cannot follow."""
    if redirects == Redirects.OFF:
        return
    if session.pipeline_depth > 1:
        yield (
            "redirects",
            "With pipelining other requests are on their way before a redirect comes. Leave one "
            "of the two out.",
        )
    if load.counts_connections:
        yield (
            "redirects",
            "This load counts connections, and redirects open others. Let requests or sessions "
            "arrive, or choose a closed load.",
        )
