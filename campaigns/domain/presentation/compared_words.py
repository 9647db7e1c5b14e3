"""A comparison in a sentence, and as a table of all its tests; and what a campaign's headline says
of its baselines.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from campaigns.domain.analysis.messages import Sentence, say
from campaigns.domain.analysis.ratio import BOUNDED, Against, Word
from campaigns.domain.metrics.figures import TYPICAL
from campaigns.domain.presentation.compared import (
    ENVIRONMENT,
    ComparedTest,
    ReferenceState,
    as_read,
    reference_of,
    worst_first,
)
from campaigns.domain.presentation.intervals import (
    difference_words,
    ends_words,
    interval_words,
    least_change,
    link_words,
    size_words,
)
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.tables import (
    Figure,
    Format,
    Row,
    Table,
    pair_figures,
    rows_of_cells,
    text_cell,
)
from campaigns.domain.units import (
    column_decimals,
    counted,
    decimals_for,
    decimals_to_see,
    number,
    percent,
    with_unit,
)

_PERCENT_DECIMALS = 1
_COMPARED = ("difference", "ratio", "low", "high", "increase")
_KEYS = (
    *("baseline", "candidate", *_COMPARED),
    *("could_have_shown", "runs_baseline", "runs_candidate", "word", "why"),
)
# Beside those of times and of differences.
_FORMATS = (
    *[Format(is_ratio=True)] * 3,
    *(Format(_PERCENT_DECIMALS, signed=True), Format(_PERCENT_DECIMALS), Format(0), Format(0)),
)
_UNITS = dict.fromkeys(("baseline", "candidate", "difference"), "ms")
_UNITS |= {"increase": "% of baseline"}
_NOTE = (
    "Average response times, typical (geometric means) of the runs that count; of tests on a busy "
    "machine the median without the injector's part. ratio = candidate / baseline, with "
    "its 95 % interval between runs; smallest detectable change = what so many runs with this "
    "spread show in 80 % of cases."
)


def comparison_sentence(tests: Sequence[ComparedTest], baseline: str, candidate: str) -> Sentence:
    """What changed from the baseline to one candidate, both by name: the test that matters most,
    and a count of the others. `tests` is not empty."""
    if len(tests) == 1:
        return _of_one(tests[0], baseline, candidate)
    name, n_tests = _capital(candidate), counted(len(tests), "tests")
    rest = worst_first(tests)
    is_faster = rest[0].word != Word.SLOWER and rest[-1].word == Word.FASTER
    first = rest.pop(-1 if is_faster else 0)
    if not any(each.word for each in tests):
        words = f" against {baseline} in {n_tests}. {first.why}"
        return [(f"{name} gets ", False), ("no verdict", True), (words, False)]
    if first.is_changed:
        change = _change(first, baseline, name, f" on {first.label}")
        return [*change, (_environment([first]), False), *_rest(rest)]
    if all(each.word == Word.SAME for each in tests):
        low = min(each.interval.low for each in tests)
        high = max(each.interval.high for each in tests)
        within = f" from {baseline} in {n_tests} ({ends_words(1.0, low, high)})."
        return [(f"{name} shows ", False), (str(Word.SAME), True), (within, False)]
    words = f" than {baseline} in {n_tests}: {_counts(tests)}."
    return [(f"{name} is ", False), ("not clearly slower or faster", True), (words, False)]


def _capital(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def _change(test: ComparedTest, baseline: str, name: str, where: str) -> Sentence:
    """Campaign #2 is 1.2 ms slower than campaign #1 (10.0 → 11.2 ms; 11 to 13 %)"""
    interval = test.interval
    before, after = (us / 1000 for us in test.times_us)
    decimals = difference_decimals(test, decimals_for([before, after]))
    size = with_unit(number(abs(after - before), decimals), "ms")
    times = f"{number(before, decimals)} → {with_unit(number(after, decimals), 'ms')}"
    _, ends = difference_words(Word(test.word), interval.ratio, interval.low, interval.high)
    return [
        (f"{name} is ", False),
        (f"{size} {test.word} than {baseline}", True),
        (f"{where} ({times}{_metric(test)}; {ends})", False),
    ]


def difference_decimals(test: ComparedTest, decimals: int) -> int:
    """`decimals`, or as many more as the difference of a changed test and its ends need."""
    ends = test.difference_ends_ms if test.is_changed else None
    return decimals_to_see(min(map(abs, ends)), decimals) if ends else decimals


def _rest(tests: Sequence[ComparedTest]) -> Sentence:
    """Of the tests that are not named: "; the other 5 tests show no practical difference."."""
    one = len(tests) == 1
    if all(each.word == Word.SAME for each in tests):
        others = "the other test shows " if one else f"the other {len(tests)} tests show "
        return [(f"; {others}", False), (str(Word.SAME), True), (".", False)]
    others = "the other test" if one else f"the other {len(tests)}"
    return [(f"; of {others}, {_counts(tests)}.", False)]


def _environment(tests: Sequence[ComparedTest]) -> str:
    """What speaks against the target, as far as it is not ruled out by a reference."""
    states = {each.reference for each in tests if each.or_environment}
    if states == {ReferenceState.MOVED}:
        return ", but the environment changed"
    return f", {say('unless')}" if states else ""


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
    figures = "; ".join(
        f"{percent(each.increase, decimals=_PERCENT_DECIMALS, signed=True)}, "
        f"{interval_words(each.interval, _PERCENT_DECIMALS)}"
        for each in references
        if each.interval
    )
    return [(f" {REFERENCE_DID[state]}{f' ({figures})' if figures else ''}.", False)]


def _metric(test: ComparedTest) -> str:
    """Nothing of averages, as which times are taken."""
    return "" if test.row.metric == "mean" else " at the median"


def _counts(tests: Sequence[ComparedTest]) -> str:
    """1 is faster, 7 show no practical difference, 1 is without a verdict"""
    parts = []
    for word in (Word.SLOWER, Word.FASTER, Word.SAME, *BOUNDED, ""):
        n = sum(each.word == word for each in tests)
        verb = ("shows" if n == 1 else "show") if word == Word.SAME else "is" if n == 1 else "are"
        parts += [f"{n} {verb} {word or _NO_VERDICT}"] if n else []
    return ", ".join(parts)


def _of_one(test: ComparedTest, baseline: str, candidate: str) -> Sentence:
    name, where = _capital(candidate), f" on {test.label}"
    if test.increase is None:
        return [(f"{name} cannot be compared with {baseline}{where}. {test.why}", False)]
    if not test.word:
        change = percent(test.increase, decimals=_PERCENT_DECIMALS, signed=True)
        words = f"{name} differs from {baseline} by {change}{where}, "
        return [(words, False), (_NO_VERDICT, True), (f". {test.why}", False)]
    if test.is_changed:
        return [*_change(test, baseline, name, where), (f"{_environment([test])}.", False)]
    interval = test.interval
    size, ends = difference_words(test.word, interval.ratio, interval.low, interval.high)
    verb, preposition = link_words(test.word)
    settle = f" {test.why}" if test.word in BOUNDED and test.why else ""
    return [
        (f"{name} {verb} ", False),
        (f"{size} {preposition} {baseline}", True),
        (f"{where} ({ends}{_metric(test)}).{settle}", False),
    ]


def comparison_table(
    tests: Sequence[ComparedTest],
    references: Sequence[ComparedTest],
    names: dict[str, str],
    baseline: str,
) -> Table:
    """A row per test, then one per reference; times in ms. `names` are the candidates' by column
    letter."""
    rows = [*tests, *references]
    texts = [each.said for each in tests] + [str(reference_of([each])) for each in references]
    of_times, of_differences = time_and_difference_decimals(rows)
    formats = (Format(of_times), Format(of_times), Format(of_differences, signed=True), *_FORMATS)
    # The smallest changes that could be seen as sentences have them.
    cells = [
        (
            *before,
            replace(least, text=least_change(least.value / 100) if least.value else least.text),
            ours,
            theirs,
        )
        for *before, least, ours, theirs in rows_of_cells(list(map(_figures, rows)), formats)
    ]
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
            for each, of_test, text in zip(rows, cells, texts, strict=True)
        ),
        label_title="test",
        note=_NOTE,
    )


def _note(test: ComparedTest, references: Sequence[ComparedTest], names: dict[str, str]) -> str:
    words = [names[test.column]] if len(names) > 1 else []
    words += [] if test.row.metric == "mean" else ["median"]
    return ", ".join([*words, "reference, not counted"] if test in references else words)


def time_and_difference_decimals(tests: Sequence[ComparedTest]) -> tuple[int, int]:
    """Of all times, and of differences: three digits of what changed, one place more at most."""
    times_ms = [us / 1000 for each in tests for us in each.times_us if us is not None]
    changes_ms = [each.difference_ms for each in tests if each.is_changed]
    of_times = column_decimals(times_ms)
    finer = min(of_times + 1, decimals_for(changes_ms)) if changes_ms else 0
    return of_times, max(of_times, finer)


def _figures(test: ComparedTest) -> list[Figure]:
    baseline_us, candidate_us = test.times_us
    why = test.row.why if test.is_sound else test.why
    row = replace(test.row, baseline=baseline_us, candidate=candidate_us, why=why, weak=False)
    figures = pair_figures(row)
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
    TYPICAL: "median",
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
        reading = as_read(words, _reference_of(against))
        return f"{reading}, {words}" if reading == ENVIRONMENT else reading
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
    present = [state for state in ReferenceState if states[state]]
    if len(present) < 2:
        return "".join(f" {REFERENCE_DID[state]}." for state in present)
    return "".join(
        f" {REFERENCE_DID[each]} for {counted(states[each], 'tests')}." for each in present
    )


def _one_against(against: Against) -> tuple[str, str]:
    """("20 % slower", " than baseline “main” (18 to 22 %, p95), unless …")."""
    metric, word = _METRICS[against.metric], against.word or "no verdict"
    is_changed = against.is_clear or "take" in against.word  # of a capacity
    link = f"{' than' if is_changed else ' against'} baseline “{against.baseline}”"
    if against.ratio is None or not against.word:
        return word[:1].upper() + word[1:], link
    if against.metric == "capacity":
        change, ends = against.word, against_size(against)
    else:
        word = Word(against.word)
        change, ends = difference_words(word, against.ratio, against.low, against.high)
    rest = f"{link} ({ends}, {metric})"
    if against.is_clear:
        reference = _reference_of(against)
        if reference is ReferenceState.MOVED:
            rest += f", due to the {ENVIRONMENT}"
        elif reference is not ReferenceState.UNMOVED:
            rest += f", {say('unless')}"
    return change[:1].upper() + change[1:], rest


def baseline_sentence(tests: Sequence[tuple[str, Against]]) -> Sentence:
    """Of a campaign's tests, as (label, against); [] if none has a baseline."""
    if not tests:
        return []
    names = ", ".join(dict.fromkeys(f"“{against.baseline}”" for _, against in tests))
    if len(tests) == 1:
        ((_, against),) = tests
        why = (f". {against.why}" if against.why else ".") + _reference_did(tests)
        change, rest = _one_against(against)
        return [(change, True), (f"{rest}{why}", False)]
    counts = Counter(_counted_as(against) for _, against in tests)
    order = (Word.SLOWER, Word.FASTER, ENVIRONMENT, *BOUNDED, Word.SAME, _NO_VERDICT)
    text = ", ".join(f"{counts[word]} {word}" for word in order if counts[word])
    sentence = [
        (f"Against baseline {names}: ", False),
        (text, any(each.is_clear for _, each in tests)),
        (f" of {counted(len(tests), 'tests')}", False),
    ]
    slower = [each for each in tests if _counted_as(each[1]) == Word.SLOWER]
    if not slower:
        return [*sentence, ("." + _reference_did(tests), False)]
    label, worst = max(slower, key=lambda each: each[1].ratio)
    text = f"; worst: {label}, {_METRICS[worst.metric]} {against_words(worst)}."
    text += _reference_did(tests)
    return [*sentence, (text, False)]
