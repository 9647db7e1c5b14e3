"""CPU time and network bytes of the target in a campaign: a row for each test, and one for each
comparison."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from campaigns.domain.analysis.messages import Sentence, joined, sentence
from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.analysis.ratio import MeanInterval, Word
from campaigns.domain.presentation.intervals import change_decimals, interval_words
from campaigns.domain.presentation.tables import (
    NO_INTERVAL,
    Column,
    Figure,
    Row,
    Table,
    column_cells,
    count_cell,
    ratio_cells,
    text_cell,
)
from campaigns.domain.units import percent, said_of

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
        title, explained, per = (said_of(nouns, each) for each in (self.title, self.help, self.per))
        return replace(self, title=title, help=explained, per=per)


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


@dataclass(frozen=True, slots=True)
class TestCost:
    """What a test's requests cost, in the unit of its kind. `per_s`: how much of it there is in a
    second, cores in use or kB/s."""

    __test__ = False  # pytest: not a test case

    label: str
    cost: MeanInterval
    per_s: MeanInterval


def costs_table(kind: CostKind, costs: Sequence[TestCost]) -> Table:
    """Mean over runs with its 95 % interval."""
    columns = [
        column_cells([Figure(each.cost.mean) for each in costs]),
        column_cells([Figure(each.cost.low, NO_INTERVAL) for each in costs]),
        column_cells([Figure(each.cost.high, NO_INTERVAL) for each in costs]),
        column_cells([Figure(each.per_s.mean) for each in costs]),
        [count_cell(each.cost.k) for each in costs],
    ]
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
        _rows([each.label for each in costs], columns),
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


def compared_costs_table(kind: CostKind, compared: Sequence[ComparedCost]) -> Table:
    """What the candidate costs more than the baseline."""
    differences = [each.difference for each in compared]
    intervals = [each.interval for each in differences]
    columns = [
        column_cells([Figure(each.baseline, each.text) for each in differences]),
        column_cells([Figure(each.candidate, each.text) for each in differences]),
        column_cells([Figure(each.difference) for each in differences], signed=True),
        ratio_cells([Figure(each and each.ratio, NO_INTERVAL) for each in intervals]),
        ratio_cells([Figure(each and each.low, NO_INTERVAL) for each in intervals]),
        ratio_cells([Figure(each and each.high, NO_INTERVAL) for each in intervals]),
        [text_cell(each.word, each.difference.text) for each in compared],
    ]
    baselines, candidates = ({each.names[side] for each in compared} for side in (0, 1))
    return Table(
        f"{kind.key}-compared",
        kind.compared_title,
        (
            Column("baseline", _only(baselines, "baseline"), kind.unit),
            Column("candidate", _only(candidates, "candidate"), kind.unit),
            Column("difference", "difference", kind.unit),
            Column("ratio", "ratio", "", "Candidate / baseline: the typical one of the runs."),
            Column("low", "from", "", "Lower end of the ratio's 95 % interval over repeats."),
            Column("high", "to", "", "Upper end of the ratio's 95 % interval over repeats."),
            Column("word", "verdict", "", "By the rules of faster and slower.", is_text=True),
        ),
        _rows([each.title for each in compared], columns, [each.text for each in differences]),
        label_title="comparison",
    )


def cost_sentence(kind: CostKind, compared: Sequence[ComparedCost]) -> Sentence:
    """Such as "New connection: HTTPS costs the server 21 % more CPU per request than HTTP (95 %
    interval +18 to +24 %).", or "… moves 310 % more bytes per request …"."""
    sentences = []
    for each in compared:
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


def _rows(labels: Sequence[str], columns: Sequence[list], notes: Sequence[str] = ()) -> tuple:
    return tuple(
        Row(label, tuple(column[index] for column in columns), note=notes[index] if notes else "")
        for index, label in enumerate(labels)
    )
