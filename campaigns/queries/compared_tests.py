"""Campaigns, tests or runs against a baseline: which tests belong together, what is not alike, and
the verdict for each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from campaigns.domain.judged.comparison import Reason
from campaigns.domain.judged.pairing import partners
from campaigns.domain.judged.power import smallest_shown
from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.shown.compared import (
    ComparedTest,
    Comparison,
    Difference,
    RunDot,
    worst_first,
)
from campaigns.domain.shown.compared_words import comparison_sentence, comparison_table
from campaigns.domain.shown.plan_changes import changed_fields, field_name
from campaigns.domain.shown.results import Sentence
from campaigns.domain.units import percent, rate
from campaigns.queries.columns import ComparedColumn, Side, sides_of
from campaigns.queries.compared_detail import detail_of
from campaigns.queries.measured import MeasuredRun
from campaigns.queries.overheads import (
    ArmPair,
    Blocker,
    MeasuredTest,
    Overhead,
    compare,
    unlike_by_accident,
)
from campaigns.queries.run_settings import settings_of

# Reasons for which no word is given, with what to do about them.
_NO_WORD = {
    Reason.TOO_FEW_REPEATS: "Add blocks to the side that has fewer.",
    Reason.INVALID_RUNS: "Measure that side again.",
    Reason.NOT_LIKE_FOR_LIKE: "Measure both sides with the same settings.",
    Reason.UNLIKE_LOAD: "Measure both sides under the same load.",
    Reason.ERRORS: "Find out first why requests fail.",
    Reason.ORDER_CONFOUNDED: "",
}
# Parts of a plan that change neither what is sent nor how hard.
_HARMLESS = ("plan.thresholds", "plan.warm_up_s", "plan.load.duration_s", "plan.load.max_in_flight")


@dataclass(frozen=True)
class _Pair:
    """A test and its partner, with their columns. `is_found`: by plan and arm, not by choice."""

    columns: tuple[ComparedColumn, ComparedColumn]
    arms: ArmPair
    is_found: bool

    @property
    def label(self) -> str:
        return f"{self.arms.candidate.plan_label}: {self.arms.candidate.label}"

    @property
    def letter(self) -> str:
        return self.columns[1].letter


def comparison_of(columns: Sequence[ComparedColumn], asked: str = "") -> Comparison:
    """The columns against the first of them, in a fixed number of queries. Needs two or more.

    `asked` is the key of the test whose detail is wanted.
    """
    baseline, *candidates = sides_of(columns)
    pairs = [pair for candidate in candidates for pair in _pairs(baseline, candidate)]
    changes = [_changes(pair) for pair in pairs]
    overheads = [
        compare(pair.arms.candidate.test.campaign, pair.arms, _blockers(pair, changed))
        for pair, changed in zip(pairs, changes, strict=True)
    ]
    tests = [_compared(pair, overhead) for pair, overhead in zip(pairs, overheads, strict=True)]
    ordered = worst_first(tests)
    by_key = dict(zip((test.key for test in tests), overheads, strict=True))
    chosen = next((test for test in ordered if test.key == asked), ordered[0] if ordered else None)
    names = {column.letter: column.name for column in columns}
    return Comparison(
        sentences=[
            _sentence(baseline, side, [t for t in tests if t.column == side.column.letter], names)
            for side in candidates
        ],
        grounds=_grounds(tests, pairs),
        warnings=_warnings(tests),
        differs=_differences(pairs, changes, overheads),
        same=_same(pairs, overheads),
        tests=ordered,
        alone=_alone(baseline, candidates, pairs),
        table=comparison_table(
            ordered,
            {side.column.letter: side.column.name for side in candidates},
            baseline.column.name,
        ),
        detail=detail_of(chosen, by_key[chosen.key]) if chosen else None,
    )


def _pairs(baseline: Side, candidate: Side) -> Iterator[_Pair]:
    columns = (baseline.column, candidate.column)
    is_chosen = all(column.is_single for column in columns)
    found = [(0, 0)] if is_chosen else partners(baseline.keys, candidate.keys)
    called = tuple(column.name for column in columns)
    for first, second in found:
        arms = ArmPair(
            baseline.tests[first], candidate.tests[second], is_chosen=True, called=called
        )
        yield _Pair(columns, arms, is_found=not is_chosen)


def _changes(pair: _Pair) -> dict[str, tuple[str, str]]:
    """The settings that differ, by path; {} while one of the two has no run."""
    runs = [_first_run(each) for each in pair.arms]
    if None in runs:
        return {}
    return changed_fields(*(_facts_of(each) for each in runs))


def _first_run(test: MeasuredTest) -> MeasuredRun | None:
    return next(iter([*test.counted, *test.runs]), None)


def _facts_of(each: MeasuredRun) -> dict:
    """The run's settings and what its injectors said of the setting that they found."""
    ends = each.measurement.ends if each.measurement else []
    agreed = {f"{tls.version}, {tls.cipher}" for end in ends for tls in end.tls}
    return {
        **settings_of(each.run),
        "TLS agreed": sorted(agreed),
        "server names": sorted({name for end in ends for name in end.servers or ()}),
    }


def _blockers(pair: _Pair, changes: dict[str, tuple[str, str]]) -> list[Blocker]:
    loads = [name for name in changes if _forbids(name) and name.startswith("plan.load.")]
    others = [name for name in changes if _forbids(name)] if pair.is_found else []
    if loads:
        reason, what = Reason.UNLIKE_LOAD, "The plans ask for different loads"
    elif others:
        reason, what = Reason.NOT_LIKE_FOR_LIKE, "The plans send different requests"
    else:
        return []
    names = ", ".join(dict.fromkeys(field_name(name) for name in loads or others))
    return [(reason, f"{what}: {names}.")]


def _forbids(path: str) -> bool:
    """Whether a plan with another value there asks something else of the target."""
    return (
        path.startswith("plan.") and not path.startswith(_HARMLESS) and not path.endswith(".label")
    )


def _compared(pair: _Pair, overhead: Overhead) -> ComparedTest:
    baseline, candidate = pair.arms
    is_sound = all(each.is_sound for each in pair.arms)
    found, interval = overhead.verdict, overhead.mean.interval if is_sound else None
    has_word = overhead.has_word and found.reason not in _NO_WORD
    word = str(found.word) if has_word else ""
    return ComparedTest(
        column=pair.letter,
        baseline_test_id=baseline.test.pk,
        candidate_test_id=candidate.test.pk,
        plan_label=candidate.plan_label,
        arm_label=candidate.label,
        scheme=candidate.scheme,
        mean=overhead.mean,
        is_sound=is_sound,
        word=word,
        why=_why(pair, overhead),
        or_environment=word in {"slower", "faster"} and not _ran_in_turn(pair.arms),
        could_have_shown=smallest_shown(interval) if interval else None,
        runs=tuple(
            tuple(RunDot(each.run.label, each.figures.mean_us) for each in arm.counted)
            for arm in pair.arms
        ),
    )


def _why(pair: _Pair, overhead: Overhead) -> str:
    found = overhead.verdict
    if found.decided_by is not None:
        return _odd_run(pair, overhead)
    if pair.columns[1].noun == "run" and found.reason is Reason.TOO_FEW_REPEATS:
        return "A single run says nothing about its spread: compare the tests of these runs."
    do = _NO_WORD.get(found.reason, "")
    return f"{found.text} {do}".strip()


def _odd_run(pair: _Pair, overhead: Overhead) -> str:
    odd = overhead.verdict.decided_by
    arm = tuple(pair.arms)[odd.arm]
    label = next(each.run.label for each in arm.runs if each.run.repeat == odd.repeat)
    return (
        f"Run {label} alone decides: it took {odd.times:.2g} times as long as the others of its "
        "test. Repeat its block."
    )


def _ran_in_turn(pair: ArmPair) -> bool:
    """Whether the runs of both alternated; those of one campaign that did not have no word."""
    if pair.is_of_one_campaign:
        return True
    first, second = ([each.run.t0 for each in arm.counted] for arm in pair)
    if None in (*first, *second) or not first or not second:
        return False
    return max(first) > min(second) and max(second) > min(first)


def _sentence(
    baseline: Side, candidate: Side, tests: Sequence[ComparedTest], names: dict[str, str]
) -> Sentence:
    called = [side.column.name for side in (baseline, candidate)]
    if tests:
        return comparison_sentence(tests, *called, n_columns=len(names))
    has = "; ".join(f"{side.column.name} has {_listed(side)}" for side in (baseline, candidate))
    return [
        (f"{called[0][:1].upper()}{called[0][1:]} and {called[1]} have no test in common", True),
        (f": {has}. Compare campaigns of the same plan, or two tests by choice.", False),
    ]


def _listed(side: Side) -> str:
    labels = [f"{each.plan_label} ({each.label})" for each in side.tests[:3]]
    more = len(side.tests) - len(labels)
    return ", ".join(labels) + (f" and {more} more" if more else "") if labels else "no tests"


def _grounds(tests: Sequence[ComparedTest], pairs: Sequence[_Pair]) -> list[str]:
    if not tests:
        return []
    grounds = []
    if any(each.interval for each in tests):
        grounds.append(
            f"average response times, {percent(0.95, decimals=0)} intervals {_over(tests)}"
        )
    thresholds = {pair.arms.candidate.test.campaign.practical_threshold for pair in pairs}
    grounds.append(
        f"practical threshold {' to '.join(percent(t, decimals=0) for t in _ends(thresholds))}"
    )
    shown = [each.could_have_shown for each in tests if each.could_have_shown is not None]
    if shown:
        told = " to ".join(percent(each, decimals=1) for each in _ends(shown))
        grounds.append(f"smallest difference that these runs could have shown: {told}")
    return grounds


def _over(tests: Sequence[ComparedTest]) -> str:
    """Such as "over 5 and 5 runs"."""
    numbers = [_ends(len(each.runs[side]) for each in tests) for side in (0, 1)]
    first, second = (" to ".join(map(str, ends)) for ends in numbers)
    return f"over {first} and {second} runs of each test"


def _ends(values) -> list:
    values = list(values)
    return sorted({min(values), max(values)})


def _warnings(tests: Sequence[ComparedTest]) -> list[str]:
    if not any(each.or_environment for each in tests):
        return []
    return [
        "The two sides did not run in turn. Whatever else changed in between is part of the "
        "difference. Confirm runs both sides in turn, in one campaign."
    ]


def _differences(
    pairs: Sequence[_Pair],
    changes: Sequence[dict[str, tuple[str, str]]],
    overheads: Sequence[Overhead],
) -> list[Difference]:
    """What differs, each fact once with the tests that it concerns; what forbids a word first."""
    found: dict[tuple[str, str, str, str, bool], list[str]] = {}
    for pair, changed, overhead in zip(pairs, changes, overheads, strict=True):
        for path, (one, other) in changed.items():
            forbids = _forbids(path) and (pair.is_found or path.startswith("plan.load."))
            key = (field_name(path), pair.letter, one, other, forbids)
            found.setdefault(key, []).append(pair.label)
        for name, one, other in overhead.likeness["different"]:
            if name in _MEASURED:
                forbids = name in unlike_by_accident(pair.arms, overhead.likeness)
                key = (_MEASURED[name], pair.letter, one, other, forbids)
                found.setdefault(key, []).append(pair.label)
    n_tests = {pair.letter: sum(p.letter == pair.letter for p in pairs) for pair in pairs}
    rows = [
        Difference(
            name,
            letter,
            one,
            other,
            () if len(labels) == n_tests[letter] else tuple(labels),
            forbids,
        )
        for (name, letter, one, other, forbids), labels in found.items()
    ]
    return sorted(rows, key=lambda each: not each.forbids)


# Measured facts of domain.judged.likeness, as they are called here; the settings have the others.
_MEASURED = {
    "host": "Address reached",
    "injector hosts": "Injector hosts",
    "reply": "Bytes per reply",
    "status": "Statuses",
    "requests a run": "Requests per run",
}


_SAME = ("plan", "target", "host", "injector hosts", "reply", "status")


def _same(pairs: Sequence[_Pair], overheads: Sequence[Overhead]) -> list[tuple[str, str]]:
    """What all tests have alike on both sides: (name, value), and the load that they reached."""
    alike = [dict(each.likeness["same"] + each.likeness["equal"]) for each in overheads]
    found = [
        (name, ", ".join(dict.fromkeys(each[name] for each in alike)))
        for name in _SAME
        if alike and all(name in each for each in alike)
    ]
    loads = dict.fromkeys(load for pair in pairs if (load := _load(pair)))
    return [*found, *([("requests sent", ", ".join(loads))] if loads else [])]


def _load(pair: _Pair) -> str:
    """Such as "99.9 and 99.9/s"; "" where one side sent nothing."""
    rates = [_rate(each) for each in pair.arms]
    return f"{' and '.join(rates)}/s" if all(rates) else ""


def _rate(test: MeasuredTest) -> str:
    measurements: list[Measurement] = [each.measurement for each in test.counted]
    known = [each.sent_per_s for each in measurements if each.sent_per_s is not None]
    return rate(sum(known) / len(known)) if known else ""


def _alone(
    baseline: Side, candidates: Sequence[Side], pairs: Sequence[_Pair]
) -> list[tuple[str, list[str]]]:
    used = {each.test.pk for pair in pairs for each in pair.arms}
    return [
        (side.column.name, labels)
        for side in (baseline, *candidates)
        if (labels := [f"{t.plan_label}: {t.label}" for t in side.tests if t.test.pk not in used])
    ]
