"""A line of the table: what was measured, what the goal is, whether it is met."""

import os
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GoalRow:
    """`is_met` None: not measured, or there is no goal."""

    name: str
    measured: str
    goal: str = ""
    is_met: bool | None = None


def show(title: str, lines: Iterable[GoalRow]) -> bool:
    """Print a section as its lines come. Returns whether all came: what kept the rest from being
    measured is printed as well, and does not keep other sections from it."""
    print(f"\n{title}")
    try:
        for line in lines:
            _print(line)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        _print(GoalRow("the rest", f"not measured: {error or type(error).__name__}"))
        return False
    return True


def load_average() -> str:
    return " ".join(f"{each:.1f}" for each in os.getloadavg())


def _print(line: GoalRow) -> None:
    state = {True: "met", False: "MISSED", None: ""}[line.is_met]
    print(f"  {line.name:<37} {line.measured:<56} {line.goal:<24}{state}".rstrip(), flush=True)
