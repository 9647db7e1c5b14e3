"""Are the words right of real runs? Campaigns on the bundled target, by our injector, with the
product's own functions on top: which runs count, the ratio and its interval, the verdict.

The slowness that is planted is the target's own delay. A burner that comes and goes takes the
target's core for some seconds at a time; the arms are equal then, so the true ratio is 1.
"""

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from random import Random
from typing import Any

from benchmarks import starvation
from benchmarks.figures import GoalRow
from benchmarks.injected_run import measure
from benchmarks.judgement import judgement_of
from benchmarks.servers import free_ports, program
from campaigns.domain.judged.comparison import ComparisonVerdict, Word, verdict
from campaigns.domain.judged.overhead import OverheadRow, mean_row
from campaigns.domain.measured.figures import Figures
from campaigns.domain.plan.blocks import order_of_runs

TRIALS = 20  # campaigns of a goal; the burner has twice as many
_BASE_MS = 20.0
_HALF = 10  # runs
_REPEATS = 5
_BURNERS = 3
_PHASE_S = (1.0, 6.0)
_QUIET_S, _BURNT_S = 1.3, 1.0  # of a run
_Arm = list[tuple[int, Figures]]  # block and figures of each run that counts


def title(trials: int) -> str:
    return (
        f"Words, by {trials} real campaigns of each kind: 100 requests/s, runs of {_QUIET_S:g} s, "
        f"{_REPEATS} repeats, the bundled target with a delay of {_BASE_MS:g} ms"
    )


def measure_all(trials: int = TRIALS) -> Iterator[GoalRow]:
    (port,) = free_ports(1)
    with program("workers.echo", "--http-port", str(port), port=port, core=1):
        yield _halves(port, min(2 * trials, 2 * _HALF))
        yield from _planted(port, trials)
        yield from _burnt(port, trials)


def _halves(port: int, n_runs: int) -> GoalRow:
    """The repeats of one campaign, divided in every way into two halves: A = A."""
    (arm,) = _campaign(port, [1.0], n_runs, seed=1)
    known = dict(arm)
    half = len(known) // 2
    words: Counter[Word] = Counter()
    for first in combinations(sorted(known)[: 2 * half], half):
        if first[0] != min(known):
            break  # from here on the same halves come again, the other way round
        second = [block for block in sorted(known)[: 2 * half] if block not in first]
        sides = ([(block, known[block]) for block in side] for side in (first, second))
        words[_judged(*sides, is_paired=False).word] += 1
    n, n_false = words.total(), words[Word.FASTER] + words[Word.SLOWER]
    share = n_false / n if n else 1.0
    return GoalRow(
        f"A = A, {n:,} pairs of halves of {len(known)} runs",
        f"{share:.1%} called slower or faster{_left_out(n_runs - len(known))}",
        "≤ 5 %",
        share <= 0.05,
    )


def _planted(port: int, trials: int) -> Iterator[GoalRow]:
    """Campaigns of three arms, of which two are slower."""
    slower, same, lost = 0, 0, 0
    for seed in range(trials):
        arms = _campaign(port, [1.0, 1.1, 1.03], _REPEATS, seed=seed)
        lost += 3 * _REPEATS - sum(map(len, arms))
        slower += _judged(arms[0], arms[1]).word is Word.SLOWER
        same += _judged(arms[0], arms[2], threshold=0.02).word is Word.SAME
    yield GoalRow(
        f"+10 %, {trials} campaigns",
        f"{slower / trials:.0%} called slower{_left_out(lost)}",
        "≥ 90 %",
        slower >= 0.9 * trials,
    )
    yield GoalRow(
        f"+3 %, threshold 2 %, {trials} campaigns",
        f"{same / trials:.0%} called no practical difference",
        "≤ 5 %",
        same <= 0.05 * trials,
    )


def _burnt(port: int, trials: int) -> Iterator[GoalRow]:
    """Equal arms while a burner comes and goes: in turn, and one after the other."""
    orders = (("in turn", True, 2 * trials), ("one after the other", False, max(1, trials // 2)))
    for name, is_in_turn, n in orders:
        held, lost = 0, 0
        with _comes_and_goes():
            for seed in range(n):
                run = partial(_campaign, port, [1.0, 1.0], _REPEATS, seed=seed)
                arms = run(duration_s=_BURNT_S, is_in_turn=is_in_turn)
                lost += 2 * _REPEATS - sum(map(len, arms))
                interval = _row(*arms, is_paired=is_in_turn).interval
                held += bool(interval and interval.low <= 1 <= interval.high)
        yield GoalRow(
            f"burner, arms {name}, {n} campaigns",
            f"the interval contains the truth in {held / n:.0%}{_left_out(lost)}",
            "≥ 90 %" if is_in_turn else "",
            held >= 0.9 * n if is_in_turn else None,
        )


@contextlib.contextmanager
def _comes_and_goes() -> Iterator[None]:
    """A burner on the target's core for some seconds, then none, and again."""
    is_over, chance = threading.Event(), Random(20_261_122)

    def burn() -> None:
        while not is_over.is_set():
            with starvation.burners(_BURNERS, core=1):
                is_over.wait(chance.uniform(*_PHASE_S))
            is_over.wait(chance.uniform(*_PHASE_S))

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
    duration_s: float = _QUIET_S,
    is_in_turn: bool = True,
) -> list[_Arm]:
    """An arm for each of these factors of the target's delay, with the runs that count."""
    turns = order_of_runs(len(slowness), repeats, is_random=True, seed=seed)
    if not is_in_turn:
        turns = sorted(turns, key=lambda turn: turn.test)
    arms: list[_Arm] = [[] for _ in slowness]
    for turn in turns:
        seen = measure(_plan(slowness[turn.test] * _BASE_MS, duration_s), port)
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


def _left_out(n: int) -> str:
    return f"; {n} runs do not count" if n else ""
