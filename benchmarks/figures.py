"""A line of the table: what was measured, what the goal is, whether it is met."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GoalRow:
    """`is_met` None: not measured, or there is no goal."""

    name: str
    measured: str
    goal: str = ""
    is_met: bool | None = None


def show(title: str, lines: Iterable[GoalRow]) -> None:
    """Print a section as its lines come."""
    print(f"\n{title}")
    for line in lines:
        state = {True: "met", False: "MISSED", None: ""}[line.is_met]
        print(f"  {line.name:<37} {line.measured:<56} {line.goal:<24}{state}".rstrip(), flush=True)
