"""Server-sent events, and the cursor from which a viewer resumes.

Pure values. An event's id `e<event>.r<run>.s<second>` names the last change of state, the run and
the second that the viewer has seen; a browser sends it back as Last-Event-ID when it reconnects.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from campaigns.domain.lifecycle import RunState

KEEPALIVE = b": keepalive\n\n"
_CURSOR = re.compile(r"e(\d{1,18})\.r(\d{1,18})\.s(-?\d{1,9})")
# A viewer who missed many runs gets only the latest ones.
_MOST_RUNS = 3
# Below the first second of any warm-up.
BEFORE_ALL = -1_000_000


@dataclass(frozen=True, slots=True)
class Cursor:
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
class RunLook:
    """What a stream needs of a run."""

    id: int
    state: str


@dataclass(frozen=True, slots=True)
class Look:
    """A campaign or run at one instant, as all its viewers see it."""

    event: int  # the newest run event
    state: str
    is_over: bool
    runs: tuple[RunLook, ...]  # in order of execution
    is_held: bool = False


class News(dict[str, Any]):
    """What a stream tells of a run; all viewers who are told the same share one, encoded once."""

    @cached_property
    def text(self) -> str:
        return json.dumps(self, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Message:
    kind: str  # state, second, beat, again or end
    data: News
    cursor: Cursor | None = None

    def encode(self) -> bytes:
        """The event in the HTML standard's event stream format."""
        head = f"id: {self.cursor}\n" if self.cursor else ""
        return f"{head}event: {self.kind}\ndata: {self.data.text}\n\n".encode()


def news(
    cursor: Cursor, seen_state: str, look: Look, news_of: Callable[[int, int], News | None]
) -> Iterator[Message]:
    """The events since the cursor. `news_of(run, after_second)` is `feed.Feed.news`."""
    for run_id in _runs_to_tell(cursor, look.runs):
        after = cursor.second if run_id == cursor.run else BEFORE_ALL
        told = news_of(run_id, after)
        if told:
            cursor = replace(cursor, run=run_id, second=told["points"]["second"][-1])
            yield Message("second", told, cursor)
    if look.event > cursor.event or look.state != seen_state:
        cursor = replace(cursor, event=max(look.event, cursor.event))
        yield Message("state", News(state=look.state), cursor)


@dataclass(frozen=True, slots=True)
class StreamUpdate:
    """What a stream says next, and where its viewer then stands."""

    events: bytes
    cursor: Cursor
    state: str
    is_over: bool


def build_update(
    cursor: Cursor, seen_state: str, look: Look, news_of: Callable[[int, int], News | None]
) -> StreamUpdate:
    """The events since the cursor, and the `end` when there will be no more."""
    messages = list(news(cursor, seen_state, look, news_of))
    if messages:
        cursor = messages[-1].cursor
    if look.is_over:
        messages.append(Message("end", News(), cursor))
    return StreamUpdate(b"".join(map(Message.encode, messages)), cursor, look.state, look.is_over)


def current_run(runs: Sequence[RunLook]) -> RunLook | None:
    """The run shown live: the active one, else the last that started."""
    begun = [run for run in runs if run.state != RunState.QUEUED]
    active = [run for run in begun if run.state != RunState.DONE]
    return (active or begun or [None])[-1]


def _runs_to_tell(cursor: Cursor, runs: Sequence[RunLook]) -> list[int]:
    """The runs from the viewer's last one to the current one, in order."""
    current = current_run(runs)
    if current is None:
        return []
    begun = [run.id for run in runs if run.state != RunState.QUEUED]
    until = begun[: begun.index(current.id) + 1]
    if cursor.run not in until:
        return [current.id]
    return until[until.index(cursor.run) :][-_MOST_RUNS:]
