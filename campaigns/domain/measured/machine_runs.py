"""What a target's machine did in the runs of a campaign, one run after another."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MachineStep:
    """Some seconds of a run together. `number`: from 0, a missing one was not told. The CPU of the
    machine, of its kernel and of the chosen processes, and its memory, in %; the network in MB/s.
    None: not told."""

    number: int
    cpu: float | None = None
    system: float | None = None
    watched: float | None = None
    memory: float | None = None
    received: float | None = None
    sent: float | None = None
    loopback: float | None = None


@dataclass(frozen=True, slots=True)
class MachineRun:
    """A run that told something, in the order of its campaign; `test` is its test's number."""

    run: int
    test: int
    position: int
    repeat: int
    steps: tuple[MachineStep, ...]

    @property
    def n_steps(self) -> int:
        return self.steps[-1].number + 1

    def mean(self, name: str) -> float | None:
        """Over what was told of this figure."""
        told = [value for step in self.steps if (value := getattr(step, name)) is not None]
        return sum(told) / len(told) if told else None


@dataclass(frozen=True, slots=True)
class MachineRuns:
    """Of one machine; a step has `step_s` seconds."""

    source: str
    step_s: int
    runs: tuple[MachineRun, ...]

    def tells(self, name: str) -> bool:
        """Whether any run has something of this figure to draw."""
        return any(getattr(step, name) for run in self.runs for step in run.steps)
