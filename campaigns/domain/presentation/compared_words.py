"""A comparison in a sentence, and as a table of all its tests; and what a campaign's headline says
of its baselines.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.ratio import BOUNDED, Against, Word
from campaigns.domain.metrics.figures import TYPICAL
from campaigns.domain.presentation.compared import (
    ENVIRONMENT,
    ComparedTest,
    ReferenceState,
    as_read,
    reference_of,
)
from campaigns.domain.presentation.intervals import (
    difference_words,
    interval_words,
    least_change,
    link_words,
    size_words,
)
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.results import Sentence
from campaigns.domain.presentation.tables import (
    Cell,
    Figure,
    Format,
    Row,
    Table,
    pair_figures,
    rows_of_cells,
    text_cell,
)
from campaigns.domain.units import counted, number, percent

_PERCENT_DECIMALS = 1
_COMPARED = ("difference", "ratio", "low", "high", "increase")
_KEYS = (
    *("baseline", "candidate", *_COMPARED),
    *("could_have_shown", "runs_baseline", "runs_candidate", "word", "why"),
)
_FORMATS = (
    *(Format(), Format(), Format(signed=True), *[Format(is_ratio=True)] * 3),
    *(Format(_PERCENT_DECIMALS, signed=True), Format(_PERCENT_DECIMALS), Format(0), Format(0)),
)
_UNITS = dict.fromkeys(("baseline", "candidate", "difference"), "ms")
_UNITS |= {"increase": "% of baseline"}
_NOTE = (
    "Average response times, means over the runs that count; of tests on a busy machine the median "
    "without the injector's part. ratio = candidate / baseline, with "
    "its 95 % interval between runs; smallest detectable change = what so many runs with this "
    "spread show in 80 % of cases."
)


def comparison_sentence(
    tests: Sequence[ComparedTest], baseline: str, candidate: str, *, n_columns: int = 2
) -> Sentence:
    """What changed from the baseline to one candidate, both by name. `tests` is not empty."""
    lead = f"{candidate[:1].upper()}{candidate[1:]}: " if n_columns > 2 else ""
    if len(tests) == 1:
        return _of_one(tests[0], baseline, candidate)
    counts = {word: [each for each in tests if each.word == word] for word in (*Word, "")}
    if len(counts[""]) == len(tests):
        return [
            (lead, False),
            (f"None of {counted(len(tests), 'tests')} gets a verdict", True),
            (f" against {baseline}. {tests[0].why}", False),
        ]
    slower, faster = counts[Word.SLOWER], counts[Word.FASTER]
    if not slower and not faster:
        return [
            (lead, False),
            (f"None of {counted(len(tests), 'tests')} is slower or faster", True),
            (f" than {baseline}: {_rest_text(counts, tell_none=False)}.", False),
        ]
    sentence: Sentence = [(lead, False)]
    for word, found in ((Word.SLOWER, slower), (Word.FASTER, faster)):
        if not found:
            continue
        are = "is" if len(found) == 1 else "are"
        many = f"{len(found)} of {len(tests)} tests {are} {word}"
        if len(sentence) > 1:
            sentence.append((", ", False))
            many = f"{len(found)} {are} {word}"
        sentence += [(many, True), (f" than {baseline}, {_range(found)}", False)]
    sentence.append((_environment([*slower, *faster]), False))
    rest = _rest_text(counts, tell_none=True)
    return [*sentence, (f". {rest[:1].upper()}{rest[1:]}." if rest else ".", False)]


def _environment(tests: Sequence[ComparedTest]) -> str:
    """What speaks against the target, as far as it is not ruled out by a reference."""
    told = {each.reference for each in tests if each.or_environment}
    if told == {ReferenceState.MOVED}:
        return ", but the environment changed"
    return f", {say('unless')}" if told else ""


REFERENCE_DID = {
    ReferenceState.UNMOVED: "The reference did not move",
    ReferenceState.MOVED: "The reference moved as well",
    ReferenceState.UNSURE: "Whether the reference moved is not clear",
}


def reference_sentence(
    tests: Sequence[ComparedTest], references: Sequence[ComparedTest]
) -> Sentence:
    """What the reference did, where it matters: "The reference did not move (+0.7 %, 95 % …)."; []
    if nothing changed, both ran in turn, or there is no reference."""
    state = reference_of(references)
    if state is None or not any(each.can_be_confirmed for each in tests):
        return []
    shown = [each for each in references if each.interval]
    figures = "; ".join(
        f"{percent(each.increase, decimals=_PERCENT_DECIMALS, signed=True)}, "
        f"{interval_words(each.interval, _PERCENT_DECIMALS)}"
        for each in shown
    )
    return [(f" {REFERENCE_DID[state]}{f' ({figures})' if figures else ''}.", False)]


def _range(tests: Sequence[ComparedTest]) -> str:
    """Of tests that differ in the same direction: "by 6.7 to 9.5 % on average"."""
    found = sorted(abs(each.increase) for each in tests)
    least, most = (percent(each, decimals=_PERCENT_DECIMALS) for each in (found[0], found[-1]))
    if least == most:
        return f"by {most} {_metric(tests)}"
    return f"by {number(100 * found[0], _PERCENT_DECIMALS)} to {most} {_metric(tests)}"


def _metric(tests: Sequence[ComparedTest]) -> str:
    metrics = {each.row.metric for each in tests}
    if metrics == {"mean"}:
        return "on average"
    return "on average or at the median" if "mean" in metrics else "at the median"


def _rest_text(counts: dict, *, tell_none: bool) -> str:
    """Such as "7 show no practical difference, 1 is not faster, none is slower"."""
    n = {word: len(found) for word, found in counts.items()}
    parts, verb = [], ("are", "is")
    if n[Word.SAME]:
        shows = "shows" if n[Word.SAME] == 1 else "show"
        parts.append(f"{n[Word.SAME]} {shows} no practical difference")
    parts += [f"{n[word]} {verb[n[word] == 1]} {word}" for word in BOUNDED if n[word]]
    if n[""]:
        parts.append(f"{n['']} {verb[n[''] == 1]} without a verdict")
    if tell_none:
        parts += [f"none is {word}" for word in (Word.SLOWER, Word.FASTER) if not n[word]]
    return ", ".join(parts)


def _of_one(test: ComparedTest, baseline: str, candidate: str) -> Sentence:
    name = f"{test.label}, {candidate}"
    if test.increase is None:
        return [(f"{name}: nothing can be compared. {test.why}", False)]
    change = percent(test.increase, decimals=_PERCENT_DECIMALS, signed=True)
    if test.word:
        found = test.interval
        said, ends = difference_words(test.word, found.ratio, found.low, found.high)
        verb, preposition = link_words(test.word)
        settle = f" {test.why}" if test.word in BOUNDED and test.why else ""
        moved = _environment([test]) if test.is_changed else ""
        sure = f"{ends}, {percent(found.confidence, decimals=0)} interval"
        # Times are taken for averages.
        where = "" if test.row.metric == "mean" else " at the median"
        return [
            (f"{name} {verb} ", False),
            (f"{said} {preposition} {baseline}", True),
            (f" ({sure}{where}){moved}.{settle}", False),
        ]
    return [
        (f"{name} differs from {baseline} by {change}, ", False),
        ("without a verdict", True),
        (f". {test.why}", False),
    ]


def comparison_table(
    tests: Sequence[ComparedTest],
    references: Sequence[ComparedTest],
    names: dict[str, str],
    baseline: str,
) -> Table:
    """A row per test, then one per reference; times in ms. `names` are the candidates' by column
    letter."""
    known = [*tests, *references]
    said = [each.said for each in tests] + [str(reference_of([each])) for each in references]
    cells = rows_of_cells([_figures(each) for each in known], _FORMATS)
    return Table(
        "comparison",
        f"{', '.join(names.values())} against {baseline}",
        tuple(METRICS[key].column(unit=_UNITS.get(key)) for key in _KEYS),
        tuple(
            Row(
                each.label,
                (*of_test, text_cell(text, each.why), text_cell(each.why)),
                kind=str(each.word).replace(" ", "-"),
                note=_note(each, references, names),
                link={
                    "column": each.column,
                    "baseline_test": each.baseline_test_id,
                    "candidate_test": each.candidate_test_id,
                },
            )
            for each, of_test, text in zip(known, _with_least(cells), said, strict=True)
        ),
        label_title="test",
        note=_NOTE,
    )


def _note(test: ComparedTest, references: Sequence[ComparedTest], names: dict[str, str]) -> str:
    words = [names[test.column]] if len(names) > 1 else []
    words += [] if test.row.metric == "mean" else ["median"]
    return ", ".join([*words, "reference, not counted"] if test in references else words)


def _with_least(rows: Sequence[tuple[Cell, ...]]) -> Iterator[tuple[Cell, ...]]:
    """With the smallest changes that could be seen as they are told."""
    for *before, least, ours, theirs in rows:
        text = least_change(least.value / 100) if least.value else least.text
        yield (*before, replace(least, text=text), ours, theirs)


def _figures(test: ComparedTest) -> list[Figure]:
    row = replace(test.row, why=test.row.why if test.is_sound else test.why, weak=False)
    figures = pair_figures(row, 1e-3)
    if not test.is_sound:
        figures |= dict.fromkeys(_COMPARED, Figure(None, test.why))
    could = test.could_have_shown
    return [
        *(figures[key] for key in ("baseline", "candidate", *_COMPARED)),
        Figure(None, row.why) if could is None else Figure(100 * could),
        *(Figure(float(len(side))) for side in test.runs),
    ]


_NO_VERDICT = "without a verdict"
_METRICS = {
    "p95": "p95",
    "mean": "average",
    "p50": "median",
    TYPICAL: "median without the injector's part",
    "capacity": "capacity",
}


def against_size(against: Against) -> str:
    """12 % [9, 15], without a sign: the word tells the direction. "" without an interval."""
    if against.ratio is None:
        return ""
    return size_words(against.ratio, against.low, against.high, signed=not against.is_clear)


def against_words(against: Against) -> str:
    """12 % slower [9, 15], or the environment; without that, or with that first, where the
    reference tells."""
    size = against_size(against)
    if against.is_clear:
        value, _, interval = size.partition(" [")
        words = f"{value} {against.word} [{interval}"
        read = as_read(words, _reference_of(against))
        return f"{read}, {words}" if read == ENVIRONMENT else read
    if not against.word:
        return "no verdict"
    return f"{against.word}, {size}" if size else against.word


def _reference_of(against: Against) -> ReferenceState | None:
    return ReferenceState(against.reference) if against.reference else None


def _counted_as(against: Against) -> str:
    if against.is_clear and _reference_of(against) is ReferenceState.MOVED:
        return ENVIRONMENT
    return against.word or _NO_VERDICT


def _reference_did(tests: Sequence[tuple[str, Against]]) -> str:
    """The reference did not move. "" where nothing changed, or without a reference; of baselines
    that it tells apart, for how many tests each holds."""
    states = Counter(_reference_of(against) for _, against in tests if against.is_clear)
    told = [state for state in ReferenceState if states[state]]
    if len(told) < 2:
        return "".join(f" {REFERENCE_DID[state]}." for state in told)
    return "".join(f" {REFERENCE_DID[each]} for {counted(states[each], 'tests')}." for each in told)


def _one_against(against: Against) -> tuple[str, str]:
    """("20 % slower", " than baseline “main” (18 to 22 %, p95), unless …")."""
    metric = _METRICS[against.metric]
    if against.ratio is None or not against.word:
        return against.word or "No verdict", f" against baseline “{against.baseline}”"
    if against.metric == "capacity":
        said, ends = against.word, against_size(against)
    else:
        word = Word(against.word)
        said, ends = difference_words(word, against.ratio, against.low, against.high)
    is_changed = against.is_clear or "take" in against.word  # of a capacity
    link = " than" if is_changed else " against"
    rest = f"{link} baseline “{against.baseline}” ({ends}, {metric})"
    if against.is_clear:
        reference = _reference_of(against)
        if reference is ReferenceState.MOVED:
            rest += f", due to the {ENVIRONMENT}"
        elif reference is not ReferenceState.UNMOVED:
            rest += f", {say('unless')}"
    return said[:1].upper() + said[1:], rest


def baseline_sentence(tests: Sequence[tuple[str, Against]]) -> Sentence:
    """Of a campaign's tests, as (label, against); [] if none has a baseline."""
    if not tests:
        return []
    names = ", ".join(dict.fromkeys(f"“{against.baseline}”" for _, against in tests))
    if len(tests) == 1:
        ((_, against),) = tests
        why = (f". {against.why}" if against.why else ".") + _reference_did(tests)
        said, rest = _one_against(against)
        return [(said, True), (f"{rest}{why}", False)]
    counts = Counter(_counted_as(against) for _, against in tests)
    order = (Word.SLOWER, Word.FASTER, ENVIRONMENT, *BOUNDED, Word.SAME, _NO_VERDICT)
    told = ", ".join(f"{counts[word]} {word}" for word in order if counts[word])
    sentence = [
        (f"Against baseline {names}: ", False),
        (told, any(each.is_clear for _, each in tests)),
        (f" of {counted(len(tests), 'tests')}", False),
    ]
    slower = [each for each in tests if _counted_as(each[1]) == Word.SLOWER]
    if not slower:
        return [*sentence, ("." + _reference_did(tests), False)]
    label, worst = max(slower, key=lambda each: each[1].ratio)
    told = f"; worst: {label}, {_METRICS[worst.metric]} {against_words(worst)}."
    told += _reference_did(tests)
    return [*sentence, (told, False)]
