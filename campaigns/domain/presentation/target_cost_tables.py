"""What a target's machine spent. CPU time and network bytes in a campaign: a row for each test, and
one for each comparison. What an agent's `perf stat` counted and what follows from it, in a run,
over the runs of a campaign, and of two tests beside each other. And the functions that
`perf record` found in a run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from campaigns.domain.analysis.messages import Sentence, joined, sentence
from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.analysis.ratio import MeanInterval, Word
from campaigns.domain.metrics.machine import MachineUse
from campaigns.domain.metrics.profiles import (
    EVENTS,
    USER_ONLY,
    PerfOf,
    PerfUse,
    Profile,
)
from campaigns.domain.presentation.intervals import change_decimals, interval_words
from campaigns.domain.presentation.tables import (
    INTERVAL,
    NO_INTERVAL,
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
_RATIO = Column("ratio", "ratio", "", "Candidate / baseline: the typical one of the runs.")


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
        for event, (per_s, _) in sorted(
            perf.rates.items(), key=lambda rate: EVENTS.index(rate[0].removesuffix(":u"))
        )
        for unit, scale in [_unit(event)]
    }
    return per_1000 | dict(_figures(perf, 1.0))


def _event_rows(perf: PerfUse, whole_s: float, rate_per_s: float | None) -> Iterator[Row]:
    by_plain_name = {event.removesuffix(":u"): event for event in (*perf.lacks, *perf.rates)}
    for plain in perf.of.events:
        event = by_plain_name.get(plain, plain)
        unit, scale = _unit(event)
        if event not in perf.rates:
            why = _WHY.get(perf.lacks.get(event, ""), _NOT_TOLD)
            cells = tuple(empty(why) for _ in _COLUMNS)
            yield Row(_label(event, unit), cells, "event", note=why)
            continue
        per_s, counted_percent = perf.rates[event]
        amount = per_s * scale
        per_1000 = Figure(1000 * amount / rate_per_s if rate_per_s else None, _NO_RATE)
        total = amount * whole_s
        # Events come whole, though their total is a rate times a time.
        whole = _cell(Figure(total)) if unit else figure_cell(Figure(round(total)), 0)
        note = ""
        if counted_percent < 100:
            share = percent(counted_percent / 100)
            note = f"extrapolated: perf counted it for {share} of the time"
        cells = (whole, _cell(Figure(amount)), _cell(per_1000))
        yield Row(_label(event, unit), cells, "event", note=note)


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


def _unit(event: str) -> tuple[str, float]:
    return _UNITS.get(event.removesuffix(":u"), ("", 1.0))


def _label(name: str, unit: str) -> str:
    return f"{name}, {unit}" if unit else name


def counter_means_table(tests: Sequence[tuple[str, Mapping[str, MeanInterval]]]) -> Table:
    """Each figure with a row for each test that has it. `tests`: label, means by their words."""
    words = dict.fromkeys(each for _, means in tests for each in means)
    runs = Column("runs", "runs", "", "Runs that have this figure.")
    columns = (Column("mean", "mean"), *INTERVAL, runs)
    rows = tuple(
        Row(f"{each}: {label}", mean_cells(means[each]))
        for each in words
        for label, means in tests
        if each in means
    )
    return Table(_COUNTERS, f"{_BY_AGENT}: means over runs", columns, rows, "figure")


def compared_counters_table(
    number: int, title: str, names: tuple[str, str], rows: Sequence[PairResult]
) -> Table:
    return Table(
        f"{_COUNTERS}-{number}",
        f"{_BY_AGENT}: {title}",
        (Column("baseline", names[0]), Column("candidate", names[1]), _RATIO, *INTERVAL),
        tuple(
            Row(
                each.metric,
                (
                    *column_cells([Figure(each.baseline), Figure(each.candidate)]),
                    *ratio_cells(_ratio_figures(each, _NO_RATIO)),
                ),
            )
            for each in rows
        ),
        label_title="figure",
    )


def _ratio_figures(row: PairResult, why: str) -> list[Figure]:
    """The ratio with the ends of its interval, which all three need."""
    return [Figure(getattr(row.interval, name, None), why) for name in ("ratio", "low", "high")]


OBJECT = Column("object", "object", "", "The program, library or kernel.", is_text=True)
_PROFILE = (
    Column("share", "share", "% of CPU time", "Samples in this function / all samples."),
    Column("command", "process", is_text=True),
    OBJECT,
    Column("samples", "samples"),
)
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
    note = profile.fault
    if not note:
        whole, length = counted(profile.samples, "samples"), duration(profile.lasted_s)
        of = f"; the measurement took {duration(measured_s)}" if measured_s else ""
        note = f"perf record of {profile.of.words}: {whole} in {length}{of}."
    title = f"Profile of {source}"
    return Table(f"profile-{source}", title, _PROFILE, rows, "function", note)


def no_profile_table(of: PerfOf) -> Table:
    """Of a run whose campaign asked for a profile, and nobody told one."""
    return Table("profile", f"Profile of {of.words}", _PROFILE, (), "function", _UNASKED)


# What is counted: the chosen processes where every run has these, else the machine.
WATCHED = "CPU time of the chosen processes, user and system."
MACHINE = (
    "CPU time of the whole machine: user, system and interrupts. It includes what the machine uses "
    "without any load, other programs, the agent or exporter, and benchsite where both are on one "
    "machine: at the same rate a difference is free of these, and a ratio is nearer to 1. To leave "
    "them out, have the agent watch the server's processes."
)


NETWORK = (
    "Received and sent by all interfaces of the target's machine, the loopback counted once, with "
    "the headers of Ethernet, IP and TCP. It includes what other programs and the agent send."
)


@dataclass(frozen=True, slots=True)
class CostKind:
    """What is counted, as tables and sentences say it. `per_s`: how much of it a second has."""

    key: str
    title: str
    compared_title: str
    unit: str
    help: str
    per_s: Column
    verb: str
    noun: str
    fewer: str
    per: str = "per request"

    def said_of(self, nouns: str) -> "CostKind":
        """In the words of what the campaign's tests count."""
        title, help_text, per = (said_of(nouns, each) for each in (self.title, self.help, self.per))
        return replace(self, title=title, help=help_text, per=per)


CPU = CostKind(
    "target-cpu",
    "CPU seconds per 1,000 requests",
    "What it costs the server",
    "s per 1,000",
    "CPU seconds of the target per 1,000 ok requests.",
    Column("cores", "cores in use", "", "CPU seconds per second, mean over runs."),
    "costs the server",
    "CPU",
    "less",
)
BYTES = CostKind(
    "target-bytes",
    "Network bytes per request",
    "What it moves over the network",
    "B",
    "Bytes received and sent by the target's machine per ok request.",
    Column("rate", "per second", "kB/s", "Mean over runs."),
    "moves",
    "bytes",
    "fewer",
)


def costs_table(kind: CostKind, costs: Sequence[tuple[str, MeanInterval, MeanInterval]]) -> Table:
    """Mean over runs with its 95 % interval. `costs`: label, what the test's requests cost, in the
    unit of the kind, and how much of it there is in a second, cores in use or kB/s."""
    figures = [
        [
            Figure(cost.mean),
            *(Figure(end, NO_INTERVAL) for end in (cost.low, cost.high)),
            Figure(per_s.mean),
        ]
        for _, cost, per_s in costs
    ]
    cells = rows_of_cells(figures, [Format()] * 4)
    return Table(
        kind.key,
        kind.title,
        (
            Column("cost", "mean", kind.unit, kind.help),
            Column("cost_low", "from", "", "Lower end of the mean's 95 % interval over repeats."),
            Column("cost_high", "to", "", "Upper end of the mean's 95 % interval over repeats."),
            kind.per_s,
            Column("runs", "runs", "", "Runs for which an agent or an exporter reported it."),
        ),
        tuple(
            Row(label, (*of_test, count_cell(cost.k)))
            for (label, cost, _), of_test in zip(costs, cells, strict=True)
        ),
        label_title="test",
    )


_COST_WORDS = {
    Word.SLOWER: "costs more",
    Word.FASTER: "costs less",
    Word.NOT_SLOWER: "does not cost more",
    Word.NOT_FASTER: "does not cost less",
}


@dataclass(frozen=True, slots=True)
class ComparedCost:
    title: str
    names: tuple[str, str]
    difference: PairResult

    @property
    def word(self) -> str:
        """ "" with fewer than three repeats of both, or where nothing may be said."""
        return _COST_WORDS.get(self.difference.word, str(self.difference.word or ""))


def compared_costs_table(kind: CostKind, costs: Sequence[ComparedCost]) -> Table:
    """What the candidate costs more than the baseline."""
    figures = [
        [
            *(Figure(side, row.text) for side in (row.baseline, row.candidate)),
            Figure(row.difference),
            *_ratio_figures(row, NO_INTERVAL),
        ]
        for row in (each.difference for each in costs)
    ]
    formats = [Format(), Format(), Format(signed=True), *[Format(is_ratio=True)] * 3]
    cells = rows_of_cells(figures, formats)
    baselines, candidates = ({each.names[side] for each in costs} for side in (0, 1))
    return Table(
        f"{kind.key}-compared",
        kind.compared_title,
        (
            Column("baseline", _only(baselines, "baseline"), kind.unit),
            Column("candidate", _only(candidates, "candidate"), kind.unit),
            Column("difference", "difference", kind.unit),
            _RATIO,
            *INTERVAL,
            Column("word", "verdict", "", "By the rules of faster and slower.", is_text=True),
        ),
        tuple(
            Row(
                each.title,
                (*of_pair, text_cell(each.word, each.difference.text)),
                note=each.difference.text,
            )
            for each, of_pair in zip(costs, cells, strict=True)
        ),
        label_title="comparison",
    )


def cost_sentence(kind: CostKind, costs: Sequence[ComparedCost]) -> Sentence:
    """Such as "New connection: HTTPS costs the server 21 % more CPU per request than HTTP (95 %
    interval +18 to +24 %).", or "… moves 310 % more bytes per request …"."""
    sentences = []
    for each in costs:
        baseline, candidate = each.names
        interval, word = each.difference.interval, each.word
        if word.startswith("costs"):
            decimals = change_decimals(interval.low, interval.high)
            share = percent(abs(interval.ratio - 1), decimals=decimals)
            than = kind.fewer if word == "costs less" else "more"
            more = f"{share} {than} {kind.noun} {kind.per}"
            sentences.append(
                sentence(
                    "cost_differs",
                    where=each.title,
                    first=candidate,
                    costs=kind.verb,
                    more=more,
                    second=baseline,
                    interval=interval_words(interval),
                )
            )
        elif word:
            sure = f" ({interval_words(interval)})" if interval else ""
            sentences.append(sentence("cost_alike", where=each.title, word=word, sure=sure))
    return joined(sentences)


def _only(names: set[str], otherwise: str) -> str:
    return next(iter(names)) if len(names) == 1 else otherwise
