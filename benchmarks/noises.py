"""What a shared machine does to a measurement, made on purpose: programs that take its cores, and
stops of the injector or of the target.

Cores that are taken for good moments need a real-time priority, which only root may give.
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
CORES = sorted(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class Burner:
    """Takes a core for `busy_s` of each `period_s` by the clock, so that several do it at once, or
    at random so much on average. `core`: where it takes it from all others."""

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
            else:
                idle_s = (self.period_s - time.monotonic()) % self.period_s if idle_s else 0.0
            time.sleep(idle_s)
            until = time.monotonic() + busy_s
            while time.monotonic() < until:
                pass


@dataclass(frozen=True, slots=True)
class Noise:
    """`group`: whose goals count. `limit_s` of a campaign. `stops`: what is stopped now and then,
    the "injector" or the "target"."""

    name: str
    group: str
    burners: tuple[Burner, ...] = ()
    stops: str = ""
    limit_s: float = 30.0

    @property
    def takes_cores(self) -> bool:
        return any(each.core is not None for each in self.burners)

    @contextlib.contextmanager
    def around(self, target: int) -> Iterator[Callable[[int], contextlib.AbstractContextManager]]:
        """It is made for the length of a `with` block. Gives what stops the target, or an injector
        (by the number of its process), meanwhile."""
        programs = [Process(target=each.burn, daemon=True) for each in self.burners]
        for each in programs:
            each.start()

        def beside(injector: int) -> contextlib.AbstractContextManager:
            victim = {"injector": injector, "target": target}.get(self.stops)
            return contextlib.nullcontext() if victim is None else _stopping(victim)

        try:
            yield beside
        finally:
            for each in programs:
                each.kill()
                each.join()


@contextlib.contextmanager
def _stopping(pid: int) -> Iterator[None]:
    over, chance = threading.Event(), random.Random(pid)

    def work() -> None:
        while not over.wait(_STOP_EVERY_S):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(chance.uniform(*_STOP_S))
                os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def may_take_cores() -> bool:
    return os.geteuid() == 0


def _taken(period_s: float) -> tuple[Burner, ...]:
    return tuple(Burner(period_s / 2, period_s, core) for core in CORES)


QUIET, BURNERS, STOPS, TAKEN = "quiet", "burners, steal", "stops", "cores taken"
NOISES = (
    Noise("nothing added", QUIET),
    Noise("1 burner", BURNERS, (Burner(1, 1),)),
    Noise("2 burners, 50 %", BURNERS, (Burner(0.05, 0.1, is_random=True),) * 2),
    Noise(
        "12 % stolen",
        BURNERS,
        tuple(Burner(_STOLEN_S, _STOLEN_S / 0.12, core, is_random=True) for core in CORES),
    ),
    Noise("injector stopped", STOPS, stops="injector"),
    Noise("target stopped", STOPS, stops="target"),
    Noise("cores taken, period 0.5 s", TAKEN, _taken(0.5), limit_s=60.0),
    Noise("cores taken, period 1 s", TAKEN, _taken(1.0), limit_s=60.0),
)
