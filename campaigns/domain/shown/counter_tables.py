"""What perf counted on the target's machine, over the runs of a campaign: means of the tests, and
the same figures of two tests beside each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from campaigns.domain.judged.ratio import RatioInterval
from campaigns.domain.judged.repeats import MeanInterval
from campaigns.domain.shown.cells import NO_INTERVAL, Figure, column_cells, count_cell, ratio_cells
from campaigns.domain.shown.tables import Cell, Column, Row, Table

_KEY, _TITLE = "counters-perf-stat-by-the-agent", "perf stat by the agent"
_NO_RATIO = "A ratio needs two repeats of both, with values above 0."
_LOW = "Lower end of the 95 % interval over repeats."
_HIGH = "Upper end of the 95 % interval over repeats."


@dataclass(frozen=True, slots=True)
class TestCounters:
    """The means of a test's figures, by their words."""

    __test__ = False  # pytest: not a test case

    label: str
    means: Mapping[str, MeanInterval]


@dataclass(frozen=True, slots=True)
class ComparedCounter:
    """Means over the runs that are compared; the interval is of the ratio candidate / baseline."""

    words: str
    baseline: float
    candidate: float
    interval: RatioInterval | None


def counter_means_table(tests: Sequence[TestCounters]) -> Table:
    """Each figure with a row for each test that has it."""
    words = dict.fromkeys(each for test in tests for each in test.means)
    return Table(
        _KEY,
        f"{_TITLE}: means over runs",
        (
            Column("mean", "mean"),
            Column("low", "from", "", _LOW),
            Column("high", "to", "", _HIGH),
            Column("runs", "runs", "", "Runs that have this figure."),
        ),
        tuple(
            Row(f"{each}: {test.label}", mean_cells(test.means[each]))
            for each in words
            for test in tests
            if each in test.means
        ),
        label_title="figure",
    )


def compared_counters_table(
    number: int, title: str, names: tuple[str, str], rows: Sequence[ComparedCounter]
) -> Table:
    return Table(
        f"{_KEY}-{number}",
        f"{_TITLE}: {title}",
        (
            Column("baseline", names[0]),
            Column("candidate", names[1]),
            Column("ratio", "ratio", "", "Candidate / baseline: the typical one of the runs."),
            Column("low", "from", "", _LOW),
            Column("high", "to", "", _HIGH),
        ),
        tuple(Row(each.words, _compared_cells(each)) for each in rows),
        label_title="figure",
    )


def mean_cells(mean: MeanInterval) -> tuple[Cell, ...]:
    """Mean and ends with the same decimals, and how many runs there are."""
    ends = [Figure(each, NO_INTERVAL) for each in (mean.low, mean.high)]
    return (*column_cells([Figure(mean.mean), *ends]), count_cell(mean.k))


def _compared_cells(compared: ComparedCounter) -> tuple[Cell, ...]:
    means = column_cells([Figure(compared.baseline), Figure(compared.candidate)])
    found = compared.interval
    ratios = (found.ratio, found.low, found.high) if found else (None, None, None)
    return (*means, *ratio_cells([Figure(each, _NO_RATIO) for each in ratios]))
