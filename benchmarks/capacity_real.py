"""Does the search for a capacity find a real one? Searches on loopback, each trial a run of our
injector that the product's own functions judge.

The limit of a token bucket is planted. That of a server which computes 4 ms for each request is
measured: the throughput of a closed load just before the search and just after it, their mean.
What a search said is a line of JSON in the file of results, so that parts can be measured at
different times: the table is of all lines that the file has.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.figures import GoalRow
from benchmarks.injected_run import measure
from benchmarks.judgement import judgement_of
from benchmarks.results import Line, add_line, read_lines
from benchmarks.servers import free_ports, program
from campaigns.domain.judged.capacity import (
    CapacityAnswer,
    CapacitySearch,
    Ending,
    SearchRules,
    Trial,
    TrialResult,
)
from campaigns.domain.judged.capacity_trial import trial_of
from campaigns.domain.judged.thresholds import ThresholdJudge
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.threshold import parse_rule
from campaigns.domain.plan.trial_plan import trial_plan

SEARCHES = 20
_RATES = (200, 500, 1000)
_TRIAL_S, _SATURATED_S = 1.0, 2.0
_OBJECTIVE = "p95 < 15 ms"
_HIGHEST = 4  # times the limit
_GOAL = 0.90
_PLAN = {"steps": [{"path": "/"}], "load": {"model": "open", "rate_per_s": 1, "duration_s": 1}}
_SATURATING = {"model": "closed", "connections": 8, "duration_s": _SATURATED_S}


_COMPUTING = "computes"
# What each part's server is called in the table.
PARTS = {
    **{f"bucket-{rate}": f"token bucket, {rate:,}/s" for rate in _RATES},
    _COMPUTING: "computes 4 ms for each request",
}
TITLE = (
    f"Search for a capacity, real: {_OBJECTIVE}, trials of {_TRIAL_S:g} s, injector and server on "
    "a core of their own"
)


@dataclass(frozen=True, slots=True)
class Searched:
    """A real search: its answer, the true limit and what came of each trial."""

    answer: CapacityAnswer
    limit_per_s: float
    results: Counter[TrialResult]

    def to_json(self, part: str, seed: int, took_s: float) -> Line:
        found = self.answer.capacity if self.answer.ending == Ending.FOUND else None
        return {
            "part": part,
            "seed": seed,
            "ending": self.answer.ending,
            "limit": round(self.limit_per_s, 2),
            "interval": found and [found.low, found.high],
            "width": found and found.width,
            "trials": self.results.total(),
            "untrusted": self.results[TrialResult.UNTRUSTED],
            "took_s": round(took_s, 1),
        }


def measure_all(
    parts: Sequence[str] = (), searches: int | None = None, results: Path | None = None
) -> Iterator[GoalRow]:
    """Makes so many more searches of each of PARTS, all by default, and tells of all that there
    are."""
    lines = read_lines(results)
    for part in parts or PARTS:
        first = sum(line["part"] == part for line in lines)
        lines += _searched(part, range(first, first + (searches or SEARCHES)), results)
    yield from rows_of(lines)


def rows_of(lines: Sequence[Line]) -> Iterator[GoalRow]:
    """The table of what searches said, whenever they were made."""
    for part, name in PARTS.items():
        if some := [line for line in lines if line["part"] == part]:
            yield row(name, some)


def _searched(part: str, seeds: range, results: Path | None) -> Iterator[Line]:
    (port,) = free_ports(1)
    with _server(part, port):
        for number, seed in enumerate(seeds, 1):
            began = time.monotonic()
            found = _of_part(part, port, seed)
            line = found.to_json(part, seed, time.monotonic() - began)
            add_line(line, results, f"{number} of {len(seeds)}")
            yield line


def _server(part: str, port: int):
    if part == _COMPUTING:
        return program("benchmarks.bad_target", "saturated", str(port), port=port, core=1)
    return program("benchmarks.limited_target", str(_rate(part)), str(port), port=port, core=1)


def _of_part(part: str, port: int, seed: int) -> Searched:
    if part == _COMPUTING:
        return _search_between(port, seed)
    return _search(port, _rate(part), seed)


def _rate(part: str) -> int:
    return int(part.removeprefix("bucket-"))


def _search_between(port: int, seed: int) -> Searched:
    """Of a server whose limit is measured before and after."""
    before = _throughput(port)
    found = _search(port, before, seed)
    return Searched(found.answer, sqrt(before * _throughput(port)), found.results)


def _throughput(port: int) -> float:
    seen = measure({**_PLAN, "load": _SATURATING}, port)
    return seen.total.count("ok") / seen.duration_s


def _search(port: int, limit_per_s: float, seed: int) -> Searched:
    start = limit_per_s * Random(seed).uniform(0.1, 0.6)
    search = CapacitySearch(SearchRules(start, _HIGHEST * limit_per_s, seed))
    results: Counter[TrialResult] = Counter()
    while not isinstance(action := search.next_action(), CapacityAnswer):
        trial = _trial(port, action.rate_per_s)
        results[trial.result] += 1
        search.take(trial)
    return Searched(action, limit_per_s, results)


def _trial(port: int, rate_per_s: float) -> Trial:
    plan = trial_plan(Plan.from_json(_PLAN), rate_per_s, _TRIAL_S, [parse_rule(_OBJECTIVE)])
    seen = measure(plan.to_json(), port)
    verdicts = ThresholdJudge(plan.thresholds).verdicts(seen.total, seen.duration_s)
    return trial_of(rate_per_s, Outcome.COMPLETE, "", judgement_of(seen), verdicts)


def row(name: str, lines: Sequence[Line]) -> GoalRow:
    """Contained counts among all searches, however they ended."""
    contained = sum(map(contains_it, lines))
    trials, took_s = (median(line[key] for line in lines) for key in ("trials", "took_s"))
    doubtful = sum(line["untrusted"] for line in lines)
    text = f"contained {contained} of {len(lines)}, {trials:g} trials in {took_s:.0f} s, "
    text += f"{doubtful} not counted"
    if widths := [line["width"] for line in lines if line["interval"]]:
        text += f", {median(widths):.1%} wide"
    others = Counter(line["ending"] for line in lines if line["ending"] != Ending.FOUND)
    text += "".join(f", {n} {ending}" for ending, n in others.items())
    return GoalRow(name, text, f"≥ {_GOAL:.0%}", contained >= _GOAL * len(lines))


def contains_it(line: Line) -> bool:
    if line["interval"] is None:
        return False
    low, high = line["interval"]
    return low <= line["limit"] <= high
