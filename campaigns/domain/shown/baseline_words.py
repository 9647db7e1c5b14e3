"""What a campaign's headline says of its baselines."""

from collections import Counter
from collections.abc import Sequence

from campaigns.domain.judged.words import Against, Word
from campaigns.domain.shown.compared import ENVIRONMENT, ReferenceState, as_read
from campaigns.domain.shown.compared_words import REFERENCE_DID
from campaigns.domain.shown.intervals import size_words
from campaigns.domain.shown.results import Sentence
from campaigns.domain.units import counted

_NO_VERDICT = "without a verdict"
_METRICS = {"p95": "p95", "mean": "average", "capacity": "capacity"}


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


def baseline_sentence(tests: Sequence[tuple[str, Against]]) -> Sentence:
    """Of a campaign's tests, as (label, against); [] if none has a baseline."""
    if not tests:
        return []
    names = ", ".join(dict.fromkeys(f"“{against.baseline}”" for _, against in tests))
    if len(tests) == 1:
        ((_, against),) = tests
        why = (f". {against.why}" if against.why else ".") + _reference_did(tests)
        return [
            (f"{_METRICS[against.metric]} against baseline {names}: ", False),
            (against_words(against), True),
            (why, False),
        ]
    counts = Counter(_counted_as(against) for _, against in tests)
    order = (Word.SLOWER, Word.FASTER, ENVIRONMENT, Word.INCONCLUSIVE, Word.SAME, _NO_VERDICT)
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
