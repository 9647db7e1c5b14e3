"""Why values of a sweep are not trusted: the figures that were beyond their limits there, beside
those of the last value that is trusted."""

from collections import Counter
from collections.abc import Sequence

from campaigns.domain.judged.criteria import value_words, worst_value
from campaigns.domain.plan.sweep import parameter_label, value_text, values_words
from campaigns.domain.shown.cells import text_cell
from campaigns.domain.shown.sweep_points import Doubt, SweepPoint
from campaigns.domain.shown.tables import Cell, Column, Row, Table

_NO_DOUBT = "No reason for doubt at this value."
# What the criteria of the measurement are called in a table.
FIGURES = {
    "no_seconds": "seconds delivered",
    "lost_shards": "injector processes lost",
    "own_time": "injector's own part of the times, median",
    "own_time_p99": "injector's own part of the times, high",
    "lateness_p99": "lateness of sending, high",
    "cpu": "CPU of an injector, of a core",
    "cpu_5s": "CPU of an injector in five seconds",
    "run_delay": "wait of an injector for a CPU",
    "throttled": "CPU quota used up",
    "hub_lag": "longest stall of an injector",
    "hub_lag_p50": "delay of an injector's reactions, median",
    "hub_lag_p99": "delay of an injector's reactions, high",
    "steal": "CPU given to other machines",
    "other_cpu": "CPU of other programs",
    "gc_pause": "longest garbage collection",
    "gc_share": "garbage collection, of the time",
    "open_files": "open files in use",
    "ports": "local ports in use",
    "swapped": "memory swapped in a second",
    "clock_step": "jump of the wall clock",
    "starts_apart": "starts of the injectors apart",
    "link": "network link of the injectors' machine",
    "packets_lost": "network packets lost",
    "injector_exhausted": "requests without a file or port",
    "little": "in flight against response times",
    "missing_seconds": "seconds missing",
    "in_doubt": "replies that may be of other requests",
    "sent_share": "planned requests sent",
    "dropped": "requests dropped",
    "slot_wait": "requests that waited for a connection",
}


def doubts_table(key: str, field: str, arms: Sequence[Sequence[SweepPoint]]) -> Table | None:
    """A row for each figure, the commonest first; a column for each value that is not trusted,
    after the last one that is. The worst of all arms and repeats. None where no figure says why."""
    points = [point for arm in arms for point in arm]
    found = Counter(doubt.code for point in points for doubt in point.doubts)
    if not found:
        return None
    untrusted = sorted({point.value for point in points if point.doubts})
    shown = [*_last_trusted(points, untrusted[0]), *untrusted]
    columns = tuple(Column(f"at_{value:.15g}", value_text(value)) for value in shown)
    by_value = [_at(points, value) for value in shown]
    rows = (
        Row(FIGURES[code], (*(_cell(code, each) for each in by_value), _limit(code, points)))
        for code, _ in found.most_common()
    )
    return Table(
        f"{key}-doubts",
        f"Why {values_words(untrusted)} {'is' if len(untrusted) == 1 else 'are'} not trusted",
        (*columns, Column("limit", "doubtful beyond")),
        tuple(rows),
        label_title=parameter_label(field),
        note="the worst of all repeats and arms at this value",
    )


def unfigured(arms: Sequence[tuple[str, Sequence[SweepPoint]]]) -> list[tuple[str, str]]:
    """[(value and arm, why)] of the points whose reason is no figure, such as a run that failed."""
    return [
        (", ".join(filter(None, [value_text(point.value), name])), point.why)
        for name, points in arms
        for point in points
        if point.why and not point.doubts
    ]


def _last_trusted(points: Sequence[SweepPoint], before: float) -> list[float]:
    lower = {point.value for point in points if point.value < before}
    lower -= {point.value for point in points if not point.is_trusted}
    return [max(lower)] if lower else []


def _at(points: Sequence[SweepPoint], value: float) -> list[SweepPoint]:
    return [point for point in points if point.value == value]


def _cell(code: str, points: Sequence[SweepPoint]) -> Cell:
    """Beyond its limit; else what the vitals say of it, if they do."""
    if doubts := _doubts_of_code(code, points):
        worst = worst_value(code, [doubt.value for doubt in doubts])
        return text_cell(value_words(code, worst, _least_limit(doubts)), tone="bad")
    seen = [point.vitals[code] for point in points if code in point.vitals]
    return text_cell(value_words(code, worst_value(code, seen)) if seen else "", _NO_DOUBT)


def _limit(code: str, points: Sequence[SweepPoint]) -> Cell:
    return text_cell(value_words(code, _least_limit(_doubts_of_code(code, points))))


def _least_limit(doubts: Sequence[Doubt]) -> float:
    return min(doubt.limit for doubt in doubts)


def _doubts_of_code(code: str, points: Sequence[SweepPoint]) -> list[Doubt]:
    return [doubt for point in points for doubt in point.doubts if doubt.code == code]
