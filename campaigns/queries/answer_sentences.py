"""A campaign's answer in words: what failed, what was found, what is awaited.

Checks no permissions: callers pass what was read for rows found with visible_to.
"""

from collections.abc import Sequence

from campaigns.domain.judged.failures import everything_failed
from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.plan.questions import is_flat_out
from campaigns.domain.shown.ladder_words import ladder_sentence
from campaigns.domain.shown.no_answer import cause_words, no_answer_words
from campaigns.domain.shown.report_words import (
    LIMIT_FOUND,
    all_failed_sentence,
    errors_text,
    failure_lead,
    machine_words,
    remark_words,
)
from campaigns.domain.shown.results import Sentence
from campaigns.domain.shown.sentences import Pair, overhead_sentence
from campaigns.domain.shown.sweep_words import sweep_sentence
from campaigns.domain.shown.target_matrix_words import matrix_sentence
from campaigns.domain.shown.threshold_words import broken_words, kept_words
from campaigns.domain.units import counted, ms, rate, said_of
from campaigns.models import Campaign
from campaigns.queries.arm_pairs import MeasuredTest
from campaigns.queries.arms import stop_reason_of
from campaigns.queries.failures import CampaignFailures
from campaigns.queries.measured import (
    MeasuredRun,
    counted_runs,
    why_each,
)
from campaigns.queries.overheads import Overhead
from campaigns.queries.shapes import Shapes


def first_words(
    campaign: Campaign, runs: Sequence[MeasuredRun], failures: CampaignFailures, noun: str
) -> Sentence:
    """What comes before the figures: broken rules, and the target's failures."""
    broken = said_of(noun, broken_words(judged_rules(runs)))
    said = [(f"{broken}.", True), (" ", False)] if broken else []
    may_see = all(each.run.shows_machine for each in runs)
    if stopped_because := stop_reason_of(campaign, shows_machines=may_see):
        return [(stopped_because, True), (" ", False), *said]
    if everything_failed(failures.rows, failures.attempts):
        failed = all_failed_sentence(failures.rows, failures.attempts, noun)
        return [*failed, (" ", False), *said]
    if not counted_runs(runs):
        return said
    lead = failure_lead(failures.rows, failures.attempts, noun)
    is_found = all(each.run.has_found_limit for each in counted_runs(runs))
    return [*said, *(LIMIT_FOUND if lead and is_found else []), *lead]


def judged_rules(runs: Sequence[MeasuredRun]) -> list[list[Verdict]]:
    """The verdicts of each run whose thresholds say something about the target."""
    return [each.thresholds for each in runs if each.threshold_state]


def figures_words(
    campaign: Campaign,
    arms: Sequence[MeasuredTest],
    overheads: Sequence[Overhead],
    shapes: Shapes,
    runs: Sequence[MeasuredRun],
    failures: CampaignFailures,
    is_final: bool,
) -> Sentence:
    """The figures; where everything failed, nothing more is said."""
    if everything_failed(failures.rows, failures.attempts):
        return []
    if campaign.started_at is None:
        tests, repeats = counted(len(arms), "tests"), counted(campaign.repeats, "repeats")
        n_runs = len(arms) * campaign.repeats
        return [(f"Not started yet: {tests}, {repeats}, {counted(n_runs, 'runs')}.", False)]
    if not any(arm.counted for arm in arms):
        return _nothing_yet(runs, is_final)
    kept = kept_words(judged_rules(runs))
    return [
        *_overload_words(runs),
        *machine_words([each.judged for each in counted_runs(runs) if each.judged]),
        *remark_words([each.judged for each in counted_runs(runs) if each.judged]),
        *_figures_sentence(arms, overheads, shapes, runs, is_final),
        *([(f" {kept}.", False)] if kept and is_final else []),
    ]


def _overload_words(runs: Sequence[MeasuredRun]) -> Sentence:
    """Where all that counts measures overload: the finding, if the load looks for the limit."""
    counted = counted_runs(runs)
    if not all(each.judged and each.judged.is_saturated for each in counted):
        return []
    is_found = all(each.run.has_found_limit for each in counted)
    said = "The limit was found" if is_found else "The target was overloaded"
    return [(said, True), (f": {counted[0].judged.target.text} ", False)]


def _figures_sentence(
    arms: Sequence[MeasuredTest],
    overheads: Sequence[Overhead],
    shapes: Shapes,
    runs: Sequence[MeasuredRun],
    is_final: bool,
) -> Sentence:
    if not overheads:
        found = matrix_sentence(shapes.matrix) if shapes.matrix else sweep_sentence(shapes.sweeps)
        found = ladder_sentence(shapes.rungs) if shapes.rungs else found
        return (found if is_final else []) or _plain_sentence(arms, is_final)
    many_plans = len({each.pair.candidate.plan_label for each in overheads}) > 1
    pairs = [
        Pair(
            ", ".join(filter(None, [each.pair.candidate.plan_label * many_plans, each.pair.place])),
            each.pair.shared_mode,
            each.mean,
            each.verdict,
            each.has_word,
            each.pair.names,
            _why_not(each),
        )
        for each in overheads
    ]
    return overhead_sentence(pairs, is_final=is_final)


def _why_not(overhead: Overhead) -> str:
    """Why there is nothing to compare: "the injector had no CPU in 3 of 3 HTTPS runs"; "" where
    that is still to come."""
    for arm, name in zip(overhead.pair, overhead.pair.names, strict=True):
        spoilt = [each.judged for each in arm.runs if each.has_no_answer]
        if spoilt and not arm.counted:
            return cause_words(spoilt, len(arm.runs), f"{name} runs")
    return ""


def _nothing_yet(runs: Sequence[MeasuredRun], is_final: bool) -> Sentence:
    """No run has figures that count: why not, or what is awaited."""
    ended = [each for each in runs if each.run.is_done]
    spoilt = [each.judged for each in ended if each.has_no_answer]
    if spoilt:
        # Runs that a stop kept from beginning have ended, too.
        n_measured = sum(bool(each.run.judgement) for each in ended)
        said = no_answer_words(spoilt, n_measured, so_far=not is_final)
        return [(f"{said}.", True)]
    if is_final:
        why = _why_none(ended)
        return [(f"No answer: no run has figures. {why}".strip(), False)]
    return [(_awaited(len(ended), runs), False)]


def _why_none(ended: Sequence[MeasuredRun]) -> str:
    """Why none of them has figures; of runs that ended in several ways, why the first has none."""
    if len({each.why_unusable for each in ended}) == 1:
        return why_each(ended)
    return next((each.why_unusable for each in ended if each.why_unusable), "")


def _awaited(n_done: int, runs: Sequence[MeasuredRun]) -> str:
    has = "has" if 1 in (n_done, len(runs)) else "have"
    done = f"{n_done} of {counted(len(runs), 'runs')} {has} ended"
    return f"{done}. Figures appear with the first usable run, a verdict with the third repeat."


def _plain_sentence(arms: Sequence[MeasuredTest], is_final: bool) -> Sentence:
    """The sentence without an HTTP/HTTPS pair: figures only, no verdict."""
    pooled = [(arm, figures) for arm in arms if (figures := arm.pooled[1])]
    so_far = "" if is_final else "So far "
    if len(pooled) == 1:
        arm, figures = pooled[0]
        name = f"{arm.plan_label} over {arm.label}"
        errors = errors_text(figures.errors, figures.attempts, arm.noun)
        if is_flat_out(arm.counted[0].measurement.plan):
            return [
                (f"{so_far}{name} answers at most ", False),
                (f"{rate(figures.rate_per_s)} ok {arm.noun}/s", True),
                (f", {ms(figures.mean_us)} on average, {errors}.", False),
            ]
        text = f"{so_far}{name} takes "
        return [
            (text, False),
            (f"{ms(figures.mean_us)} on average", True),
            (f" at {rate(figures.rate_per_s)} ok {arm.noun}/s, {errors}.", False),
        ]
    pooled.sort(key=lambda pair: pair[1].mean_us)
    (fast, least), (slow, most) = pooled[0], pooled[-1]
    return [
        (f"{so_far}{len(pooled)} tests: on average from ", False),
        (ms(least.mean_us), True),
        (f" ({fast.plan_label}, {fast.label}) to ", False),
        (ms(most.mean_us), True),
        (f" ({slow.plan_label}, {slow.label}).", False),
    ]
