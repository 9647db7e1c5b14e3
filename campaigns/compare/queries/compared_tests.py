"""Campaigns, tests or runs against a baseline: which tests belong together, what is not alike, and
the verdict for each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from campaigns.compare.queries.columns import ComparisonSide, Side, profiles_of, sides_of
from campaigns.compare.queries.compared_facts import (
    ComparedPair,
    detail_of,
    differences_of,
    judged_pair,
    noise_between,
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
    sides = sides_of(others, shows_machines=shows_machines)
    by_letter = {side.column.letter: side for side in sides}
    baseline, *candidates = [by_letter.get(each.letter) or Side(each, []) for each in columns]
    capacities = {
        side.column.letter: compared_capacity(baseline.column, side.column, searches)
        for side in candidates
        if {baseline.column.letter, side.column.letter} & searches.keys()
    }
    every = [pair for candidate in candidates for pair in pairs_between(baseline, candidate)]
    noises = noise_between([(pair.baseline.test, pair.candidate.test) for pair in every])
    every = [
        replace(pair, noise=noises.get((pair.baseline.test.pk, pair.candidate.test.pk)))
        for pair in every
    ]
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
    verdicts = [judged_pair(pair, states[pair.letter]) for pair in pairs]
    tests, overheads = [test for test, _ in verdicts], [overhead for _, overhead in verdicts]
    rows = worst_first(tests)
    # The one that is asked for, the first that is listed, or any.
    choices = [*listed(rows), *rows, *references]
    test_below = next((test for test in choices if test.key == query), next(iter(choices), None))
    overhead_by_key = {test.key: overhead for test, overhead in [*apart, *verdicts]}
    warnings = []
    if any(each.ratio for each in capacities.values()):
        warnings = [say("searches_in_turn")]
    elif any(each.can_be_confirmed for each in tests):
        may_be_environment = any(each.or_environment for each in tests)
        warnings = [advise("not_in_turn") if may_be_environment else say("reference_speaks")]
    pair_pks = {each.test.pk for pair in every for each in pair}
    alone = []
    for side in (baseline, *candidates):
        single = [each for each in side.tests if each.test.pk not in pair_pks]
        if single:
            labels = [f"{each.plan_label}: {each.label}" for each in single]
            alone.append(Alone(side.column.name, labels))
    return Comparison(
        sentences=_sentences([baseline, *candidates], tests, references, capacities),
        grounds=_grounds(tests, pairs),
        warnings=warnings,
        differs=differences_of(pairs, overheads)
        + capacity_differences(baseline.column, columns[1:], searches),
        same=same_of(pairs, overheads),
        tests=rows,
        references=references,
        alone=alone,
        table=comparison_table(
            rows,
            references,
            {side.column.letter: side.column.name for side in candidates},
            baseline.column.name,
        ),
        detail=detail_of(test_below, overhead_by_key[test_below.key]) if test_below else None,
        capacities=list(capacities.values()),
        profiles=_profile_tables(*columns) if shows_machines else [],
    )


def _profile_tables(baseline: ComparisonSide, *candidates: ComparisonSide) -> list[Table]:
    """Of each candidate against the baseline, where one of the two was to record any."""
    old = profiles_of(baseline)
    tables = (
        compared_profiles_table(old, profiles_of(each), (baseline.name, each.name), each.letter)
        for each in candidates
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
            names = [each.column.name for each in (baseline, side)]
            if of_side[0]:
                words = comparison_sentence(of_side[0], *names)
                sentence = [*words, *reference_sentence(*of_side)]
            else:
                first = f"{names[0][:1].upper()}{names[0][1:]}"
                sentence = [
                    (f"{first} and {names[1]} have no test in common", True),
                    (". Compare campaigns of the same plan, or two tests by choice.", False),
                ]
        sentences.append(sentence)
    return sentences


def _grounds(tests: Sequence[ComparedTest], pairs: Sequence[ComparedPair]) -> list[str]:
    if not tests:
        return []
    grounds = []
    if any(each.interval for each in tests):
        metrics = {each.row.metric for each in tests}
        names = "average response times" if "mean" in metrics else ""
        if metrics != {"mean"}:
            names = f"{names}, or medians" if names else "medians"
        of_campaigns = any(each.interval and each.interval.is_of_campaigns for each in tests)
        least = ", and at least as wide as earlier campaigns differ" if of_campaigns else ""
        grounds.append(f"{names}, {percent(0.95, decimals=0)} intervals {_over(tests)}{least}")
    thresholds = {pair.candidate.test.campaign.practical_threshold for pair in pairs}
    grounds.append(
        f"practical threshold {' to '.join(typed_percent(t) for t in _ends(thresholds))}"
    )
    least = [each.could_have_shown for each in tests if each.could_have_shown is not None]
    if least:
        span = " to ".join(dict.fromkeys(least_change(each) for each in _ends(least)))
        grounds.append(f"smallest detectable change: {with_unit(span, '%')}")
    return grounds


def _over(tests: Sequence[ComparedTest]) -> str:
    """Such as "over 5 and 5 runs"."""
    with_interval = [each for each in tests if each.row.interval]
    if any(each.row.interval.k > min(map(len, each.runs)) for each in with_interval):
        return "over stretches of passes, of runs where a test has three"
    numbers = [_ends(len(each.runs[side]) for each in tests) for side in (0, 1)]
    first, second = (" to ".join(map(str, ends)) for ends in numbers)
    return f"over {first} and {second} runs of each test"


def _ends(values) -> list:
    values = list(values)
    return sorted({min(values), max(values)})
