"""The three answers under a sentence, always in this order: measurement, target, precision.

Each is a word and one reason; what the sentence above them already says is not said again.
"""

from collections.abc import Sequence

from campaigns.domain.judged.failures import FAILED_CODES, of_target
from campaigns.domain.lifecycle import Precision, TargetState, Trust
from campaigns.domain.shown.badges import Answers
from campaigns.domain.shown.report_words import RunStatus, errors_text
from campaigns.domain.shown.results import Sentence, ShownAnswer
from campaigns.domain.shown.sentences import plain_text
from campaigns.domain.units import counted

_MEASUREMENT = "Can the measurement be believed?"
_TARGET = "How did the target do?"
_PRECISION = "How precise is it?"
_PRECISION_WORDS = {
    Precision.NONE: "Nothing to be precise about",
    Precision.COARSE: "No p99",
    Precision.FINE: "Up to p99",
}


def three_answers(
    runs: Sequence[RunStatus], found: Answers, told: Sentence
) -> tuple[ShownAnswer, ...]:
    """Of a run, or of a campaign's runs: `found` is what its badge tells, `told` the sentence
    above. () until a run is judged."""
    judged = [each for each in runs if each.judged]
    if not judged:
        return ()
    return (
        _measurement(judged, found),
        _target(judged, found, plain_text(told)),
        _precision(judged),
    )


def _measurement(runs: Sequence[RunStatus], found: Answers) -> ShownAnswer:
    doubted = [each for each in runs if each.judged.is_in_doubt]
    word, glyph = Trust(found.trust).words.capitalize(), found.trust
    if found.is_usable_in_part:
        word, glyph = f"{word} in part", "warning"
    if doubted:
        worst = min(doubted, key=lambda each: each.judged.is_usable).judged.measurement
        alike = [each for each in doubted if each.judged.measurement.has(worst.reasons[0].code)]
        others = _others(len(doubted) - len(alike), "in doubt")
        reason = f"{_share(alike, runs)}{worst.text}{others}"
    else:
        n = sum(each.figures.attempts for each in runs)
        reason = f"The injector kept up, and {_accounted(n, runs[0].plan.nouns)}."
    return ShownAnswer(_MEASUREMENT, glyph, word, reason)


def _accounted(n: int, nouns: str) -> str:
    if n > 1:
        return f"all {counted(n, nouns)} are accounted for"
    noun = counted(1, nouns).removeprefix("1 ")
    return f"the only {noun} is accounted for" if n else f"no {noun} ended"


def _target(runs: Sequence[RunStatus], found: Answers, said: str) -> ShownAnswer:
    state = found.target_state
    if not state:
        return ShownAnswer(_TARGET, "", "Not judged", runs[0].judged.target.text)
    if state == TargetState.HEALTHY:
        remark = next(each for each in runs if each.judged.target.state == state).judged.target.text
        untold = remark and remark not in said
        return ShownAnswer(_TARGET, state, "Healthy", remark if untold else f"{_errors(runs)}.")
    reason = _why([each for each in runs if each.judged.target.state == state], runs, said)
    if found.finds_limit and state == TargetState.OVERLOADED:
        return ShownAnswer(_TARGET, "limit_found", "Limit found", reason)
    return ShownAnswer(_TARGET, state, state.capitalize(), reason)


def _why(such: Sequence[RunStatus], runs: Sequence[RunStatus], said: str) -> str:
    """The first reason of the runs in which the target was so, and in how many it is one; how many
    requests failed and when, where the sentence has told it."""
    reason = such[0].judged.target.reasons[0]
    if reason.code not in FAILED_CODES and reason.text not in said:
        alike = [each for each in such if each.judged.target.has(reason.code)]
        others = _others(len(such) - len(alike), reason.state)
        return f"{_share(alike, runs)}{reason.text}{others}"
    rows = [row for each in such for row in of_target(each.failures) if row.first is not None]
    when = ""
    if rows:
        first, last = min(row.first for row in rows), max(row.last for row in rows)
        when = f", all in second {first}" if first == last else f", from second {first} to {last}"
    return f"{_share(such, runs)}{_errors(such)}{when}."


def _errors(runs: Sequence[RunStatus]) -> str:
    errors, attempts = (
        sum(getattr(each.figures, name) for each in runs) for name in ("errors", "attempts")
    )
    text = errors_text(errors, attempts, runs[0].plan.nouns)
    return text[:1].upper() + text[1:]


def _precision(runs: Sequence[RunStatus]) -> ShownAnswer:
    usable = [each for each in runs if each.judged.is_usable]
    if not usable:
        nothing = _PRECISION_WORDS[Precision.NONE]
        why = "No answer uses these figures, however many there are."
        return ShownAnswer(_PRECISION, Precision.NONE, nothing, why)
    least = min(usable, key=lambda each: each.figures.n)
    finding = least.judged.precision
    text = finding.text
    if len({each.figures.n for each in usable}) > 1:
        text = f"The run with the fewest has {text[:1].lower()}{text[1:]}"
    return ShownAnswer(_PRECISION, finding.state, _PRECISION_WORDS[finding.state], text)


def _others(n: int, how: str) -> str:
    """The runs that the reason is not of."""
    were = "was" if n == 1 else "were"
    return f" {counted(n, 'other runs')} {were} {how} for another reason." if n else ""


def _share(some: Sequence[RunStatus], runs: Sequence[RunStatus]) -> str:
    return f"{len(some)} of {counted(len(runs), 'runs')}: " if len(runs) > 1 else ""
