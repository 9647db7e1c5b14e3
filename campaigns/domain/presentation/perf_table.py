"""The tables of what an agent's `perf stat` counted and what follows from it, in a run, over the
runs of a campaign, and of two tests beside each other; and of what `perf record` found: the
functions of a run, and what changed between two campaigns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.analysis.ratio import MeanInterval
from campaigns.domain.metrics.machine import MachineUse
from campaigns.domain.metrics.profiles import (
    EVENTS,
    USER_ONLY,
    PerfOf,
    PerfUse,
    Profile,
    ShareChange,
    faults_of,
    share_changes,
)
from campaigns.domain.presentation.tables import (
    Cell,
    Column,
    Figure,
    Format,
    Row,
    Table,
    column_cells,
    count_cell,
    empty,
    figure_cell,
    mean_cells,
    ratio_cells,
    rows_of_cells,
    text_cell,
)
from campaigns.domain.units import counted, duration, percent, said_of

PER_1000 = "per 1,000 requests"
# Events come in thousands a second, or in billions: (unit, what a count is multiplied by).
_UNITS = {
    "task-clock": ("ms", 1.0),
    **dict.fromkeys(("cycles", "instructions", "branches", "branch-misses"), ("millions", 1e-6)),
}
_WHY = {
    "not supported": "not supported on this machine",
    "not counted": "not counted: perf had no free counter",
    USER_ONLY: "not known: the agent's user may count in user space only",
}
_ELAPSED, _TASK_CLOCK = "time elapsed", "task-clock"
# (name, unit, counter above, counter below, factor). Clocks are in ms, the time elapsed in s.
_RATIOS = (
    ("CPUs utilized", "", _TASK_CLOCK, _ELAPSED, 1e-3),
    ("clock rate", "GHz", "cycles", _TASK_CLOCK, 1e-6),
    ("instructions per cycle", "", "instructions", "cycles", 1),
    ("misses per 1,000 branches", "", "branch-misses", "branches", 1e3),
    ("misses per 1,000 cache references", "", "cache-misses", "cache-references", 1e3),
    ("context switches per CPU second", "", "context-switches", _TASK_CLOCK, 1e3),
)
_NOT_TOLD = "perf did not report it"
_NO_RATE = "Known for a run that has ended and has ok requests."
_OF_WHOLE = "A figure of the whole measurement."
_COLUMNS = (
    Column("total", "measurement", "", "Per second × the seconds of the measurement."),
    Column("per_s", "per second"),
    Column("per_1000", PER_1000, "", "Per second ÷ ok requests/s × 1,000."),
)
_NOBODY = (
    "Nothing was counted: no agent of this target reported perf counters in this run. Start one "
    "with --perf on its machine."
)
_COUNTERS, _BY_AGENT = "counters-perf-stat-by-the-agent", "perf stat by the agent"
_NO_RATIO = "A ratio needs two repeats of both, with values above 0."
_LOW = "Lower end of the 95 % interval over repeats."
_HIGH = "Upper end of the 95 % interval over repeats."


def perf_table(use: MachineUse, rate_per_s: float | None, seconds: int | None = None) -> Table:
    """`use` has perf. `rate_per_s`: ok requests/s of a run that has ended; `seconds`: how many it
    measured."""
    perf = use.perf
    whole_s = seconds or perf.lasted_s
    no_others = (empty(_OF_WHOLE), empty(_OF_WHOLE))
    rows = (
        *_event_rows(perf, whole_s, rate_per_s),
        *(
            Row(label, (_cell(Figure(value)), *no_others), "figure")
            for label, value in _figures(perf, whole_s)
        ),
    )
    counted_s = round(perf.lasted_s)
    notes = []
    if perf.lasted_s and counted_s < round(use.lasted_s):
        notes.append(f"Counted for {counted_s:,} of {counted(round(use.lasted_s), 'seconds')}.")
    if any(event.endswith(":u") for event in perf.rates):
        notes.append(":u is user space alone: the agent's user may not count the kernel.")
    note = " ".join([*notes, *([perf.fault] if perf.fault else [])])
    return Table(
        f"perf-{use.source}",
        f"perf stat on {use.source}: {perf.of.words}",
        _COLUMNS,
        rows if perf.rates or perf.lacks else (),
        label_title="figure",
        note=note,
    )


def no_perf_table(of: PerfOf) -> Table:
    """Of a run that has ended, for which nobody counted what was asked for."""
    return Table("perf", f"perf stat: {of.words}", _COLUMNS, (), label_title="figure", note=_NOBODY)


def figures_of_perf(perf: PerfUse, rate_per_s: float, nouns: str = "requests") -> dict[str, float]:
    """Counts per 1,000 ok requests, or other `nouns`, and what follows from two counts, by their
    words."""
    per = said_of(nouns, PER_1000)
    per_1000 = {
        _label(f"{event} {per}", unit): 1000 * scale * per_s / rate_per_s
        for event, (per_s, _) in sorted(perf.rates.items(), key=_place)
        for unit, scale in [_unit(event)]
    }
    return per_1000 | dict(_figures(perf, 1.0))


def _event_rows(perf: PerfUse, whole_s: float, rate_per_s: float | None) -> Iterator[Row]:
    by_plain_name = {event.removesuffix(":u"): event for event in (*perf.lacks, *perf.rates)}
    for plain in perf.of.events:
        event = by_plain_name.get(plain, plain)
        if event in perf.rates:
            yield _counted_row(event, perf.rates[event], whole_s, rate_per_s)
        else:
            why = _WHY.get(perf.lacks.get(event, ""), _NOT_TOLD)
            yield Row(
                _label(event, _unit(event)[0]),
                tuple(empty(why) for _ in _COLUMNS),
                "event",
                note=why,
            )


def _counted_row(
    event: str, rate: tuple[float, float], whole_s: float, rate_per_s: float | None
) -> Row:
    per_s, counted_percent = rate
    unit, scale = _unit(event)
    scaled = per_s * scale
    per_1000 = Figure(1000 * scaled / rate_per_s if rate_per_s else None, _NO_RATE)
    total = scaled * whole_s
    # Events come whole, though their total is a rate times a time.
    whole = _cell(Figure(total)) if unit else figure_cell(Figure(round(total)), 0)
    cells = [whole, _cell(Figure(scaled)), _cell(per_1000)]
    share = percent(counted_percent / 100)
    note = f"extrapolated: perf counted it for {share} of the time" if counted_percent < 100 else ""
    return Row(_label(event, unit), tuple(cells), "event", note=note)


def _figures(perf: PerfUse, whole_s: float) -> Iterator[tuple[str, float]]:
    """What follows from two counts. Both have the same modifier, so that user cycles do not meet
    all instructions; the clocks are counted by software, whichever privilege a modifier chooses."""
    totals = {event: per_s * whole_s for event, (per_s, _) in perf.rates.items()}
    totals[_ELAPSED] = whole_s
    for suffix in sorted({"".join(event.partition(":")[1:]) for event in totals}):
        for name, unit, above, below, factor in _RATIOS:
            high, low = totals.get(above + suffix), totals.get(below + suffix)
            if low is None and below in (_ELAPSED, _TASK_CLOCK):
                low = totals.get(below)
            if high is not None and low:
                yield _label(name + suffix, unit), factor * high / low


def _cell(figure: Figure) -> Cell:
    """Each in its own decimals: the rows are of different things."""
    (cell,) = column_cells([figure], decimals=0 if figure.value == 0 else None)
    return cell


def _place(rate: tuple[str, tuple[float, float]]) -> int:
    """Of an event with its rate, among all events."""
    return EVENTS.index(rate[0].removesuffix(":u"))


def _unit(event: str) -> tuple[str, float]:
    return _UNITS.get(event.removesuffix(":u"), ("", 1.0))


def _label(name: str, unit: str) -> str:
    return f"{name}, {unit}" if unit else name


@dataclass(frozen=True, slots=True)
class TestCounters:
    """The means of a test's figures, by their words."""

    __test__ = False  # pytest: not a test case

    label: str
    means: Mapping[str, MeanInterval]


def counter_means_table(tests: Sequence[TestCounters]) -> Table:
    """Each figure with a row for each test that has it."""
    words = dict.fromkeys(each for test in tests for each in test.means)
    columns = (
        Column("mean", "mean"),
        Column("low", "from", "", _LOW),
        Column("high", "to", "", _HIGH),
        Column("runs", "runs", "", "Runs that have this figure."),
    )
    rows = tuple(
        Row(f"{each}: {test.label}", mean_cells(test.means[each]))
        for each in words
        for test in tests
        if each in test.means
    )
    return Table(_COUNTERS, f"{_BY_AGENT}: means over runs", columns, rows, "figure")


def compared_counters_table(
    number: int, title: str, names: tuple[str, str], rows: Sequence[PairResult]
) -> Table:
    return Table(
        f"{_COUNTERS}-{number}",
        f"{_BY_AGENT}: {title}",
        (
            Column("baseline", names[0]),
            Column("candidate", names[1]),
            Column("ratio", "ratio", "", "Candidate / baseline: the typical one of the runs."),
            Column("low", "from", "", _LOW),
            Column("high", "to", "", _HIGH),
        ),
        tuple(Row(each.metric, _compared_cells(each)) for each in rows),
        label_title="figure",
    )


def _compared_cells(compared: PairResult) -> tuple[Cell, ...]:
    means = column_cells([Figure(compared.baseline), Figure(compared.candidate)])
    interval = compared.interval
    ratios = (interval.ratio, interval.low, interval.high) if interval else (None, None, None)
    return (*means, *ratio_cells([Figure(each, _NO_RATIO) for each in ratios]))


_OBJECT = Column("object", "object", "", "The program, library or kernel.", is_text=True)
_PROFILE = (
    Column("share", "share", "% of CPU time", "Samples in this function / all samples."),
    Column("command", "process", is_text=True),
    _OBJECT,
    Column("samples", "samples"),
)
_MOST_CHANGES = 10
_LOW_CHANGE = "Lower end of the 95 % bounds, which hold for all functions together."
_HIGH_CHANGE = "Upper end of the 95 % bounds, which hold for all functions together."
_UNASKED = "No agent reported a profile. Start one with --perf on the target's machine."


def profile_table(source: str, profile: Profile, measured_s: float | None) -> Table:
    """A row for each function; without any, the note says why."""
    shares = column_cells(
        [Figure(100 * profile.share(each)) for each in profile.functions], decimals=1
    )
    rows = tuple(
        Row(
            each.symbol,
            (share, text_cell(each.command), text_cell(each.object), count_cell(each.samples)),
            "function",
        )
        for each, share in zip(profile.functions, shares, strict=True)
    )
    title, note = f"Profile of {source}", _profile_note(profile, measured_s)
    return Table(f"profile-{source}", title, _PROFILE, rows, "function", note)


def no_profile_table(of: PerfOf) -> Table:
    """Of a run whose campaign asked for a profile, and nobody told one."""
    return Table("profile", f"Profile of {of.words}", _PROFILE, (), "function", _UNASKED)


def _profile_note(profile: Profile, measured_s: float | None) -> str:
    if profile.fault:
        return profile.fault
    whole, lasted = counted(profile.samples, "samples"), duration(profile.lasted_s)
    of = f"; the measurement took {duration(measured_s)}" if measured_s else ""
    return f"perf record of {profile.of.words}: {whole} in {lasted}{of}."


def compared_profiles_table(
    before: Sequence[Profile], after: Sequence[Profile], names: tuple[str, str], column: str
) -> Table | None:
    """`column`: of the candidate. None where neither side was asked for a profile."""
    if not before and not after:
        return None
    sides = [any(each.samples for each in side) for side in (before, after)]
    lacking = [name for name, is_told in zip(names, sides, strict=True) if not is_told]
    changes = [] if lacking else share_changes(before, after)
    certain = [each for each in changes if each.is_certain]
    grown = [each for each in certain if each.growth > 0][:_MOST_CHANGES]
    changes_shown = grown + [each for each in certain[::-1] if each.growth < 0][:_MOST_CHANGES]
    figures = [
        [Figure(100 * x) for x in (each.before, each.after, each.growth, each.low, each.high)]
        for each in changes_shown
    ]
    formats = [Format(1)] * 2 + [Format(1, signed=True)] * 3
    rows = tuple(
        Row(each.symbol, (text_cell(each.object), *of_row), "function")
        for each, of_row in zip(changes_shown, rows_of_cells(figures, formats), strict=True)
    )
    columns = (
        _OBJECT,
        Column("baseline", names[0], "% of CPU time"),
        Column("candidate", names[1], "% of CPU time"),
        Column("difference", "difference", "points"),
        Column("low", "from", "points", _LOW_CHANGE),
        Column("high", "to", "points", _HIGH_CHANGE),
    )
    if lacking:
        faults = faults_of([*before, *after])
        note = " ".join([f"Nothing was recorded of {' and '.join(lacking)}.", *faults])
    else:
        note = _change_note(changes, changes_shown)
    title = "Functions whose share of the CPU time changed"
    return Table(f"profile-{column}", title, columns, rows, "function", note)


def _change_note(changes: Sequence[ShareChange], rows: Sequence[ShareChange]) -> str:
    """What is known of the functions that have no row."""
    others = [max(abs(each.low), abs(each.high)) for each in changes if each not in rows]
    if not others:
        return ""
    most = f"{100 * max(others):.1f} points"
    if rows:
        return f"Every other function's share changed by at most {most}."
    return f"No share changed by more than chance explains, and none by more than {most}."
