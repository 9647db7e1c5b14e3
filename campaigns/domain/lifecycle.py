"""The states of runs and shards, and the legal transitions between them.

A database trigger enforces the same transitions, so a new one needs a migration of its function.
"""

from enum import StrEnum


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
    """The answer about the measurement: did the injectors measure what they claim? Worst last."""

    TRUSTED = "trusted"
    DOUBTFUL = "doubtful"
    NOT_USABLE = "not_usable"

    @property
    def words(self) -> str:
        return self.replace("_", " ")


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

RUN_MOVES: frozenset[tuple[RunState, RunState]] = frozenset(
    {
        (RunState.QUEUED, RunState.PREPARING),
        (RunState.QUEUED, RunState.DONE),
        (RunState.PREPARING, RunState.QUEUED),
        (RunState.PREPARING, RunState.ARMED),
        (RunState.PREPARING, RunState.STOPPING),
        (RunState.ARMED, RunState.RUNNING),
        (RunState.ARMED, RunState.STOPPING),
        (RunState.RUNNING, RunState.STOPPING),
        (RunState.RUNNING, RunState.FINALIZING),
        (RunState.STOPPING, RunState.FINALIZING),
        (RunState.FINALIZING, RunState.DONE),
    }
)

SHARD_MOVES: frozenset[tuple[ShardState, ShardState]] = frozenset(
    {
        (ShardState.OPEN, ShardState.CLAIMED),
        (ShardState.OPEN, ShardState.CANCELLED),
        (ShardState.CLAIMED, ShardState.READY),
        (ShardState.CLAIMED, ShardState.OPEN),
        (ShardState.CLAIMED, ShardState.LOST),
        (ShardState.CLAIMED, ShardState.CANCELLED),
        (ShardState.READY, ShardState.RUNNING),
        (ShardState.READY, ShardState.OPEN),
        (ShardState.READY, ShardState.LOST),
        (ShardState.READY, ShardState.CANCELLED),
        (ShardState.RUNNING, ShardState.STORING),
        (ShardState.RUNNING, ShardState.DONE),
        (ShardState.RUNNING, ShardState.LOST),
        (ShardState.STORING, ShardState.DONE),
        (ShardState.STORING, ShardState.LOST),
    }
)

# Maximum seconds in a state before the dispatcher advances the run. Running is bounded by the plan
# (planned duration + 30 s); queued counts only for the next run of a campaign.
MAX_AGE_S: dict[RunState, float] = {
    RunState.QUEUED: 3600,
    RunState.PREPARING: 60,
    RunState.ARMED: 15,
    RunState.STOPPING: 45,
    RunState.FINALIZING: 120,
}
