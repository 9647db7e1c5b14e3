"""Plays rounds: starts campaigns, plants faults in them, heals, and looks what became of them."""

import threading
import time
from dataclasses import dataclass, field

from django.db import connection

from benchmarks.faults import runs
from benchmarks.faults.evidence import Arrivals, SpoolKeeper, look
from benchmarks.faults.kinds import Heal, Reach, RunPhase
from benchmarks.faults.report import Struck
from benchmarks.faults.rounds import Fault, FaultRound
from benchmarks.faults.verdicts import Seen, Truth, faults_of, hits_all_load, silent_after_s
from benchmarks.faults.world import WORDS, World
from local.base import LocalError
from workers.database import use_own_connection

# From the last healing on: a lease, a barrier of 60 s that is missed, and the run itself.
ENDS_WITHIN_S = 100.0
# A first request whose worker died is given up after 50 s.
FIRST_REQUEST_S = 60.0
COMES_TO_ITS_PHASE_S = 30.0
WELL_WITHIN_S = 90.0
# How late a second may be stored once all parts are back (docs/reliability.md): 25 s by the limits
# of connections, locks and looks, and 5 s for a crowded machine.
LATE_S = 30.0
# Two cores for everything: what counts is that load ends, not a tenth of a second.
CROWDED_S = 1.0


@dataclass(slots=True)
class Injection:
    """A fault as it was planted; `planted_ns` stays None where there was nothing to break."""

    fault: Fault
    run_id: int
    host: str = ""
    planted_ns: int | None = None
    error: str = ""

    def reaches(self, run_id: int, seen: Seen) -> bool:
        reach = self.fault.kind.reach
        if reach is Reach.RUN:
            return run_id == self.run_id
        return reach is Reach.ALL or self.host in seen.hosts or run_id == self.run_id


@dataclass(slots=True)
class Played:
    """What came of a round; `broken` in sentences."""

    struck: list[Struck] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)


class Lab:
    """Plays one round after the other in the same world."""

    def __init__(self, world: World):
        self._world = world
        self._arrivals = Arrivals(world.arrivals)
        self._spools = SpoolKeeper(world)
        world.stop_run = runs.stop
        use_own_connection()

    def play(self, round_: FaultRound) -> Played:
        """Raises LocalError where the world itself does not come back."""
        played = Played()
        self.settle()
        run_ids = runs.start(round_)
        injections = self._inject(round_, run_ids)
        played.broken += [each.error for each in injections if each.error]
        planted = [each for each in injections if each.planted_ns is not None]
        ended_ns = self._await_end(round_, run_ids, played)
        self.settle()
        seen = self._judge(round_, run_ids, planted, ended_ns, played)
        for each in planted:
            silent_s = _silences(each, planted, seen)
            played.struck.append(Struck(each.fault, not played.broken, silent_s))
        self._spools.forget()
        return played

    # --- faults ----------------------------------------------------------------------------------
    def _inject(self, round_: FaultRound, run_ids: list[int]) -> list[Injection]:
        injections = [Injection(fault, run_ids[fault.victim]) for fault in round_.faults]
        threads = [threading.Thread(target=self._inject_one, args=[each]) for each in injections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return injections

    def _inject_one(self, injection: Injection) -> None:
        use_own_connection()
        heal: Heal | None = None
        try:
            heal = self._plant(injection)
            if heal is not None:
                time.sleep(injection.fault.hold_s)
        except Exception as error:  # whatever it is, what is broken gets healed
            injection.error = f"the lab failed: {error!r}"
        finally:
            if heal is not None:
                heal()
            connection.close()

    def _plant(self, injection: Injection) -> Heal | None:
        fault = injection.fault
        until = time.monotonic() + COMES_TO_ITS_PHASE_S
        if not runs.await_phase(injection.run_id, fault.phase, fault.within, until):
            return None
        victim = runs.victim_of(injection.run_id)
        injection.host = victim.host
        planted_ns = time.monotonic_ns()
        heal = fault.kind.plant(self._world, victim)
        if heal is not None:
            injection.planted_ns = planted_ns
        return heal

    # --- afterwards ------------------------------------------------------------------------------
    def settle(self) -> None:
        """Wait until all parts are there and heard of."""
        until = time.monotonic() + WELL_WITHIN_S
        while missing := self._world.missing() or self._unheard():
            if time.monotonic() > until:
                raise LocalError(f"{missing} has not come back within {WELL_WITHIN_S:g} s.")
            time.sleep(runs.POLL_S * 4)

    def _unheard(self) -> str:
        pids = {name: self._world.supervised(name) for name in WORDS}
        unheard = runs.ask(lambda: runs.unheard(pids))
        return "PostgreSQL" if unheard is None else unheard

    def _await_end(self, round_: FaultRound, run_ids: list[int], played: Played) -> int:
        """When all runs had ended, CLOCK_MONOTONIC in ns."""
        is_slow = any(each.phase is RunPhase.FIRST for each in round_.faults)
        until = time.monotonic() + ENDS_WITHIN_S + FIRST_REQUEST_S * is_slow
        while (waiting := runs.ask(lambda: runs.unended(run_ids))) != []:
            if time.monotonic() > until:
                played.broken += waiting or ["PostgreSQL does not answer"]
                for run_id in run_ids:
                    runs.stop(run_id)
                break
            self._world.reap()
            time.sleep(runs.POLL_S * 2)
        played.broken += runs.overdue()
        return time.monotonic_ns()

    def _judge(
        self, round_: FaultRound, run_ids: list[int], planted: list[Injection], ended_ns: int,
        played: Played,
    ) -> dict[int, Seen]:  # fmt: skip
        """Look again until all is right, or what comes late has had its time."""
        until = time.monotonic() + LATE_S
        paths = [runs.path_of(round_, place) for place in range(len(run_ids))]
        while True:
            seen = {
                run_id: look(run_id, path, self._arrivals, self._spools)
                for path, run_id in zip(paths, run_ids, strict=True)
            }
            wrong = [
                f"campaign {place + 1}: {each}"
                for place, run_id in enumerate(run_ids)
                for each in faults_of(
                    seen[run_id], _truth_of(round_, place, run_id, seen[run_id], planted), ended_ns
                )
            ]
            wrong += _not_silent(planted, seen)
            is_final = self._spools.is_delivered() or time.monotonic() > until
            if (not wrong and is_final) or time.monotonic() > until:
                break
            time.sleep(0.5)
        played.broken += wrong
        played.outcomes = [f"{each.outcome}: {each.reason}".strip(": ") for each in seen.values()]
        return seen


def _truth_of(
    round_: FaultRound, place: int, run_id: int, seen: Seen, planted: list[Injection]
) -> Truth:
    reaching = [each.fault.kind for each in planted if each.reaches(run_id, seen)]
    return Truth(
        planned=runs.PLANNED,
        causes={cause for kind in reaching for cause in kind.causes},
        first_requests=2 * round_.begins_with_first_request(place),
        may_lack_arrivals=any(kind.may_lack_arrivals for kind in reaching),
    )


def _silences(injection: Injection, planted: list[Injection], seen: dict[int, Seen]) -> tuple:
    """How long the runs went on that this fault alone has ended."""
    if injection.fault.kind.ends_s is None:
        return ()
    found = []
    for run_id, each in seen.items():
        alone = [other for other in planted if other.reaches(run_id, each)] == [injection]
        is_meant = hits_all_load(
            injection.fault.kind.reach,
            injection.host,
            is_victim=run_id == injection.run_id,
            seen=each,
        )
        if alone and is_meant and each.outcome != "complete":
            found.append(silent_after_s(each.arrivals_ns, injection.planted_ns))
    return tuple(silent_s for silent_s in found if silent_s is not None)


def _not_silent(planted: list[Injection], seen: dict[int, Seen]) -> list[str]:
    return [
        f"load for {silent_s:.1f} s after {each.fault}"
        for each in planted
        for silent_s in _silences(each, planted, seen)
        if silent_s > each.fault.kind.ends_s + CROWDED_S
    ]
