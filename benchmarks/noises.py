"""What a shared machine does to a measurement, made on purpose: programs that take its cores, and
stops of the injector or of the target.

Cores that are taken from all others need a real-time priority, which only root may give.
"""

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import Process

_STOP_EVERY_S, _STOP_S = 3.0, (0.05, 0.3)
_STOLEN_S = 0.005


@dataclass(frozen=True, slots=True)
class Burner:
    """Takes a core for `busy_s` of each `period_s`: by the clock, so that several do it at once, or
    at random so much on average. `core`: the one that it takes from all others."""

    busy_s: float
    period_s: float
    core: int | None = None
    is_random: bool = False

    def burn(self) -> None:
        if self.core is not None:
            os.sched_setaffinity(0, {self.core})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        chance, parent = random.Random(os.getpid()), os.getppid()
        while os.getppid() == parent:
            busy_s, idle_s = self.busy_s, self.period_s - self.busy_s
            if self.is_random:
                busy_s, idle_s = (chance.expovariate(1 / each) for each in (busy_s, idle_s))
            elif idle_s:
                idle_s = -time.monotonic() % self.period_s
            time.sleep(idle_s)
            until = time.monotonic() + busy_s
            while time.monotonic() < until:
                pass


# Of the number of an injector's process: what disturbs it while it measures.
Beside = Callable[[int], contextlib.AbstractContextManager]


@dataclass(frozen=True, slots=True)
class Noise:
    """`group`: whose goals count. `stops`: what is stopped now and then, the "injector" or the
    "target". `limit_s`: of a campaign."""

    name: str
    group: str
    burners: tuple[Burner, ...] = ()
    stops: str = ""
    limit_s: float = 30.0

    @property
    def is_possible(self) -> bool:
        return os.geteuid() == 0 or all(each.core is None for each in self.burners)

    @contextlib.contextmanager
    def around(self, target: int) -> Iterator[Beside]:
        """For the length of a `with` block; `target` is the number of its process."""
        programs = [Process(target=each.burn, daemon=True) for each in self.burners]
        for each in programs:
            each.start()
        try:
            yield lambda injector: _stops({"injector": injector, "target": target}.get(self.stops))
        finally:
            for each in programs:
                each.kill()
                each.join()


@contextlib.contextmanager
def _stops(pid: int | None) -> Iterator[None]:
    over, chance = threading.Event(), random.Random(pid)

    def work() -> None:
        while not over.wait(_STOP_EVERY_S):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(chance.uniform(*_STOP_S))
                os.kill(pid, signal.SIGCONT)

    if pid is not None:
        threading.Thread(target=work, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _on_each_core(busy_s: float, period_s: float, *, is_random: bool = False) -> tuple[Burner, ...]:
    cores = sorted(os.sched_getaffinity(0))
    return tuple(Burner(busy_s, period_s, core, is_random) for core in cores)


QUIET, BURNERS, STOPS, TAKEN = "quiet", "burners, steal", "stops", "cores taken"
NOISES = (
    Noise("nothing added", QUIET),
    Noise("1 burner", BURNERS, (Burner(1, 1),)),
    Noise("2 burners, 50 %", BURNERS, (Burner(0.05, 0.1, is_random=True),) * 2),
    Noise("12 % stolen", BURNERS, _on_each_core(_STOLEN_S, _STOLEN_S / 0.12, is_random=True)),
    Noise("injector stopped", STOPS, stops="injector"),
    Noise("target stopped", STOPS, stops="target"),
    Noise("cores taken, period 0.5 s", TAKEN, _on_each_core(0.25, 0.5), limit_s=60.0),
    Noise("cores taken, period 1 s", TAKEN, _on_each_core(0.5, 1.0), limit_s=60.0),
)
