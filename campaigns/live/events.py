"""Server-sent events, and the cursor from which a viewer resumes. Pure values.

An event's id `e<event>.r<run>.s<second>` names the last change of state, the run and the second
that the viewer has; a browser sends it back as Last-Event-ID when it reconnects.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from campaigns.domain.lifecycle import ACTIVE_STATES, RunState

_CURSOR = re.compile(r"e(\d{1,18})\.r(\d{1,18})\.s(-?\d{1,9})")
# A viewer who missed many runs gets only the latest ones.
_MOST_RUNS = 3
# Below the first second of any warm-up.
BEFORE_ALL = -1_000_000


class Cursor(NamedTuple):
    """What a viewer has received. `run` is 0 before its first second."""

    event: int = 0
    run: int = 0
    second: int = BEFORE_ALL

    def __str__(self) -> str:
        return f"e{self.event}.r{self.run}.s{self.second}"

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """None for anything that is not a cursor: the stream then starts from the beginning."""
        match = _CURSOR.fullmatch(text or "")
        return cls(*map(int, match.groups())) if match else None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A campaign or run at one instant, as all its viewers see it."""

    event: int  # the newest run event
    state: str
    is_over: bool
    runs: Sequence[tuple[int, str]]  # ids and states, in order of execution
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """What a stream sends next, and where its viewer then stands; of this version of its topic."""

    events: bytes
    cursor: Cursor
    state: str
    is_over: bool
    version: int


def encode(kind: str, data: Mapping[str, Any], cursor: Cursor | None = None) -> bytes:
    """An event in the HTML standard's event stream format; `kind`: second, state, beat, again or
    end."""
    head = f"id: {cursor}\n" if cursor else ""
    return f"{head}event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def build_update(
    cursor: Cursor,
    state: str,
    now: Snapshot,
    seconds: Callable[[int, int], Mapping[str, Any] | None],
    version: int,
) -> Update:
    """What has come since the cursor and the state that the page shows. `seconds(run, after)` as
    `seconds_after`."""
    events = b""
    for run in _runs_since(cursor, now.runs):
        after = cursor.second if run == cursor.run else BEFORE_ALL
        if data := seconds(run, after):
            cursor = cursor._replace(run=run, second=data["points"]["second"][-1])
            events += encode("second", data, cursor)
    if now.event > cursor.event or now.state != state:
        cursor = cursor._replace(event=max(now.event, cursor.event))
        events += encode("state", {"state": now.state}, cursor)
    if now.is_over:
        events += encode("end", {}, cursor)
    return Update(events, cursor, now.state, now.is_over, version)


def _runs_since(cursor: Cursor, runs: Sequence[tuple[int, str]]) -> list[int]:
    """From the viewer's run to the current one: the active one, else the last that started."""
    begun = [pk for pk, state in runs if state != RunState.QUEUED]
    active = [pk for pk, state in runs if state in ACTIVE_STATES]
    if not begun:
        return []
    until = begun[: begun.index((active or begun)[-1]) + 1]
    first = until.index(cursor.run) if cursor.run in until else -1
    return until[first:][-_MOST_RUNS:]
