"""Reads a session from JSON; the rules between its fields and those of the load, in words."""

from collections.abc import Iterator

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.fields import read_scalars
from campaigns.domain.plan.load import MAX_REQUESTS, ArrivalUnit, Load, Model, planned_arrivals
from campaigns.domain.plan.session import (
    PIPELINED_METHODS,
    Session,
    ThinkKind,
    ThinkTime,
    calls_per_arrival,
    makes_visits,
)
from campaigns.domain.plan.step import REPEATABLE_METHODS, Step

Fault = tuple[str, str]  # (field, sentence)


def read_session(reader: JsonReader, load: Load, steps: tuple[Step, ...]) -> Session:
    think_time = _read_think_time(reader.child("think_time"))
    session = Session(**read_scalars(reader, Session), think_time=think_time)
    for field, sentence in _faults(session, load, steps):
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
        yield from _faults_of_sessions(session)
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


def _faults_of_sessions(session: Session) -> Iterator[Fault]:
    if session.calls_per_session is None:
        yield "calls_per_session", "Enter how many requests each arriving session sends."
    elif session.burst_length > session.calls_per_session:
        yield "burst_length", f"A session already ends after {session.calls_per_session} requests."
    if session.burst_length == 1 and (session.connections_per_session or 1) > 1:
        yield (
            "connections_per_session",
            "Requests are sent one after another, so one connection is enough; make the bursts "
            "longer, or leave it empty.",
        )


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
    for name, is_used in (
        ("think_time.kind", session.think_time.kind != ThinkKind.NONE),
        ("burst_length", session.burst_length > 1),
    ):
        if is_used:
            yield name, _nothing_between(load)
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


def _nothing_between(load: Load) -> str:
    if load.counts_connections:
        return (
            "Each connection sends one request, so there is nothing between requests. Set the "
            "requests per connection."
        )
    return (
        f"With the load model {load.model}, requests start when they are due, so nothing can be "
        "set between them. Choose closed or sequential, or let sessions arrive."
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
    if any(step.method not in PIPELINED_METHODS or step.body for step in steps):
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
