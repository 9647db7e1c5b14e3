"""Arms measured side by side from the command line: the answer, a table, and all as one object."""

import signal
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import gevent

from campaigns.domain.analysis.ratio import RatioInterval
from campaigns.domain.analysis.side_by_side import (
    CONFIDENCE,
    LOOK_CONFIDENCE,
    LOOKS,
    RANKS,
    ArmComparison,
    ArmFigures,
    ArmSeconds,
    compare,
    is_settled,
    next_look,
)
from campaigns.domain.lifecycle import StopReason
from campaigns.domain.metrics.injector_end import COMPLETE, ArmsEnd, ArmsRound, of_all_shards
from campaigns.domain.metrics.kept_requests import KeptRequests
from campaigns.domain.metrics.outcomes import FailureRow, row_words
from campaigns.domain.metrics.snapshot import Second, Total, total_of
from campaigns.domain.plan.turns import pace_of_all
from campaigns.domain.presentation.intervals import answer, limits_of, ratio_text
from campaigns.domain.units import DASH, counted, duration, figure, percent
from workers.injector.connection import now
from workers.injector.order import ArmsOrder
from workers.injector.rounds import Rounds
from workers.injector.summary import START_DELAY_NS, InjectorProcesses, warn
from workers.injector.tls_library import KeyLog

Show = Callable[[Second, int], None]
_GAP = "  "


class ArmsRun:
    """Takes what the injector says of all arms. `names`: their addresses."""

    def __init__(self, order: ArmsOrder, names: list[str], show: Show):
        self.order, self._names, self._show = order, names, show
        self.rounds: list[ArmsRound] = []
        self._seconds: list[list[Second]] = [[] for _ in names]
        self._requests = [KeptRequests() for _ in names]
        self._pace: dict[str, Any] = {}
        self.end: ArmsEnd | None = None

    def second(self, second: Second, arm: int) -> None:
        self._seconds[arm].append(second)
        self._show(second, arm)

    def requests(self, line: dict[str, Any], arm: int) -> None:
        self._requests[arm] = KeptRequests.together(
            [self._requests[arm], KeptRequests.from_line(line)]
        )

    def pace(self, facts: dict[str, Any]) -> None:
        self._pace = facts

    def round(self, each: ArmsRound) -> None:
        self.rounds.append(each)

    @cached_property
    def comparisons(self) -> list[ArmComparison]:
        """Of each arm with the first."""
        turns = self.order.turns
        confidence = LOOK_CONFIDENCE if turns.until_settled else CONFIDENCE
        return [
            compare(self.rounds, arm, reference, threshold=turns.threshold, confidence=confidence)
            for arm, reference in turns.compared(len(self._names))
        ]

    @property
    def has_learnt(self) -> bool:
        """Whether something is known of at least one arm that was not before."""
        return any(each.word is not None or each.failing for each in self.comparisons)

    def report(self) -> str:
        sentences = [line for each in self.comparisons for line in self._sentences(each)]
        failures = [
            f"{self._names[number]}: {row.count:,} × {row_words(row)}"
            for number, rows in enumerate(self.failures)
            for row in rows
        ]
        parts = sentences, failures, self._table(), [self._footing()]
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    def to_json(self) -> dict[str, Any]:
        """Times in ms, ratios of the arm's time to the reference's; what is not known is null."""
        return {
            "outcome": self.end.outcome,
            "settled": self.end.settled,
            "rounds": self.end.rounds,
            "measured_s": self._measured_s,
            "pace": self._pace,
            "warnings": list(self.end.warnings),
            "comparisons": [self._comparison_json(each) for each in self.comparisons],
            "arms": [self._arm_json(*each) for each in enumerate(self._figures)],
        }

    @property
    def _measured_s(self) -> float:
        return self.end.measured_us / 1e6

    @cached_property
    def _by_second(self) -> ArmSeconds:
        return ArmSeconds(self._seconds)

    @cached_property
    def _figures(self) -> list[ArmFigures]:
        return self._by_second.figures()

    @cached_property
    def failures(self) -> list[list[FailureRow]]:
        """Of each arm, one row a kind."""
        arms = []
        for of_arm in self._seconds:
            seconds = [each for each in of_arm if each.second >= 0]
            errors = total_of(seconds).errors
            rows = {kind: FailureRow(0, kind, 0, n) for kind, n in errors.items()}
            for second in seconds:
                for kind, details in second.details.items():
                    rows[kind].add_details(details)
            arms.append(list(rows.values()))
        return arms

    def _sentences(self, comparison: ArmComparison) -> list[str]:
        rates = {name: self._pace.get(name) for name in ("rate_per_s", "asked_per_s")}
        limits = limits_of(comparison, self._names, elapsed_s=self._measured_s, **rates)
        return [answer(comparison, self._names), *limits]

    def _table(self) -> list[str]:
        """A column for each arm, and one for each ratio to the reference."""
        columns = [["", *_LABELS]]
        comparison_by_arm = {comparison.arm: comparison for comparison in self.comparisons}
        for number, arm in enumerate(self._figures):
            low_us, high_us = arm.bounds_us["p50"] or (None, None)
            tails = [_between(bounds) for rank, bounds in arm.bounds_us.items() if rank != "p50"]
            counts = f"{arm.n:,}", f"{arm.failed:,}"
            without = _ms(low_us) if arm.is_timed else DASH
            columns.append([self._names[number], without, _ms(high_us), *tails, *counts])
            if comparison := comparison_by_arm.get(number):
                tails = map(
                    ratio_text, self._by_second.ratios(number, comparison.reference).values()
                )
                ratios = ratio_text(comparison.p50), ratio_text(comparison.p50_measured), *tails
                columns.append(["ratio", *ratios, "", ""])
        widths = [max(map(len, column)) for column in columns]
        return [
            _GAP.join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in zip(*columns, strict=True)
        ]

    def _footing(self) -> str:
        rounds = counted(self.end.rounds, "rounds")
        pace = self._pace
        turns = f", turns of {duration(pace['slice_s'])}" if pace else ""
        pause = f" with a pause of {pace['gap_s']:g} s" if pace and pace["gap_s"] else ""
        ratios = [each.p50 for each in self.comparisons if each.p50]
        level = min([CONFIDENCE, *(each.confidence for each in ratios)])  # few rounds allow less
        return (
            f"{rounds} in {duration(self._measured_s)}{turns}{pause}. "
            f"Ratios are to the first address, in brackets with {percent(level, decimals=0)} "
            "confidence, or 95 % where requests beyond a percentile are few."
        )

    def _comparison_json(self, comparison: ArmComparison) -> dict[str, Any]:
        tails = self._by_second.ratios(comparison.arm, comparison.reference)
        left_s = None if comparison.is_settled else comparison.seconds_left(self._measured_s)
        return {
            "arm": comparison.arm,
            "reference": comparison.reference,
            "word": comparison.word,
            "sentences": self._sentences(comparison),
            "at_least": comparison.at_least,
            "behind": list(comparison.behind),
            "failing": list(comparison.failing),
            "rounds": comparison.n_rounds,
            "seconds_left": left_s,
            "ratios": {
                "p50": _ratio_json(comparison.p50),
                "p50_measured": _ratio_json(comparison.p50_measured),
                **{name: _ratio_json(ratio) for name, ratio in tails.items()},
                "typical_mean": _ratio_json(comparison.typical_mean),
                "mean": _ratio_json(comparison.mean),
            },
            "halves": {
                name: [_ratio_json(half) for half in halves]
                for name, halves in comparison.halves.items()
            },
        }

    def _arm_json(self, number: int, arm: ArmFigures) -> dict[str, Any]:
        seconds = [each for each in self._seconds[number] if each.second >= 0]
        total: Total = total_of(seconds)
        return {
            "url": self._names[number],
            "connection_mode": self.order.arms[number].mode,
            "n": arm.n,
            "failed": arm.failed,
            "bounds_ms": {
                name: bounds and [round(us / 1000, 4) for us in bounds]
                for name, bounds in arm.bounds_us.items()
            },
            "slowest": [asdict(each) for each in self._requests[number].slowest()],
            "counters": total.counters,
            "statuses": total.statuses,
            "errors": {row.kind: [row.count, row_words(row)] for row in self.failures[number]},
        }


_LABELS = (
    "p50 without the injector's part",
    "p50 as measured",
    *(f"{name} between" for name in RANKS if name != "p50"),
    "ok",
    "failed",
)


def _ms(value_us: float | None) -> str:
    return DASH if value_us is None else f"{figure(value_us / 1000)} ms"


def _between(bounds_us: tuple[float, float] | None) -> str:
    if bounds_us is None:
        return DASH
    low_us, high_us = bounds_us
    return _ms(high_us) if low_us == high_us else f"{figure(low_us / 1000)} and {_ms(high_us)}"


def _ratio_json(ratio: RatioInterval | None) -> dict[str, float | int] | None:
    if ratio is None:
        return None
    figures = {"value": ratio.ratio, "low": ratio.low, "high": ratio.high}
    figures = {name: round(each, 5) for name, each in figures.items()}
    return {**figures, "confidence": round(ratio.confidence, 5), "n": ratio.k}


def run_arms(
    order: dict[str, Any], names: list[str], show: Show, key_log: KeyLog | None = None
) -> ArmsRun:
    """Measure all in this process; Ctrl-C ends it and keeps the results. Raises Refusal."""
    arms_order = ArmsOrder.from_json(order)
    run = ArmsRun(arms_order, names, show)
    rounds = Rounds(arms_order, run, key_log)
    warn(rounds.prepare())
    handlers = [
        gevent.signal_handler(number, rounds.stop, StopReason.USER)
        for number in (signal.SIGINT, signal.SIGTERM)
    ]
    run.end = rounds.run(now() + START_DELAY_NS)
    for handler in handlers:
        handler.cancel()
    return run


def run_arms_in_processes(
    order: dict[str, Any], names: list[str], show: Show, count: int
) -> ArmsRun:
    """Split each arm's load among `count` processes that have the same turns. Raises Refusal."""
    run = ArmsRun(ArmsOrder.from_json(order), names, show)
    _SharedTurns(run, InjectorProcesses(order, count), count).measure()
    return run


class _SharedTurns:
    """What none of the processes of a run can know: the pace of all, and when all is settled."""

    def __init__(self, run: ArmsRun, processes: InjectorProcesses, count: int):
        self._run, self._processes, self._count = run, processes, count
        self._paces: list[dict[str, Any]] = []
        self._rounds: list[ArmsRound] = []
        self._ends: list[ArmsEnd] = []
        self._final_rounds: list[ArmsRound] | None = None
        turns, load = run.order.turns, run.order.arms[0].plan.load
        self._look = LOOKS[0] if turns.until_settled and not load.stages else None

    def measure(self) -> None:
        self._processes.run(self._take)
        whole = of_all_shards(self._rounds, self._count)
        self._run.rounds = whole if self._final_rounds is None else self._final_rounds
        end = next((end for end in self._ends if end.outcome != COMPLETE), self._ends[0])
        self._run.end = replace(
            end,
            rounds=len(self._run.rounds),
            settled=self._final_rounds is not None,
            measured_us=max(end.measured_us for end in self._ends),
            warnings=list(dict.fromkeys(text for end in self._ends for text in end.warnings)),
        )

    def _take(self, message: dict[str, Any], _number: int) -> None:
        match message["type"]:
            case "second":
                self._run.second(Second.from_json(message), message["arm"])
            case "requests":
                self._run.requests(message, message["arm"])
            case "pace":
                self._paces.append(message)
                if len(self._paces) == self._count:
                    pace = pace_of_all(self._paces)
                    self._run.pace(pace)
                    self._processes.say({"begin_at_ns": now() + START_DELAY_NS, "pace": pace})
            case "round":
                self._rounds.append(ArmsRound.from_json(message))
                self._look_at_rounds()
            case "end":
                self._ends.append(ArmsEnd.from_json(message))

    def _look_at_rounds(self) -> None:
        if self._look is None or len(self._rounds) < self._look * self._count:
            return
        order, whole = self._run.order, of_all_shards(self._rounds, self._count)
        if len(whole) < self._look:
            return
        self._look = next_look(len(whole))
        if is_settled(whole, order.turns, len(order.arms)):
            self._final_rounds, self._look = whole, None
            self._processes.say({"settled": True})
