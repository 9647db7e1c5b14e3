"""One run in words and tiles: ending, figures, judgement; and the three answers under a sentence,
always in this order: measurement, target, precision.

Each is a word and one reason; what the sentence above them already says is not said again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from campaigns.domain import units
from campaigns.domain.analysis.criteria import CRITERIA, TARGET_MACHINE
from campaigns.domain.analysis.judgement import Judgement
from campaigns.domain.analysis.limit import blame
from campaigns.domain.analysis.messages import Sentence, trimmed
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.lifecycle import Precision, TargetState, Trust
from campaigns.domain.metrics.figures import Figures, typical_metric
from campaigns.domain.metrics.outcomes import (
    FAILED_CODES,
    HEADLINE_SHARE,
    FailureRow,
    everything_failed,
    failure_share,
    failure_words,
    of_target,
    share_words,
)
from campaigns.domain.percentiles import P50, P95, P99, Shown, name, shown, why_not_shown
from campaigns.domain.plan.load import planned_duration_s
from campaigns.domain.plan.plan import Plan, Resolve
from campaigns.domain.presentation.badges import Answers
from campaigns.domain.presentation.metrics import WHERE
from campaigns.domain.presentation.results import ShownAnswer
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.presentation.tables import BOTH_ENDS
from campaigns.domain.presentation.threshold_tables import broken_words, kept_words, open_words
from campaigns.domain.presentation.what_to_do import blamed_sentence, no_answer_words
from campaigns.domain.units import counted


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How a run with these figures and this plan ended, and its judgement, None until then.

    `failed_reply_us` is the median response time of failed replies.
    """

    state: str
    outcome: str
    judged: Judgement | None
    why: str
    figures: Figures
    plan: Plan
    failures: tuple[FailureRow, ...] = ()
    failed_reply_us: float | None = None
    measured: str = ""  # "22:22 of 1:00:00 measured"
    verdicts: tuple[Verdict, ...] = ()
    took_turns: bool = False

    @property
    def is_done(self) -> bool:
        return self.state == "done"

    @property
    def found(self) -> Answers:
        """What its badge tells, without its thresholds."""
        if self.judged is None:
            return Answers()
        target = self.judged.target.state
        return Answers(
            trust=self.judged.measurement.state,
            target_state=target or "",
            finds_limit=target == TargetState.OVERLOADED and self.plan.seeks_limit,
        )

    @property
    def has_no_answer(self) -> bool:
        """Whether there are response times that nobody may believe."""
        return bool(self.judged and not self.judged.is_usable and self.figures.n)


# Before the failures by which it was found.
LIMIT_FOUND: Sentence = [("The limit was found", True), (": ", False)]
_WAITING = {
    "queued": "This run is waiting for its turn.",
    "preparing": "This run is waiting for its injectors to get ready.",
    "armed": "This run starts in a few seconds.",
}


def ending_text(outcome: str, reason: str) -> str:
    """How a run ended that did not end as planned: "Failed: the name could not be resolved."."""
    reason = (reason or "it did not end as planned").removesuffix(".")
    begins_so = reason.lower().startswith(outcome)
    return f"{reason}." if begins_so else f"{outcome.capitalize()}: {reason}."


def errors_text(errors: int, attempts: int, noun: str) -> str:
    """How many of the attempts failed, in words: "no errors in 1,000 requests"."""
    words = units.counted(errors, "errors") if errors else "no errors"
    return f"{words} in {units.counted(attempts, noun)}"


def run_sentence(run: RunStatus) -> Sentence:
    """The first words of a run's page, without a space at their end."""
    return [(re.sub(r"(^|\. )about ", r"\1About ", text), b) for text, b in trimmed(_sentence(run))]


def _sentence(run: RunStatus) -> Sentence:
    """What was broken, how it ended if not as planned, and what the target was if not healthy;
    then average, rate and errors, and whether to doubt them. No figure if nobody may use it."""
    if run.has_no_answer:
        return [*_ending(run), (f"{no_answer_words([run.judged], 1)}.", True)]
    if run.figures.attempts and not run.figures.n:
        so_far = "" if run.is_done else " so far"
        failure = all_failed_sentence(
            run.failures, run.figures.attempts, run.plan.nouns, so_far, run.failed_reply_us
        )
        # What the target answered instead comes before the rules that this breaks.
        words = [*_target_words(run), *failure, (" ", False), *_broken(run)]
        return [*_ending(run), *words, *_doubt_words(run)]
    sentence = [*_broken(run), *_ending(run), *_target_words(run)]
    if not run.figures.attempts:
        if run.is_done:
            return [*sentence, ("Nothing was measured.", False)]
        return [(_WAITING.get(run.state, "The first second has not arrived yet."), False)]
    sentence += _measured_words(run)
    words = kept_words([run.verdicts]) if run.is_done else ""
    rules = [(f" {words}.", False)] if words else []
    return [*sentence, *rules, *_doubt_words(run)]


def _broken(run: RunStatus) -> Sentence:
    words = broken_words([run.verdicts], is_over=run.is_done) if run.figures.attempts else ""
    parts = [(f"{units.said_of(run.plan.nouns, words)}.", True), (" ", False)] if words else []
    return parts + [(f"{each} ", False) for each in open_words(run.verdicts)]


def _target_words(run: RunStatus) -> Sentence:
    target = run.judged and run.judged.target
    if not target or target.state in {None, TargetState.HEALTHY}:
        return remark_words([run.judged] if target else [])
    machine = machine_words([run.judged])
    if _names_failures(run):
        return [*(LIMIT_FOUND if run.found.finds_limit else []), *machine]
    words = "The limit was found" if run.found.finds_limit else f"The target was {target.state}"
    if target.reasons[0].code in TARGET_MACHINE:
        return [(words, True), (": ", False), *machine]
    return [(words, True), (f": {target.text} ", False), *machine]


def machine_words(judgements: Sequence[Judgement]) -> Sentence:
    """What the target's machine ran out of; of several runs, in how many it did."""
    words: Sentence = []
    for code in TARGET_MACHINE:
        texts = [
            each.text for one in judgements for each in one.target.reasons if each.code == code
        ]
        if texts and len(judgements) == 1:
            words += [(texts[0], True), (" ", False)]
        elif texts:
            where = f" in {len(texts)} of {units.counted(len(judgements), 'runs')}"
            words += [(CRITERIA[code].sentence.format(measure=where), True), (" ", False)]
    return words


def remark_words(judgements: Sequence[Judgement]) -> Sentence:
    """What to know of a target that did not fail, if it is so in all of them, such as nothing but
    redirects; also while an injector is in doubt."""
    texts = {
        next((each.text for each in one.target.reasons if each.state == TargetState.HEALTHY), "")
        for one in judgements
    }
    return [(f"{text} ", False) for text in texts if text] if len(texts) == 1 else []


def _names_failures(run: RunStatus) -> bool:
    """Whether the sentence tells the target's failures in their own words."""
    code = run.judged.target.reasons[0].code
    return code in FAILED_CODES and failure_share(run.failures, run.figures.attempts) >= (
        HEADLINE_SHARE
    )


def _doubt_words(run: RunStatus) -> Sentence:
    if not run.judged or run.judged.measurement.state != Trust.BUSY:
        return []
    return [(" ", False), ("The machine was busy: average and tail include its delays.", True)]


def time_words(figures: Figures, us: float, metric: str, *, is_about: bool = False) -> str:
    """The time that a headline tells, of the mean, or of a median on a busy machine."""
    if metric != "mean" or is_about:
        return f"about {units.ms(us)} {WHERE[metric]}"
    return f"{_ends_words(figures, metric)} {WHERE[metric]}"


def _ends_words(figures: Figures, metric: str) -> str:
    """3.2 ms; 3.2 to 3.4 ms where the machine's part is that large."""
    low_us, high_us = figures.low_us(metric), figures.time_us(metric)
    return units.with_unit(units.ends_ms(low_us, high_us), "ms")


def _ending(run: RunStatus) -> Sentence:
    if not run.is_done or run.outcome == "complete":
        return []
    return [(ending_text(run.outcome, run.why), True), (" ", False)]


def _measured_words(run: RunStatus) -> Sentence:
    figures = run.figures
    so_far = "" if run.is_done else " so far"
    rate = units.rate(figures.rate_per_s)
    is_busy = bool(run.judged and run.judged.is_busy)
    is_known = shown(figures.n, P95) is not Shown.NO and not is_busy
    p95 = f" (p95 {_ends_words(figures, name(P95))})" if is_known else ""
    metric = typical_metric([figures]) if is_busy else "mean"
    took = time_words(figures, figures.time_us(metric), metric, is_about=is_busy), p95
    per_s = f"{rate} ok {run.plan.nouns}/s"
    errors = f"{errors_text(figures.errors, figures.attempts, run.plan.nouns)}."
    lead = failure_lead(run.failures, figures.attempts, run.plan.nouns)
    if run.plan.is_flat_out:
        at_most = so_far or ("" if is_busy else " at most")
        per_s = f"about {per_s}" if is_busy else per_s
        return [*lead, (f"{per_s}{at_most}", True), (f", {''.join(took)}, {errors}", False)]
    return [
        *lead,
        (took[0], True),
        (f"{took[1]} at ", False),
        (per_s, True),
        (f"{so_far}, {errors}", False),
    ]


def all_failed_sentence(
    rows: Sequence[FailureRow],
    attempts: int,
    noun: str,
    so_far: str = "",
    reply_us: float | None = None,
) -> Sentence:
    """No attempt was ok: what the target answered instead, and how fast."""
    if not everything_failed(rows, attempts):
        everything = units.counted(attempts, noun)
        who = f"The only {everything[2:]}" if attempts == 1 else f"All {everything}"
        return [(f"{who} failed", True), (f"{so_far}.", False)]
    since = " since the first second" if rows[0].first is not None else ""
    took = f" The failed replies took {units.ms(reply_us)} (p50)." if reply_us is not None else ""
    return [(failure_words(rows, attempts, noun), True), (f"{since}{so_far}.{took}", False)]


def failure_lead(rows: Sequence[FailureRow], attempts: int, noun: str) -> Sentence:
    """What failed, ahead of the figures of the rest; [] below HEADLINE_SHARE."""
    rows_of_target = of_target(rows)
    if failure_share(rows_of_target, attempts) < HEADLINE_SHARE:
        return []
    others = share_words(attempts - sum(row.count for row in rows_of_target), attempts)
    return [
        (failure_words(rows, attempts, noun), True),
        (f"; times are of the other {others}. ", False),
    ]


NO_ANSWER_SO_FAR = "the figures below aren't reliable"
NO_ANSWER_GROUND = f"{NO_ANSWER_SO_FAR}; run the test again on a quieter machine"


def run_grounds(run: RunStatus) -> list[str]:
    if run.has_no_answer:
        return [NO_ANSWER_GROUND]
    has_part = run.is_done and run.outcome != "complete" and run.figures.attempts
    partial = [f"partial figures: {run.measured}"] if has_part else []
    alone = "one run describes only itself; faster or slower needs three repeats"
    if run.took_turns:
        alone = "this arm took turns with others; its seconds count only its own turns"
    is_spread = run.plan.resolve == Resolve.ALL_ADDRESSES and not run.is_done
    later = ["the figures of each address come at the end"] if is_spread else []
    return [*partial, alone, *later]


def run_checks(run: RunStatus, answers: Sequence[ShownAnswer]) -> list[tuple[str, str]]:
    """(glyph, text) of every further reason and note: sentence and answers have the others."""
    if run.judged is None:
        return []
    texts = {text for text, _ in run_sentence(run)} | {each.reason for each in answers}
    reasons = (*run.judged.measurement.reasons, *run.judged.target.reasons, *run.judged.notes)
    return [
        (each.state if each.state not in _GOOD else "info", each.text)
        for each in reasons
        if not any(each.text in text for text in texts)
        and not (each.code in FAILED_CODES and _names_failures(run))
    ]


def run_tiles(run: RunStatus) -> list[dict[str, Any]]:
    """Ok requests/s, p50, p95, p99 and errors: [{key, title, value, unit, lines}]; none where
    there is no answer, and no times where all failed, which the sentence says."""
    if run.has_no_answer:
        return []
    figures = run.figures
    has_failed = run.is_done and figures.attempts and not figures.n
    return [
        _tile(
            "rate", f"Ok {run.plan.nouns}/s", units.rate(figures.rate_per_s), "", _rate_lines(run)
        ),
        *(_percentile_tile(run, q) for q in (() if has_failed else (P50, P95, P99))),
        _error_tile(run),
    ]


def _tile(key: str, title: str, value: str, unit: str, lines: list[str]) -> dict[str, Any]:
    return {"key": key, "title": title, "value": value, "unit": unit, "lines": lines}


def _rate_lines(run: RunStatus) -> list[str]:
    figures, plan, lines = run.figures, run.plan, []
    planned_per_s = plan.planned_rate_per_s
    if planned_per_s and figures.rate_per_s is not None:
        planned_rate, lasts_s = units.rate(planned_per_s), planned_duration_s(plan.load)
        words = f"of {planned_rate} planned"
        is_higher = figures.rate_per_s > planned_per_s
        # A rate is until the last request has ended, which may be before the planned time is over:
        # six requests, one every two seconds, take little more than ten.
        if is_higher and units.rate(figures.rate_per_s) != planned_rate and lasts_s is not None:
            words = f"{planned_rate} planned over {units.duration(lasts_s)}"
        lines.append(words)
    if plan.planned_requests and not run.took_turns:
        n_planned = units.counted(plan.planned_requests, run.plan.nouns)
        return [*lines, f"{units.count(figures.attempts)} of {n_planned}"]
    return [*lines, units.counted(figures.attempts, run.plan.nouns)]


def _percentile_tile(run: RunStatus, q: int) -> dict[str, Any]:
    figures, nouns = run.figures, run.plan.nouns
    verdict = shown(figures.n, q)
    if verdict is Shown.NO:
        why = _why_nothing(run) or why_not_shown(figures.n, q, nouns)
        return _tile(name(q), name(q), units.DASH, "", [why])
    value = units.figure(figures.percentiles[q] / 1000)
    lines = [f"of {units.counted(figures.n, f'ok {nouns}')}"]
    low_us, high_us = figures.low_us(name(q)), figures.percentiles[q]
    why_weak = why_not_shown(figures.n, q, nouns)
    if units.are_apart(low_us, high_us):
        own_us = high_us - figures.undelayed.percentile_us(q)
        waiting = f"up to {units.ms(own_us)} are this machine's waiting"
        value = units.ends_ms(low_us, high_us)
        lines = [waiting if own_us > 0 else BOTH_ENDS]
    elif run.judged and run.judged.is_busy:
        why_weak = why_weak or "includes the delays of a busy machine"
    if why_weak:
        value, lines = f"~{value}", [why_weak]
    return _tile(name(q), name(q), value, "ms", lines)


def _error_tile(run: RunStatus) -> dict[str, Any]:
    figures = run.figures
    if figures.error_share is None:
        return _tile("errors", "Errors", units.DASH, "", [_why_nothing(run)])
    value = units.percent(figures.error_share).removesuffix(f"{units.THIN}%")
    of = f"{units.count(figures.errors)} of {units.counted(figures.attempts, run.plan.nouns)}"
    return _tile("errors", "Errors", value, "%", [of])


def _why_nothing(run: RunStatus) -> str:
    """Why a tile has a dash; "" where something was measured, be it only failures."""
    if run.figures.attempts:
        return ""
    return "Nothing was measured." if run.is_done else "Nothing has been measured yet."


_GOOD = {"", Trust.TRUSTED, TargetState.HEALTHY}
_MEASUREMENT = "Reliability"
_TARGET = "Server health"
_PRECISION = "Precision"
_PRECISION_WORDS = {
    Precision.NONE: "No usable data",
    Precision.COARSE: "No p99",
    Precision.FINE: "Up to p99",
}


def three_answers(
    runs: Sequence[RunStatus], badge: Answers, sentence: Sentence
) -> tuple[ShownAnswer, ...]:
    """Of a run, or of a campaign's runs: `badge` is what its badge tells, `sentence` the one above.
    () until a run is judged."""
    runs = [each for each in runs if each.judged]
    if not runs:
        return ()
    return (
        _measurement(runs, badge),
        _target(runs, badge, plain_text(sentence)),
        _precision(runs),
    )


def _measurement(runs: Sequence[RunStatus], badge: Answers) -> ShownAnswer:
    doubtful_runs = [each for each in runs if each.judged.measurement.reasons]
    word, glyph = Trust(badge.trust).words.capitalize(), badge.trust
    if badge.is_usable_in_part:
        word, glyph = f"{word} in part", "warning"
    if doubtful_runs:
        states = list(Trust)
        every = (each.judged for each in doubtful_runs)
        worst = blame(max(every, key=lambda each: states.index(each.measurement.state)))
        reasons = [
            [
                each
                for each in (*run.judged.measurement.reasons, *run.judged.notes)
                if each.code == worst.code
            ]
            for run in doubtful_runs
        ]
        alike = [run for run, of_run in zip(doubtful_runs, reasons, strict=True) if of_run]
        others = _others(len(doubtful_runs) - len(alike), "disturbed")
        text = blamed_sentence([each for of_run in reasons for each in of_run], worst)
        reason = f"{_share(alike, runs)}{text}{others}"
    else:
        n = sum(each.figures.attempts for each in runs)
        nouns = runs[0].plan.nouns
        noun = counted(1, nouns).removeprefix("1 ")
        end = f"the only {noun} is accounted for" if n else f"no {noun} ended"
        end = f"all {counted(n, nouns)} are accounted for" if n > 1 else end
        reason = f"The injector kept up, and {end}."
        if any(each.took_turns for each in runs):
            reason = f"All arms met the same noise, and {end}."
    return ShownAnswer(_MEASUREMENT, glyph, word, reason)


def _target(runs: Sequence[RunStatus], badge: Answers, text_above: str) -> ShownAnswer:
    state = badge.target_state
    if not state:
        unknown = next((each for each in runs if not each.judged.target.state), runs[0])
        return ShownAnswer(_TARGET, "", "Unknown", unknown.judged.target.text)
    if state == TargetState.HEALTHY:
        remark = next(each for each in runs if each.judged.target.state == state).judged.target.text
        untold = remark and remark not in text_above
        return ShownAnswer(_TARGET, state, "Healthy", remark if untold else f"{_errors(runs)}.")
    reason = _why([each for each in runs if each.judged.target.state == state], runs, text_above)
    if badge.finds_limit and state == TargetState.OVERLOADED:
        return ShownAnswer(_TARGET, "limit_found", "Limit found", reason)
    return ShownAnswer(_TARGET, state, state.capitalize(), reason)


def _why(such: Sequence[RunStatus], runs: Sequence[RunStatus], text_above: str) -> str:
    """The first reason of the runs in which the target was so, and in how many it is one; how many
    requests failed and when, where the sentence has told it."""
    reason = such[0].judged.target.reasons[0]
    if reason.code not in FAILED_CODES and reason.text not in text_above:
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
        why = "These figures aren't reliable."
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
