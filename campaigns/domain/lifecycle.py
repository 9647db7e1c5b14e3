"""The states of runs and shards, the legal transitions between them, and why a run or an injector
stopped before its plan was done.

A database trigger enforces the same transitions, so a new one needs a migration of its function.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Self


class RunState(StrEnum):
    QUEUED = "queued"
    PREPARING = "preparing"
    ARMED = "armed"
    RUNNING = "running"
    STOPPING = "stopping"
    FINALIZING = "finalizing"
    DONE = "done"


class ShardState(StrEnum):
    OPEN = "open"
    CLAIMED = "claimed"
    READY = "ready"
    RUNNING = "running"
    STORING = "storing"  # its injector has ended; its last seconds are not stored yet
    DONE = "done"
    LOST = "lost"
    CANCELLED = "cancelled"


class Outcome(StrEnum):
    """How a run ended; separate from whether its figures can be trusted."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    STOPPED = "stopped"
    KILLED = "killed"
    FAILED = "failed"
    EXPIRED = "expired"


class Trust(StrEnum):
    """The answer about the measurement: did the injectors measure what they claim? Worst last.

    BUSY: a busy machine spoilt mean and tail; the median without its part stays good. NO_ANSWER:
    seconds, files, ports or replies were lost, so nothing may use its times.
    """

    TRUSTED = "trusted"
    BUSY = "busy"
    NO_ANSWER = "no_answer"

    @property
    def words(self) -> str:
        return self.replace("_", " ")


def best_trust(trusts: Iterable[str | None]) -> str:
    """Of several runs; "" if none was judged."""
    levels = set(trusts)
    return next((each for each in Trust if each in levels), "")


class TargetState(StrEnum):
    """The answer about the target. Of several that apply, the last one wins."""

    HEALTHY = "healthy"
    CHANGING = "changing"
    OVERLOADED = "overloaded"
    FAILING = "failing"


class ThresholdState(StrEnum):
    """Whether the target kept the plan's rules. Part of the answer about the target."""

    KEPT = "kept"
    BROKEN = "broken"


class Precision(StrEnum):
    """How much the number of response times supports: nothing, no p99, or a p99."""

    NONE = "none"
    COARSE = "coarse"
    FINE = "fine"


ACTIVE_STATES = frozenset(
    {RunState.PREPARING, RunState.ARMED, RunState.RUNNING, RunState.STOPPING, RunState.FINALIZING}
)
# Its launcher still has something to do or to store.
UNFINISHED_SHARD_STATES = frozenset({ShardState.RUNNING, ShardState.STORING})
LIVE_SHARD_STATES = frozenset({ShardState.CLAIMED, ShardState.READY}) | UNFINISHED_SHARD_STATES

_RUN_MOVES = {
    RunState.QUEUED: {RunState.PREPARING, RunState.DONE},
    RunState.PREPARING: {RunState.QUEUED, RunState.ARMED, RunState.STOPPING},
    RunState.ARMED: {RunState.RUNNING, RunState.STOPPING},
    RunState.RUNNING: {RunState.STOPPING, RunState.FINALIZING},
    RunState.STOPPING: {RunState.FINALIZING},
    RunState.FINALIZING: {RunState.DONE},
}
_SHARD_MOVES = {
    ShardState.OPEN: {ShardState.CLAIMED, ShardState.CANCELLED},
    ShardState.CLAIMED: {ShardState.READY, ShardState.OPEN, ShardState.LOST, ShardState.CANCELLED},
    ShardState.READY: {ShardState.RUNNING, ShardState.OPEN, ShardState.LOST, ShardState.CANCELLED},
    ShardState.RUNNING: {ShardState.STORING, ShardState.DONE, ShardState.LOST},
    ShardState.STORING: {ShardState.DONE, ShardState.LOST},
}
RUN_MOVES = frozenset((now, to) for now, following in _RUN_MOVES.items() for to in following)
SHARD_MOVES = frozenset((now, to) for now, following in _SHARD_MOVES.items() for to in following)

# Maximum seconds in a state before the dispatcher advances the run. Running is bounded by the plan
# (planned duration + 30 s); queued counts only for the next run of a campaign.
MAX_AGE_S: dict[RunState, float] = {
    RunState.QUEUED: 3600,
    RunState.PREPARING: 60,
    RunState.ARMED: 15,
    RunState.STOPPING: 45,
    RunState.FINALIZING: 120,
}


class StopReason(StrEnum):
    """The word that is stored and sent, with two texts for people: `event`, what happened, for the
    list of a run's events; and `sentence`, how that ended the run. The sentence of OVERRUN has
    room for `limit_s`; that of SHARD_LOST is empty, for the lost shard says why.
    """

    event: str
    sentence: str

    def __new__(cls, word: str, event: str, sentence: str) -> Self:
        member = str.__new__(cls, word)
        member._value_, member.event, member.sentence = word, event, sentence
        return member

    USER = (
        "user",
        "a user stopped the run",
        "Stopped by a user; what was measured until then is kept.",
    )
    KILL = (
        "kill",
        "a user stopped the run at once",
        "Stopped at once by a user; what was measured until then is kept.",
    )
    ADMINISTRATOR = (
        "administrator",
        "an administrator stopped the run",
        "Stopped by an administrator; what was measured until then is kept.",
    )
    OVERRUN = (
        "overrun",
        "stopped: it took longer than its plan allows",
        "Stopped after {limit_s:g} s: longer than its plan can take.",
    )
    BARRIER_TIMEOUT = (
        "barrier_timeout",
        "stopped: not all injector processes were ready in time, twice",
        "The injector processes were not all ready within 60 s, twice.",
    )
    NO_START = (
        "no_start",
        "stopped: no injector began to send",
        "No injector began to send after the start was set.",
    )
    CLOCK_SET = (
        "clock_set",
        "stopped: the clock of the database's host was set",
        "The clock of the database's host was set during the run. What was measured until then is "
        "kept. Keep that clock in sync by NTP, then measure again.",
    )
    SHARD_LOST = ("shard_lost", "stopped: an injector was lost", "")
    PARENT_GONE = (
        "parent_gone",
        "stopped: an injector lost its launcher",
        "The injector lost its launcher and stopped by itself.",
    )
    DEAD_MAN = (
        "dead_man",
        "stopped: an injector heard nothing from its launcher",
        "The injector heard nothing from its launcher for too long and stopped by itself.",
    )
    MEMORY = (
        "memory",
        "stopped: an injector reached its memory limit",
        "The injector reached its memory limit and stopped by itself. Use fewer connections for "
        "each injector, or raise BENCHSITE_INJECTOR_MEMORY_MB.",
    )


# Not for runs: reasons in the end line of an injector that was not told to stop.
BY_ITSELF = frozenset({StopReason.PARENT_GONE, StopReason.DEAD_MAN, StopReason.MEMORY})


def own_sentence(word: str) -> str:
    """Why an injector ended early without being told to, from its end line's reason; else ""."""
    return StopReason(word).sentence if word in BY_ITSELF else ""


# The reasons that docs/injector.md allows; to an injector, a rule of the site is like a user.
_TOLD = frozenset({StopReason.USER, StopReason.KILL, StopReason.OVERRUN})


def as_told_to_injectors(word: str) -> StopReason:
    """The reason for a stop that an injector is told."""
    return StopReason(word) if word in _TOLD else StopReason.USER
