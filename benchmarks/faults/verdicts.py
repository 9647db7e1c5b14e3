"""Whether what was seen of a run is as it must be, whatever was broken."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from benchmarks.faults.kinds import Reach

NS = 1_000_000_000
SecondKey = tuple[int, int, int]  # shard, second, step
Arrival = tuple[int, int]  # CLOCK_MONOTONIC in ns, the target's number of the connection
_NAME = r"Injector process \d+ of \d+:"


@dataclass(frozen=True, slots=True)
class Seen:
    """An ended run. `page`: the text of its page, where it has a reason. `spooled`, `stored`:
    requests that began in each second. `epochs`: shard and lease of each spool with seconds.
    `n_shards`: of the run, on `hosts`."""

    outcome: str
    reason: str = ""
    page: str = ""
    hosts: frozenset[str] = frozenset()
    arrivals: tuple[Arrival, ...] = ()
    stored: dict[SecondKey, int] | None = None
    spooled: dict[SecondKey, int] | None = None
    epochs: tuple[tuple[int, int], ...] = ()
    n_shards: int = 1

    @property
    def arrivals_ns(self) -> list[int]:
        return [at_ns for at_ns, _ in self.arrivals]


@dataclass(frozen=True, slots=True)
class Truth:
    """`causes`: patterns of the sentences that are true of the faults that reached the run.
    `first_requests`: how many may have come before its load. `may_lack_arrivals`: the target or
    the way to it was away."""

    planned: int
    causes: Collection[str] = ()
    first_requests: int = 0
    may_lack_arrivals: bool = False


def faults_of(seen: Seen, truth: Truth, ended_ns: int) -> list[str]:
    """What is wrong, in sentences; [] if all is as it must be."""
    return [
        *_of_seconds(seen),
        *_of_load(seen, truth, ended_ns),
        *_of_reason(seen, truth.causes),
    ]


def _of_seconds(seen: Seen) -> list[str]:
    spooled, stored = seen.spooled or {}, seen.stored or {}
    lost = sorted(spooled.keys() - stored.keys())
    changed = sorted(key for key in spooled.keys() & stored.keys() if spooled[key] != stored[key])
    wrong = [f"lost: second {second} of shard {shard}" for shard, second, _ in lost]
    wrong += [f"changed: second {second} of shard {shard}" for shard, second, _ in changed]
    twice = [shard for shard, n in Counter(shard for shard, _ in seen.epochs).items() if n > 1]
    return wrong + [f"two leases of shard {shard} have measured" for shard in twice]


def _of_load(seen: Seen, truth: Truth, ended_ns: int) -> list[str]:
    n_arrived, wrong = len(seen.arrivals), []
    most = truth.planned + truth.first_requests
    if n_arrived > most:
        wrong.append(f"{n_arrived} requests arrived of {most}")
    late = [arrival for arrival in seen.arrivals if arrival[0] > ended_ns]
    if late and not (truth.may_lack_arrivals and _were_on_their_way(late)):
        late_s = (late[-1][0] - ended_ns) / NS
        wrong.append(f"load {late_s:.1f} s after the end of its run")
    if seen.outcome != "complete":
        return wrong
    n_stored = sum((seen.stored or {}).values())
    if n_stored != truth.planned:
        wrong.append(f"complete with {n_stored} requests of {truth.planned}")
    if n_arrived < n_stored and not truth.may_lack_arrivals:
        wrong.append(f"complete with {n_stored} requests, of which {n_arrived} arrived")
    return wrong


def _were_on_their_way(late: Sequence[Arrival]) -> bool:
    """What a killed injector had written is the kernel's, which brings it to a target that is back:
    no more than a request for each connection."""
    return len({connection for _, connection in late}) == len(late)


def _of_reason(seen: Seen, causes: Collection[str]) -> list[str]:
    if seen.outcome == "complete":
        return [f"complete, and yet: {seen.reason}"] if seen.reason else []
    if not seen.reason:
        return [f"{seen.outcome} without a reason"]
    wrong = [] if seen.reason in seen.page else [f"not on its page: {seen.reason}"]
    untold = re.sub("|".join((*causes, _NAME)), "", seen.reason).strip()
    return [*wrong, f"{seen.outcome} for a reason that is not true: {untold}"] if untold else wrong


def hits_all_load(reach: Reach, host: str, *, is_victim: bool, seen: Seen) -> bool:
    """Whether a fault of this reach, on this host, hits all injectors of the run. Those of another
    host go on until the lease of what was hit is over."""
    if reach is Reach.RUN:
        return is_victim and seen.n_shards == 1
    return reach is Reach.ALL or seen.hosts == {host}


def silent_after_s(arrivals_ns: Sequence[int], planted_ns: int) -> float | None:
    """How long load went on after a fault; None if nothing was sent before it."""
    if not arrivals_ns or arrivals_ns[0] > planted_ns:
        return None
    return max(0.0, (arrivals_ns[-1] - planted_ns) / NS)
