"""Campaigns, tests or runs against a baseline: which tests belong together, what is not alike, and
the verdict for each."""

from collections.abc import Mapping, Sequence

from campaigns.compare.queries.columns import ComparisonSide, Side, profiles_of, sides_of
from campaigns.compare.queries.compared_facts import (
    ComparedPair,
    detail_of,
    differences_of,
    judged_pair,
    pairs_between,
    same_of,
)
from campaigns.compare.queries.compared_searches import (
    capacity_differences,
    compared_capacity,
    searches_among,
)
from campaigns.domain.analysis.messages import Sentence, advise, say
from campaigns.domain.presentation.compared import (
    Alone,
    ComparedCapacity,
    ComparedTest,
    Comparison,
    capacity_sentence,
    compared_profiles_table,
    listed,
    reference_of,
    worst_first,
)
from campaigns.domain.presentation.compared_words import (
    comparison_sentence,
    comparison_table,
    reference_sentence,
)
from campaigns.domain.presentation.intervals import least_change
from campaigns.domain.presentation.tables import Table
from campaigns.domain.units import percent, typed_percent, with_unit


def comparison_of(
    columns: Sequence[ComparisonSide], query: str = "", *, shows_machines: bool = True
) -> Comparison:
    """The columns against the first of them, in a fixed number of queries. Needs two or more.
    `query` is the key of the test whose detail is wanted: by default the first one that is listed.
    `shows_machines` as in `sides_of`."""
    searches = searches_among(columns)
    # A search has no tests to compare.
    others = [each for each in columns if each.letter not in searches]
    measured = sides_of(others, shows_machines=shows_machines)
    by_letter = {side.column.letter: side for side in measured}
    baseline, *candidates = [by_letter.get(each.letter) or Side(each, []) for each in columns]
    capacities = {
        side.column.letter: compared_capacity(baseline.column, side.column, searches)
        for side in candidates
        if {baseline.column.letter, side.column.letter} & searches.keys()
    }
    every = [pair for candidate in candidates for pair in pairs_between(baseline, candidate)]
    # References speak for the environment; a column that has nothing else is about its own.
    with_others = {pair.letter for pair in every if not pair.is_of_reference}
    of_references = [p for p in every if p.is_of_reference and p.letter in with_others]
    pairs = [p for p in every if not (p.is_of_reference and p.letter in with_others)]
    apart = [judged_pair(pair) for pair in of_references]
    references = [test for test, _ in apart]
    states = {
        side.column.letter: reference_of(_of_column(references, side.column.letter))
        for side in candidates
    }
    judged = [judged_pair(pair, states[pair.letter]) for pair in pairs]
    tests, overheads = [test for test, _ in judged], [overhead for _, overhead in judged]
    ordered = worst_first(tests)
    # The one that is asked for, the first that is listed, or any.
    choices = [*listed(ordered), *ordered, *references]
    detailed = next((test for test in choices if test.key == query), next(iter(choices), None))
    overhead_by_key = {test.key: overhead for test, overhead in [*apart, *judged]}
    return Comparison(
        sentences=_sentences([baseline, *candidates], tests, references, capacities),
        grounds=_grounds(tests, pairs),
        warnings=_warnings(tests, list(capacities.values())),
        differs=differences_of(pairs, overheads)
        + capacity_differences(baseline.column, columns[1:], searches),
        same=same_of(pairs, overheads),
        tests=ordered,
        references=references,
        alone=_alone(baseline, candidates, every),
        table=comparison_table(
            ordered,
            references,
            {side.column.letter: side.column.name for side in candidates},
            baseline.column.name,
        ),
        detail=detail_of(detailed, overhead_by_key[detailed.key]) if detailed else None,
        capacities=list(capacities.values()),
        profiles=_compared_profiles(columns) if shows_machines else [],
    )


def _compared_profiles(columns: Sequence[ComparisonSide]) -> list[Table]:
    """Of each candidate against the baseline, where one of the two was to record any."""
    baseline, *candidates = [(each, profiles_of(each)) for each in columns]
    tables = (
        compared_profiles_table(
            baseline[1], profiles, (baseline[0].name, column.name), column.letter
        )
        for column, profiles in candidates
    )
    return [table for table in tables if table]


def _of_column(tests: Sequence[ComparedTest], letter: str) -> list[ComparedTest]:
    return [each for each in tests if each.column == letter]


def _sentences(
    sides: Sequence[Side],
    tests: Sequence[ComparedTest],
    references: Sequence[ComparedTest],
    capacities: Mapping[str, ComparedCapacity],
) -> list[Sentence]:
    """One for each candidate; `capacities` by column letter."""
    baseline, *candidates = sides
    sentences = []
    for side in candidates:
        letter = side.column.letter
        if capacity := capacities.get(letter):
            sentence = capacity_sentence(capacity, baseline.column.name, side.column.name)
        else:
            of_side = _of_column(tests, letter), _of_column(references, letter)
            sentence = _sentence(baseline, side, *of_side)
        sentences.append(sentence)
    return sentences


def _sentence(
    baseline: Side,
    candidate: Side,
    tests: Sequence[ComparedTest],
    references: Sequence[ComparedTest],
) -> Sentence:
    called = [side.column.name for side in (baseline, candidate)]
    if tests:
        words = comparison_sentence(tests, *called)
        return [*words, *reference_sentence(tests, references)]
    return [
        (f"{called[0][:1].upper()}{called[0][1:]} and {called[1]} have no test in common", True),
        (". Compare campaigns of the same plan, or two tests by choice.", False),
    ]


def _grounds(tests: Sequence[ComparedTest], pairs: Sequence[ComparedPair]) -> list[str]:
    if not tests:
        return []
    grounds = []
    if any(each.interval for each in tests):
        grounds.append(f"{_metrics(tests)}, {percent(0.95, decimals=0)} intervals {_over(tests)}")
    thresholds = {pair.candidate.test.campaign.practical_threshold for pair in pairs}
    grounds.append(
        f"practical threshold {' to '.join(typed_percent(t) for t in _ends(thresholds))}"
    )
    least = [each.could_have_shown for each in tests if each.could_have_shown is not None]
    if least:
        span = " to ".join(dict.fromkeys(least_change(each) for each in _ends(least)))
        grounds.append(f"smallest detectable change: {with_unit(span, '%')}")
    return grounds


def _metrics(tests: Sequence[ComparedTest]) -> str:
    metrics = {each.row.metric for each in tests}
    if metrics == {"mean"}:
        return "average response times"
    return "average response times, or medians" if "mean" in metrics else "medians"


def _over(tests: Sequence[ComparedTest]) -> str:
    """Such as "over 5 and 5 runs"."""
    measured = [each for each in tests if each.row.interval]
    if any(each.row.interval.k > min(map(len, each.runs)) for each in measured):
        return "over stretches of passes, of runs where a test has three"
    numbers = [_ends(len(each.runs[side]) for each in tests) for side in (0, 1)]
    first, second = (" to ".join(map(str, ends)) for ends in numbers)
    return f"over {first} and {second} runs of each test"


def _ends(values) -> list:
    values = list(values)
    return sorted({min(values), max(values)})


def _warnings(tests: Sequence[ComparedTest], capacities: Sequence[ComparedCapacity]) -> list[str]:
    if any(each.ratio for each in capacities):
        return [say("searches_in_turn")]
    if not any(each.can_be_confirmed for each in tests):
        return []
    if not any(each.or_environment for each in tests):
        return [say("reference_speaks")]
    return [advise("not_in_turn")]


def _alone(
    baseline: Side, candidates: Sequence[Side], pairs: Sequence[ComparedPair]
) -> list[Alone]:
    used = {each.test.pk for pair in pairs for each in pair}
    return [
        Alone(side.column.name, labels)
        for side in (baseline, *candidates)
        if (labels := [f"{t.plan_label}: {t.label}" for t in side.tests if t.test.pk not in used])
    ]
