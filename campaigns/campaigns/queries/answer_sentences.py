"""A campaign's answer in words: what failed, what was found, what is awaited. Checks no
permissions: callers pass what was read for rows found with visible_to."""

from collections.abc import Container, Sequence

from campaigns.campaigns.queries.shapes import Shapes
from campaigns.compare.queries.arm_pairs import MeasuredTest, metric_of, stop_reason_of
from campaigns.compare.queries.overheads import Overhead
from campaigns.domain.analysis.criteria import (
    CROWDED,
    CROWDED_BESIDE,
    HIGH_EFFECT,
    LATE,
    TYPICAL_EFFECT,
)
from campaigns.domain.analysis.limit import OTHERS
from campaigns.domain.analysis.messages import Sentence, so_far
from campaigns.domain.analysis.pair import Reason, holm
from campaigns.domain.analysis.ratio import CLEAR
from campaigns.domain.analysis.side_by_side import CONFIDENCE, LOOKS
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.lifecycle import Outcome, Trust
from campaigns.domain.metrics.figures import Figures
from campaigns.domain.metrics.outcomes import everything_failed
from campaigns.domain.presentation.intervals import difference_words
from campaigns.domain.presentation.ladder_words import ladder_sentence
from campaigns.domain.presentation.report_words import (
    LIMIT_FOUND,
    NO_ANSWER_GROUND,
    NO_ANSWER_SO_FAR,
    all_failed_sentence,
    errors_text,
    failure_lead,
    machine_words,
    remark_words,
    time_words,
)
from campaigns.domain.presentation.sentences import (
    MESSAGE,
    ArmTime,
    Pair,
    overhead_sentence,
    times_sentence,
)
from campaigns.domain.presentation.sweeps import sweep_sentence
from campaigns.domain.presentation.target_matrix import matrix_sentence
from campaigns.domain.presentation.threshold_tables import broken_words, kept_words, open_words
from campaigns.domain.presentation.what_to_do import frequent_cause, no_answer_words
from campaigns.domain.units import (
    and_joined,
    common_nouns,
    counted,
    duration,
    percent,
    rate,
    said_of,
    typed_percent,
)
from campaigns.models import Campaign
from campaigns.runs.queries.measurements import MeasuredRun, counted_runs, why_each
from campaigns.runs.queries.runs import CampaignFailures

_COUNTED = ("errors", "attempts")
_CROWDED_SHARE = 0.8
# Notes of single runs about what a comparison side by side does not count.
_LEFT_OUT = {TYPICAL_EFFECT, HIGH_EFFECT, LATE}
_INTERVALS = f"{percent(0.95, decimals=0)} intervals"


def grounds_of(
    campaign: Campaign,
    arms: Sequence[MeasuredTest],
    overheads: Sequence[Overhead],
    runs: Sequence[MeasuredRun],
    partial: MeasuredRun | None,
) -> list[str]:
    if partial:
        return [
            f"partial figures of run {partial.run.label}, which measured for "
            f"{duration(partial.measurement.duration_s)}"
        ]
    figures_by_arm = [figures for arm in arms if (figures := arm.pooled[1])]
    if not figures_by_arm and not any(each.has_word for each in overheads):
        ground = NO_ANSWER_GROUND if campaign.finished_at else NO_ANSWER_SO_FAR
        return [ground] if any(each.has_no_answer for each in runs) else []
    has_pairs = not _fail_all(overheads)
    grounds = []
    # Of a single arm with figures the sentence itself counts the errors.
    if has_pairs or len(figures_by_arm) > 1:
        figures = [each.figures for arm in arms for each in arm.comparable]
        errors, attempts = (sum(getattr(each, name) for each in figures) for name in _COUNTED)
        if attempts:
            has_others = sum(each.figures.attempts for each in runs if each.figures) > attempts
            failed = errors_text(errors, attempts, common_nouns(arm.noun for arm in arms))
            grounds.append(failed + " of the runs that count" * has_others)
    if has_pairs:
        threshold = typed_percent(campaign.practical_threshold)
        practical = f"differences below {threshold} are ignored"
        if all(each.turns for each in overheads):
            metric = "compared by the median without the injector's part"
        elif all(each.judged.metric == "mean" for each in overheads):
            metric = "compared by mean response time"
        else:
            has_median = any(each.judged.metric == "p50" for each in overheads)
            median = "medians" if has_median else "medians without the injector's part"
            metric = f"the machine was busy, so {median} are compared"
        grounds += [_interval_ground(overheads[0]), practical, metric]
    intervals = (each.judged.interval for each in overheads if each.has_word)
    p_values = [interval.p_value for interval in intervals if interval]
    differing, alone = sum(p < 0.05 for p in holm(p_values)), sum(p < 0.05 for p in p_values)
    if differing != alone:  # the correction takes away what a single interval shows
        grounds.append(f"{differing} of {len(p_values)} comparisons differ after Holm's correction")
    grounds += _limits(overheads)
    in_turns = bool(overheads) and all(each.turns for each in overheads)
    notes = notes_of(runs, disturbing=False, besides=_LEFT_OUT if in_turns else ())
    # What else than another end makes a run unusable is in the answers.
    cut_off = [each for each in runs if each.run.is_done and each.run.outcome != Outcome.COMPLETE]
    if cut_off:
        alike = [each for each in cut_off if each.why_unusable == cut_off[0].why_unusable]
        where = f"{len(alike)} of {len(runs)} runs" if len(runs) > 1 else "the only run"
        grounds.append(f"{where} did not finish. {why_each(alike)}")
        if others := len(cut_off) - len(alike):
            grounds[-1] += f" {counted(others, 'other runs')} did not finish for another reason."
    return grounds + notes


def _limits(overheads: Sequence[Overhead]) -> list[str]:
    """What else has to be known of the comparisons; with its name where it is of one of several."""
    limits = [
        (limit, each.pair.title) for each in overheads if each.turns for limit in each.turns.limits
    ]
    limits += [(words, each.pair.title) for each in overheads for words in _flow_words(each)]
    titles: dict[str, list[str]] = {}
    for limit, title in limits:
        titles.setdefault(limit, []).append(title)
    return [
        f"{of[0]}: {limit[:1].lower()}{limit[1:]}" if len(of) == 1 < len(overheads) else limit
        for limit, of in titles.items()
    ]


def _fail_all(overheads: Sequence[Overhead]) -> bool:
    """Whether none is left of which the times can be compared."""
    return all(each.judged.reason is Reason.ERRORS for each in overheads)


def _flow_words(overhead: Overhead) -> list[str]:
    """Of each flow that became slower or faster, unless all requests together did so, too."""
    sentences = []
    for row in overhead.flow_rows:
        if row.metric != "p95" and row.word in CLEAR - {overhead.judged.word}:
            interval = row.interval
            change, ends = difference_words(row.word, interval.ratio, interval.low, interval.high)
            sentences.append(f"The flow {row.flow} is {change} ({ends})")
    return sentences


def _interval_ground(overhead: Overhead) -> str:
    if turns := overhead.turns:
        name = f"{percent(CONFIDENCE, decimals=0)} intervals"
        return f"{name} over {counted(turns.n_rounds, 'rounds')} side by side"
    sides = overhead.sides
    if overhead.is_paired:
        # Such as "95 % intervals over 4 of 5 blocks, paired; run 12.7 cannot be used".
        common = set.intersection(*({run.run.repeat for run in side} for side in sides))
        repeats = {run.run.repeat for arm in overhead.pair for run in arm.runs if run.run.is_done}
        if len(repeats) < 2 or len(common) < 2:
            return "no interval with fewer than two repeats"
        if common == repeats:
            return f"{_INTERVALS} over {len(common)} paired blocks"
        runs = (run for arm in overhead.pair for run in arm.runs)
        missing = [run.run.label for run in runs if run.run.is_done and not run.is_usable]
        unusable = ""
        if missing:
            labels = [*missing[:3], *([f"{len(missing) - 3} more"] if len(missing) > 3 else [])]
            noun = "runs" if len(labels) > 1 else "run"
            unusable = f"; {noun} {and_joined(labels)} cannot be used"
        return f"{_INTERVALS} over {len(common)} of {len(repeats)} blocks, paired{unusable}"
    k = min(map(len, sides))
    if k < 2:
        return "no interval with fewer than two repeats"
    return f"{_INTERVALS} over {k} repeats of each"


def notes_of(
    runs: Sequence[MeasuredRun], *, disturbing: bool, besides: Container[str] = ()
) -> list[str]:
    """Of each kind of note the one with the highest value, and how many runs have one. Who is to
    blame for a doubt is among the answers. `besides`: kinds that are left out."""
    notes = [
        note
        for each in runs
        if each.judged
        for note in each.judged.notes
        if (note.code in OTHERS) == disturbing and note.code not in besides
        if not (disturbing and each.judged.is_in_doubt)
    ]
    texts, codes = [], dict.fromkeys(note.code for note in notes)
    if CROWDED_BESIDE in codes:  # of a run that was not answered nobody knows where its target is
        codes.pop(CROWDED, None)
    for code in codes:
        alike = sorted((each for each in notes if each.code == code), key=lambda each: each.value)
        differ = len({each.text for each in alike}) > 1
        text = alike[-1].text
        if differ:
            text = f"{text.rstrip('.')} (in {len(alike)} of {len(runs)} runs, at most)."
        texts.append(text)
    return texts


def first_words(
    campaign: Campaign, runs: Sequence[MeasuredRun], failures: CampaignFailures, noun: str
) -> Sentence:
    """What comes before the figures: broken rules, and the target's failures."""
    broken = said_of(noun, broken_words(judged_rules(runs)))
    sentence = [(f"{broken}.", True), (" ", False)] if broken else []
    may_see = all(each.run.shows_machine for each in runs)
    if stopped_because := stop_reason_of(campaign, shows_machines=may_see):
        return [(stopped_because, True), (" ", False), *sentence]
    if everything_failed(failures.rows, failures.attempts):
        failed = all_failed_sentence(failures.rows, failures.attempts, noun)
        return [*failed, (" ", False), *sentence]
    if not counted_runs(runs):
        return sentence
    lead = failure_lead(failures.rows, failures.attempts, noun)
    is_found = all(each.run.has_found_limit for each in counted_runs(runs))
    return [*sentence, *(LIMIT_FOUND if lead and is_found else []), *lead]


def judged_rules(runs: Sequence[MeasuredRun]) -> list[list[Verdict]]:
    """The verdicts of each run whose measurement can be used."""
    usable = [each for each in runs if each.run.trust != Trust.NO_ANSWER]
    return [verdicts for each in usable if each.run.is_done and (verdicts := each.thresholds)]


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
    is_known = any(each.has_word or each.judged.reason is Reason.ERRORS for each in overheads)
    if not (is_known or shapes.has_word or any(arm.counted for arm in arms)):
        # No run has figures that count: why not, or what is awaited.
        ended_runs = [each for each in runs if each.run.is_done]
        spoilt = [each.judged for each in ended_runs if each.has_no_answer]
        if spoilt:
            # Runs that a stop kept from beginning have ended, too.
            n_measured = sum(bool(each.run.judgement) for each in ended_runs)
            text = no_answer_words(spoilt, n_measured, so_far=not is_final)
            return [(f"{text}.", True)]
        if is_final:
            why = next((each.why_unusable for each in ended_runs if each.why_unusable), "")
            if len({each.why_unusable for each in ended_runs}) == 1:
                why = why_each(ended_runs)
            if campaign.stop_reason:
                why = ""  # it has been said
            words = ("Nothing was measured.", why, "Run it again.")
            return [(" ".join(filter(None, words)), False)]
        if campaign.order == Campaign.Order.SIDE_BY_SIDE:
            text = f"The arms take turns. The first answer comes after {LOOKS[0]} rounds."
            return [(text, False)]
        has = "has" if 1 in (len(ended_runs), len(runs)) else "have"
        text = f"{len(ended_runs)} of {counted(len(runs), 'runs')} {has} ended."
        next_text = "Figures appear with the first usable run, a verdict with the third repeat."
        return [(f"{text} {next_text}", False)]
    verdicts = judged_rules(runs)
    rules = open_words([each for of_run in verdicts for each in of_run])
    rules += [f"{rules_kept}."] if (rules_kept := kept_words(verdicts)) else []
    return [
        *_overload_words(runs),
        *machine_words([each.judged for each in counted_runs(runs) if each.judged]),
        *remark_words([each.judged for each in counted_runs(runs) if each.judged]),
        *_figures_sentence(arms, overheads, shapes, runs, is_final),
        *((f" {each}", False) for each in rules if is_final),
    ]


def _overload_words(runs: Sequence[MeasuredRun]) -> Sentence:
    """Where all that counts measures overload: the finding, if the load looks for the limit."""
    usable = counted_runs(runs)
    if not usable or not all(each.judged and each.judged.is_saturated for each in usable):
        return []
    is_found = all(each.run.has_found_limit for each in usable)
    finding = "The limit was found" if is_found else "The target was overloaded"
    return [(finding, True), (f": {usable[0].judged.target.text} ", False)]


def _figures_sentence(
    arms: Sequence[MeasuredTest],
    overheads: Sequence[Overhead],
    shapes: Shapes,
    runs: Sequence[MeasuredRun],
    is_final: bool,
) -> Sentence:
    if not overheads or (_fail_all(overheads) and any(arm.pooled[1] for arm in arms)):
        words = sweep_sentence(shapes.sweeps)
        if shapes.matrix:
            words = matrix_sentence(shapes.matrix, is_final=is_final)
            if words and not is_final and shapes.matrix.in_turns:
                return [("So far: ", False), *words]
        words = ladder_sentence(shapes.rungs) if shapes.rungs else words
        if words and not is_final and shapes.rungs and shapes.rungs.in_turns:
            return so_far(words)
        return (words if is_final else []) or _plain_sentence(arms, is_final)
    many_plans = len({each.pair.candidate.plan_label for each in overheads}) > 1
    pairs = [
        Pair(
            ", ".join(filter(None, [each.pair.candidate.plan_label * many_plans, each.pair.place])),
            MESSAGE if each.pair.candidate.has_messages else each.pair.shared_mode,
            each.judged,
            each.has_word,
            each.pair.names,
            _why_not(each),
        )
        for each in overheads
    ]
    settles_s = None if is_final else _settles_s(overheads)
    is_crowded = lacked_cpu(runs)
    return overhead_sentence(pairs, is_final=is_final, is_crowded=is_crowded, settles_s=settles_s)


def _settles_s(overheads: Sequence[Overhead]) -> float | None:
    """In how long all that is still open will be clear; None where nothing tells, or where the
    limit comes first."""
    in_turns = [each.turns for each in overheads if each.turns]
    open_ones = [each for each in in_turns if not each.found.is_settled]
    if not open_ones or any(each.judged.more_s is None for each in open_ones):
        return None
    longest_s = max(each.judged.more_s for each in open_ones)
    return longest_s if longest_s <= min(each.left_s for each in in_turns) else None


def lacked_cpu(runs: Sequence[MeasuredRun]) -> bool:
    """Whether others used nearly all of an injector host's CPU: an arm that needs more of it then
    waits longer than its share."""
    return any(
        note.code in {CROWDED, CROWDED_BESIDE} and note.value >= _CROWDED_SHARE
        for each in runs
        if each.judged
        for note in each.judged.notes
    )


def _why_not(overhead: Overhead) -> str:
    """Why there is nothing to compare: "the injector had no CPU in 3 of 3 HTTPS runs"; "" where
    that is still to come."""
    for arm, name in zip(overhead.pair, overhead.pair.names, strict=True):
        spoilt = [each.judged for each in arm.runs if each.has_no_answer]
        if spoilt and not arm.counted:
            return frequent_cause(spoilt, len(arm.runs), f"{name} runs")
    return ""


def _plain_sentence(arms: Sequence[MeasuredTest], is_final: bool) -> Sentence:
    """The sentence without an HTTP/HTTPS pair: figures only, no verdict."""
    arms_with_figures = [(arm, figures) for arm in arms if (figures := arm.pooled[1])]
    metric = metric_of(arm for arm, _ in arms_with_figures)
    so_far = "" if is_final else "So far "

    def us(arm: MeasuredTest, figures: Figures) -> float:
        return figures.mean_us if metric == "mean" else arm.time_us(metric)

    def took(arm: MeasuredTest, figures: Figures) -> str:
        return time_words(figures, us(arm, figures), metric, is_about=arm.is_busy)

    if len(arms_with_figures) == 1:
        arm, figures = arms_with_figures[0]
        name = f"{arm.plan_label} over {arm.label}"
        # What failed is known of every run, however busy its machine was.
        every = [each.figures for each in arm.comparable]
        errors, attempts = (sum(getattr(each, name) for each in every) for name in _COUNTED)
        failed = errors_text(errors, attempts, arm.noun)
        per_s = f"{rate(figures.rate_per_s)} ok {arm.noun}/s"
        if arm.counted[0].measurement.plan.is_flat_out:
            at_most = "about" if arm.is_busy else "at most"
            return [
                (f"{so_far}{name} answers {at_most} ", False),
                (per_s, True),
                (f", {took(arm, figures)}, {failed}.", False),
            ]
        text = f"{so_far}{name} takes "
        return [(text, False), (took(arm, figures), True), (f" at {per_s}, {failed}.", False)]
    times = [
        ArmTime(arm.plan_label, arm.label, us(arm, of), took(arm, of))
        for arm, of in arms_with_figures
    ]
    return times_sentence(times, is_final=is_final)
