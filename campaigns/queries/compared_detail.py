"""One compared test in detail: its figures on both sides, every run, the percentile plot."""

from collections.abc import Sequence
from dataclasses import replace

from campaigns.domain.judged.overhead import part_means_us
from campaigns.domain.judged.shift import ShiftPoint, shift_of
from campaigns.domain.measured.figures import Figures
from campaigns.domain.measured.percentile_curve import curve
from campaigns.domain.measured.snapshot import Total
from campaigns.domain.shown.cells import Figure, count_cell, figure_cell, text_cell
from campaigns.domain.shown.compared import ComparedDetail, ComparedTest
from campaigns.domain.shown.exchange_tables import exchange_figures
from campaigns.domain.shown.latency_table import figures_by_key, latency_table
from campaigns.domain.shown.metrics import METRICS
from campaigns.domain.shown.overhead_table import overhead_table, split_answer
from campaigns.domain.shown.tables import Cell, Row, Table
from campaigns.domain.units import DASH, decimals_for, said_of
from campaigns.queries.arm_pairs import MeasuredTest
from campaigns.queries.overheads import Overhead

_COUNTS = ("rate", "errors", "n")
_RATIO_DECIMALS = 3
_DOTTED = [1, 3]  # the baseline's line


def detail_of(test: ComparedTest, overhead: Overhead) -> ComparedDetail:
    """The figures behind one row of a comparison."""
    arms, names = tuple(overhead.pair), overhead.pair.names
    pooled = [arm.pooled for arm in arms]
    # All figures of the response time; the word as the comparison has it.
    table = overhead_table(
        "times", "Response times", overhead.rows, None, test.why, overhead.pair.names
    )
    mean, *others = table.rows
    said = replace(mean, cells=(*mean.cells[:-1], text_cell(test.said, test.why)))
    return ComparedDetail(
        test=test,
        times=replace(table, rows=(said, *others)),
        counts=_counts_table(names, pooled, arms[1].noun),
        repeats=tuple(
            _repeats(letter, name, arm, figures)
            for letter, name, arm, (_, figures) in zip("ab", names, arms, pooled, strict=True)
        ),
        split=split_answer(
            [
                (name, arm.scheme, part_means_us([each.total for each in arm.counted]))
                for name, arm in zip(names, arms, strict=True)
            ]
        ),
        noun=arms[1].noun,
        lines=[
            {
                "label": name,
                "scheme": arm.scheme,
                "mode": arm.test.connection_mode,
                "dash": dash,
                "curve": curve(total.timing("response")),
            }
            for name, arm, dash, (total, _) in zip(names, arms, (_DOTTED, []), pooled, strict=True)
        ],
        shift=_shift(overhead) if test.is_sound else [],
    )


def _shift(overhead: Overhead) -> list[ShiftPoint]:
    arms = tuple(overhead.pair)
    repeats = [[each.run.repeat for each in arm.counted] for arm in arms]
    timings = [[each.total.timing("response") for each in arm.counted] for arm in arms]
    return shift_of(*timings, paired=overhead.is_paired and repeats[0] == repeats[1])


def _repeats(letter: str, name: str, arm: MeasuredTest, figures: Figures | None) -> Table:
    return latency_table(
        f"runs-{letter}",
        f"Every run, {name}",
        [each.line(is_counted=each in arm.counted) for each in arm.runs],
        figures,
        is_sound=arm.is_sound,
        noun=arm.noun,
    )


def _counts_table(
    names: tuple[str, str], pooled: Sequence[tuple[Total, Figures | None]], noun: str
) -> Table:
    """Rate, errors and number of requests; of WebSocket tests also handshakes and messages."""
    known = [_figures(*each) for each in pooled]
    labels = dict.fromkeys(label for figures in known for label in figures)
    rows = [
        _row(label, *(figures.get(label, Figure(None, _ABSENT)) for figures in known), noun)
        for label in labels
    ]
    return Table(
        "counts",
        "Rate and counts",
        (
            METRICS["baseline"].column(title=names[0]),
            METRICS["candidate"].column(title=names[1]),
            METRICS["difference"].column(unit=""),
            METRICS["ratio"].column(),
        ),
        tuple(rows),
        label_title="metric",
        note="over all runs that count",
    )


_ABSENT = "This side has no such figure."


def _figures(total: Total, figures: Figures | None) -> dict[str, Figure]:
    if figures is None:
        return dict.fromkeys(_COUNTS, Figure(None, "No run of this side counts."))
    of_requests = figures_by_key(figures)
    return {key: of_requests[key] for key in _COUNTS} | exchange_figures(total, figures.duration_s)


def _row(key: str, baseline: Figure, candidate: Figure, noun: str) -> Row:
    metric = METRICS.get(key)
    words = (metric.title, metric.unit) if metric else (key,)
    label = said_of(noun, ", ".join(filter(None, words)))
    return Row(label, _cells(key, baseline, candidate), key)


def _cells(key: str, baseline: Figure, candidate: Figure) -> tuple[Cell, ...]:
    is_count = key in {"errors", "n"}
    decimals = 0 if is_count else decimals_for([baseline.value, candidate.value])
    if baseline.value is None or candidate.value is None:
        difference = ratio = Cell(None, DASH, why=baseline.why or candidate.why)
    else:
        change = Figure(candidate.value - baseline.value)
        difference = figure_cell(change, decimals, signed=True)
        ratio = _ratio_cell(baseline.value, candidate.value)
    shown = (
        count_cell(None if each.value is None else int(each.value), each.why)
        if is_count
        else figure_cell(each, decimals)
        for each in (baseline, candidate)
    )
    return (*shown, difference, ratio)


def _ratio_cell(baseline: float, candidate: float) -> Cell:
    if baseline <= 0:
        return Cell(None, DASH, why="The baseline is 0, so there is no ratio.")
    return figure_cell(Figure(candidate / baseline), _RATIO_DECIMALS)
