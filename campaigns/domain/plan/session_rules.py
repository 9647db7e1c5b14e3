"""Reads a session from JSON: what each load has a use for, and what is wrong in words."""

from collections.abc import Iterator

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.load import MAX_REQUESTS, ArrivalUnit, Load, Model, planned_arrivals
from campaigns.domain.plan.session import (
    MAX_CALLS,
    MAX_CONNECTIONS_PER_SESSION,
    MAX_PIPELINE_DEPTH,
    MAX_THINK_S,
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
    session = Session(
        calls_per_connection=_count(reader, "calls_per_connection", 0, low=0),
        burst_length=_count(reader, "burst_length", 1),
        first_call_alone=reader.boolean("first_call_alone", True),
        pipeline_depth=_count(reader, "pipeline_depth", 1, high=MAX_PIPELINE_DEPTH),
        think_time=_read_think_time(reader.child("think_time")),
        calls_per_session=_count(reader, "calls_per_session", None),
        connections_per_session=_count(
            reader, "connections_per_session", None, high=MAX_CONNECTIONS_PER_SESSION
        ),
        cookies=reader.boolean("cookies", False),
        retry_on_failure=reader.boolean("retry_on_failure", False),
    )
    for field, sentence in _faults(session, load, steps):
        reader.fail(field, sentence)
    reader.refuse_unknown(*Session.__dataclass_fields__)
    return session


def _count(
    reader: JsonReader, name: str, default: int | None, low: int = 1, high: int = MAX_CALLS
) -> int | None:
    return reader.number(name, default, low=low, high=high, whole=True)


def _read_think_time(reader: JsonReader) -> ThinkTime:
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
        yield "calls_per_session", "Say how many calls each arriving session makes."
    elif session.burst_length > session.calls_per_session:
        yield "burst_length", f"A session ends after {session.calls_per_session} calls already."
    if session.burst_length == 1 and (session.connections_per_session or 1) > 1:
        yield (
            "connections_per_session",
            "Its calls come one after another, so one connection does; make the bursts longer, or "
            "leave it empty.",
        )


def _faults_of_others(session: Session, load: Load) -> Iterator[Fault]:
    if session.connections_per_session is not None:
        yield (
            "connections_per_session",
            "It means something only where whole sessions arrive; here a session has one "
            "connection. Leave it empty, and say in the load how many connections there are.",
        )
    if session.calls_per_session is not None and not _is_closed(load):
        yield (
            "calls_per_session",
            f"With the load model {load.model} requests start when they are due, and belong to no "
            "session. Choose closed or sequential, or let sessions arrive.",
        )
    per_connection = session.calls_per_connection
    if 0 < per_connection < session.burst_length:
        yield "burst_length", f"A connection ends after {per_connection} calls already."


def _faults_of_single_calls(
    session: Session, load: Load, steps: tuple[Step, ...]
) -> Iterator[Fault]:
    """What lies between calls has no meaning where each comes by itself."""
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
                "A window makes one call on each connection, so no cookie is ever sent back; say "
                "how many calls on a connection, or choose another load model.",
            )
        elif any(step.extract for step in steps):
            yield (
                "calls_per_connection",
                "Nothing is sent after the reply that gives a value: say how many calls a "
                "connection of the window makes.",
            )


def _nothing_between(load: Load) -> str:
    if load.model == Model.WINDOW or load.arrival_unit == ArrivalUnit.CONNECTION:
        return (
            "Each connection makes one call, so there is nothing between calls to arrange. Say how "
            "many calls on a connection."
        )
    return (
        f"With the load model {load.model} requests start when they are due, so there is nothing "
        "between them to arrange. Choose closed or sequential, or let sessions arrive."
    )


def _pipeline_fault(session: Session, load: Load, steps: tuple[Step, ...]) -> str | None:
    is_visit = makes_visits(load, session)
    if load.model == Model.WINDOW:
        return "A window is about opening connections: it has one call on each at a time."
    if load.model != Model.CLOSED and not is_visit:
        return (
            f"The load model {load.model} has one call on a connection at a time; choose closed, "
            "or let sessions arrive, or connections with several calls."
        )
    if any(step.method not in PIPELINED_METHODS or step.body for step in steps):
        return f"Only {', '.join(sorted(PIPELINED_METHODS))} without a body can be pipelined."
    if session.cookies or any(step.extract for step in steps):
        return "Calls leave before earlier replies are there: no cookies, no values from replies."
    if session.burst_length == 1 and is_visit:
        return "Calls come one after another: there is nothing to pipeline; make bursts longer."
    if session.think_time.kind != ThinkKind.NONE and session.burst_length == 1:
        return "With a pause after every call there is nothing to pipeline; make bursts longer."
    return None


def _retry_fault(session: Session, load: Load, steps: tuple[Step, ...]) -> str | None:
    if load.arrival_unit != ArrivalUnit.SESSION:
        return (
            "A failure ends nothing but sessions that arrive: let sessions arrive, or leave it off."
        )
    if session.pipeline_depth > 1:
        return "Of several unanswered calls nobody knows which were done; choose a depth of 1."
    if unsafe := sorted({step.method for step in steps} - REPEATABLE_METHODS):
        return (
            f"A {unsafe[0]} may have been done although its reply failed, so it is never made "
            f"again; only {', '.join(sorted(REPEATABLE_METHODS))} are."
        )
    return None


def _is_closed(load: Load) -> bool:
    return load.model in {Model.CLOSED, Model.SEQUENTIAL}
