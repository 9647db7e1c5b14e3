"""Are the words right of real runs? Campaigns on the bundled target, by our injector, with the
product's own functions on top: which runs count, the ratio and its interval, the verdict.

The slowness that is planted is the target's own delay. Burners that come and go take the target's
core from arms that are equal, so the true ratio is 1. What a campaign said is a line of
JSON in the file of results, so that parts can be measured at different times: the table is of all
lines that the file has.
"""

import contextlib
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, cycle
from pathlib import Path
from typing import Any

from benchmarks import starvation
from benchmarks.figures import GoalRow
from benchmarks.injected_run import measure
from benchmarks.judgement import judgement_of
from benchmarks.results import Line, add_line, read_lines
from benchmarks.servers import free_ports, program
from campaigns.domain.judged.comparison import ComparisonVerdict, Word, verdict
from campaigns.domain.judged.overhead import OverheadRow, mean_row
from campaigns.domain.measured.figures import Figures
from campaigns.domain.plan.blocks import order_of_runs

_BASE_MS, _BURNT_MS = 20.0, 4.0  # the target's delay; a small one lets the burner be seen
_HALF = 10  # runs
_REPEATS = 5
_BURNERS = 3
_SPELL_S = 9.0  # about five runs, one arm of those one after the other; from half to one and a half
_QUIET_S, _BURNT_S = 1.3, 1.0  # of a run
_Arm = list[tuple[int, Figures]]  # block and figures of each run that counts
# A line is what one campaign said: its part, its seed, runs that do not count.

TITLE = (
    f"Words of real campaigns: 100 requests/s, runs of {_QUIET_S:g} s, {_REPEATS} repeats, the "
    f"bundled target with a delay of {_BASE_MS:g} ms; under a burner {_BURNT_S:g} s and "
    f"{_BURNT_MS:g} ms"
)


def measure_all(
    parts: Sequence[str] = (), campaigns: int | None = None, results: Path | None = None
) -> Iterator[GoalRow]:
    """Measures so many more campaigns of each of PARTS, all by default, and tells of all that there
    are."""
    lines = read_lines(results)
    (port,) = free_ports(1)
    with program("workers.echo", "--http-port", str(port), port=port, core=1):
        for part in parts or PARTS:
            lines += _measured(part, port, campaigns, lines, results)
    yield from rows_of(lines)


def _measured(
    part: str, port: int, campaigns: int | None, known: Sequence[Line], results: Path | None
) -> list[Line]:
    of_one, usual = PARTS[part]
    n, first = campaigns or usual, sum(line["part"] == part for line in known)
    made: list[Line] = []
    with _comes_and_goes() if part in _UNDER_A_BURNER else contextlib.nullcontext():
        for seed in range(first, first + n):
            made.append({"part": part, "seed": seed, **of_one(port, seed)})
            add_line(made[-1], results, f"{len(made)} of {n}")
    return made


def rows_of(lines: Sequence[Line]) -> Iterator[GoalRow]:
    """The table of what campaigns said, whenever they were measured."""
    rows = {"halves": _halves_rows, "planted": _planted_rows}
    for part in PARTS:
        if some := [line for line in lines if line["part"] == part]:
            yield from rows.get(part, _burnt_rows)(some)


def _halves_rows(lines: Sequence[Line]) -> Iterator[GoalRow]:
    n, n_false = (sum(line[name] for line in lines) for name in ("pairs", "false"))
    share = n_false / n if n else 1.0
    yield GoalRow(
        f"A = A, {n:,} pairs of halves",
        f"{share:.1%} called slower or faster{_left_out(lines)}",
        "≤ 5 %",
        share <= 0.05,
    )


def _planted_rows(lines: Sequence[Line]) -> Iterator[GoalRow]:
    slower, same = (sum(line[name] for line in lines) / len(lines) for name in ("slower", "same"))
    said = f"{slower:.0%} called slower{_left_out(lines)}"
    yield GoalRow(f"+10 %, {len(lines)} campaigns", said, "≥ 90 %", slower >= 0.9)
    said = f"{same:.0%} called no practical difference"
    yield GoalRow(f"+3 %, threshold 2 %, {len(lines)} campaigns", said, "≤ 5 %", same <= 0.05)


def _burnt_rows(lines: Sequence[Line]) -> Iterator[GoalRow]:
    """Of campaigns with an interval. That arms one after the other fail is what the burners are
    for, so these have a goal, too."""
    part, known = lines[0]["part"], [line["holds"] for line in lines if line["interval"]]
    held, is_in_turn = sum(known) / max(1, len(known)), part == IN_TURN
    yield GoalRow(
        f"burners, {part.replace('-', ' ')}, {len(known)} campaigns",
        f"the interval contains the truth in {held:.0%}{_left_out(lines)}",
        "≥ 90 %" if is_in_turn else "< 90 %",
        (held >= 0.9) == is_in_turn if known else None,
    )


def _left_out(lines: Sequence[Line]) -> str:
    n = sum(line["lost"] for line in lines)
    return f"; {n} runs do not count" if n else ""


def _halves(port: int, seed: int) -> Line:
    """The repeats of one campaign, divided in every way into two halves: A = A."""
    (arm,) = _campaign(port, [1.0], 2 * _HALF, seed=seed)
    known = dict(arm)
    half = len(known) // 2
    words: Counter[Word] = Counter()
    for first in combinations(sorted(known)[: 2 * half], half):
        if first[0] != min(known):
            break  # from here on the same halves come again, the other way round
        second = [block for block in sorted(known)[: 2 * half] if block not in first]
        sides = ([(block, known[block]) for block in side] for side in (first, second))
        words[_judged(*sides, is_paired=False).word] += 1
    n_false = words[Word.FASTER] + words[Word.SLOWER]
    return {"pairs": words.total(), "false": n_false, "lost": 2 * _HALF - len(known)}


def _planted(port: int, seed: int) -> Line:
    """A campaign of three arms, of which two are slower."""
    arms = _campaign(port, [1.0, 1.1, 1.03], _REPEATS, seed=seed)
    return {
        "slower": _judged(arms[0], arms[1]).word is Word.SLOWER,
        "same": _judged(arms[0], arms[2], threshold=0.02).word is Word.SAME,
        "lost": 3 * _REPEATS - sum(map(len, arms)),
    }


def _burnt(port: int, seed: int, *, is_in_turn: bool = True) -> Line:
    """Two equal arms while a burner comes and goes."""
    burnt = {"base_ms": _BURNT_MS, "duration_s": _BURNT_S, "is_in_turn": is_in_turn}
    arms = _campaign(port, [1.0, 1.0], _REPEATS, seed=seed, **burnt)
    interval = _row(*arms, is_paired=is_in_turn).interval
    return {
        "holds": bool(interval and interval.low <= 1 <= interval.high),
        "interval": interval and [round(interval.low, 3), round(interval.high, 3)],
        "lost": 2 * _REPEATS - sum(map(len, arms)),
    }


IN_TURN, ONE_AFTER_THE_OTHER = "in-turn", "one-after-the-other"
_UNDER_A_BURNER = {IN_TURN, ONE_AFTER_THE_OTHER}
# With the usual number of campaigns.
PARTS: dict[str, tuple[Callable[[int, int], Line], int]] = {
    "halves": (_halves, 1),
    "planted": (_planted, 20),
    IN_TURN: (_burnt, 40),
    ONE_AFTER_THE_OTHER: (partial(_burnt, is_in_turn=False), 10),
}


@contextlib.contextmanager
def _comes_and_goes() -> Iterator[None]:
    """Burners on the target's core for a while, none for a while, and again. Most runs that follow
    each other are slowed alike, and most arms one after the other are not."""
    is_over, lengths = threading.Event(), random.Random(1)

    def burn() -> None:
        for count in cycle([_BURNERS, 0]):
            with starvation.burners(count, core=1):
                if is_over.wait(_SPELL_S * lengths.uniform(0.5, 1.5)):
                    return

    thread = threading.Thread(target=burn)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _campaign(
    port: int,
    slowness: Sequence[float],
    repeats: int,
    *,
    seed: int,
    base_ms: float = _BASE_MS,
    duration_s: float = _QUIET_S,
    is_in_turn: bool = True,
) -> list[_Arm]:
    """An arm for each of these factors of the target's delay, with the runs that count."""
    turns = order_of_runs(len(slowness), repeats, is_random=True, seed=seed)
    if not is_in_turn:
        turns = sorted(turns, key=lambda turn: turn.test)
    arms: list[_Arm] = [[] for _ in slowness]
    for turn in turns:
        seen = measure(_plan(slowness[turn.test] * base_ms, duration_s), port)
        if judgement_of(seen).is_usable:
            arms[turn.test].append((turn.repeat, seen.figures))
    return [sorted(arm, key=lambda each: each[0]) for arm in arms]


def _plan(delay_ms: float, duration_s: float) -> dict[str, Any]:
    return {
        "steps": [{"method": "GET", "path": f"/?delay_ms={delay_ms:g}"}],
        "load": {"model": "open", "rate_per_s": 100, "duration_s": duration_s},
    }


def _judged(
    baseline: _Arm, candidate: _Arm, *, threshold: float = 0.05, is_paired: bool = True
) -> ComparisonVerdict:
    return verdict(_row(baseline, candidate, is_paired=is_paired).interval, threshold)


def _row(baseline: _Arm, candidate: _Arm, *, is_paired: bool) -> OverheadRow:
    blocks = tuple([block for block, _ in arm] for arm in (baseline, candidate))
    figures = ([each for _, each in arm] for arm in (baseline, candidate))
    return mean_row(*figures, paired=is_paired, repeats=blocks)
