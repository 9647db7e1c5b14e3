"""A campaign's answer, read from the summaries of its finished runs.

Checks no permissions: callers pass rows found with visible_to.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from campaigns.domain.judged.failures import everything_failed
from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.measured.percentile_curve import curve
from campaigns.domain.plan.questions import is_flat_out
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES, counted_in
from campaigns.domain.shown.exchange_tables import Exchanged, campaign_exchange_tables
from campaigns.domain.shown.latency_table import latency_table
from campaigns.domain.shown.no_answer import cause_words, no_answer_words
from campaigns.domain.shown.report_words import (
    LIMIT_FOUND,
    all_failed_sentence,
    errors_text,
    failure_lead,
    machine_words,
    remark_words,
    run_sentence,
)
from campaigns.domain.shown.results import Answer, Sentence, SweepAnswer, TestAnswer, trimmed
from campaigns.domain.shown.sentences import Pair, overhead_sentence
from campaigns.domain.shown.sweep_words import sweep_sentence
from campaigns.domain.shown.tables import Table
from campaigns.domain.shown.target_matrix import TargetMatrix
from campaigns.domain.shown.target_matrix_words import matrix_sentence
from campaigns.domain.shown.three_answers import three_answers
from campaigns.domain.shown.threshold_tables import campaign_thresholds_table
from campaigns.domain.shown.threshold_words import broken_words, kept_words
from campaigns.domain.shown.what_to_do import what_to_do
from campaigns.domain.units import DASH, counted, ms, rate
from campaigns.models import Campaign, Run, Test, without_references
from campaigns.queries.arm_pairs import MeasuredTest, pairs_of
from campaigns.queries.arms import measured_tests
from campaigns.queries.failures import CampaignFailures, failures_of
from campaigns.queries.grounds import grounds_of
from campaigns.queries.measured import (
    MeasuredRun,
    counted_runs,
    measured_runs,
    target_state_of,
    threshold_state_of,
    trust_of,
)
from campaigns.queries.overheads import Overhead, compare, overhead_answer
from campaigns.queries.reports import run_status
from campaigns.queries.searches import report_of_search
from campaigns.queries.sweeps import sweep_answers
from campaigns.queries.target_matrix import target_matrix

# What a campaign is besides its tests: a matrix of several targets, or sweeps.
_Shapes = tuple[TargetMatrix | None, Sequence[SweepAnswer]]
# How a run ended that has partial figures.
_CUT_SHORT = {Outcome.PARTIAL, Outcome.STOPPED, Outcome.KILLED}


def campaign_answer(
    campaign: Campaign,
    chosen: tuple[int, int] | None = None,
    relative: int = 1,
    *,
    shows_machines: bool = True,
) -> Answer:
    """The verdict in words, a table per test and an overhead per pair of HTTP and HTTPS tests.

    `chosen`: the ids of two tests, candidate and baseline, that are compared instead. `relative`:
    the column that a matrix or sweeps of several arms are relative to, from 1. `shows_machines`:
    whether the reader may know what the targets' machines did.
    """
    answers = campaign_answers([campaign], chosen, relative, shows_machines=shows_machines)
    return answers[campaign.pk]


def campaign_answers(
    campaigns: Sequence[Campaign],
    chosen: tuple[int, int] | None = None,
    relative: int = 1,
    *,
    shows_machines: bool = True,
) -> dict[int, Answer]:
    """The answers by campaign, in four queries for all of them, and a few for each search."""
    rows = Run.objects.filter(campaign__in=campaigns).prefetch_related("shards")
    runs = measured_runs(rows.order_by("campaign", "position"))
    for each in runs:
        each.run.shows_machine = shows_machines
    related = ("plan_version__plan", "endpoint__target", "campaign__search")
    tests = Test.objects.filter(campaign__in=campaigns).select_related(*related)
    tests = list(tests.order_by("campaign", "position"))
    answers = {
        each.pk: _answer(
            each,
            [test for test in tests if test.campaign_id == each.pk],
            [run for run in runs if run.run.campaign_id == each.pk],
            chosen,
            relative,
        )
        for each in campaigns
    }
    return answers | {pk: replace(answers[pk], sentence=said) for pk, said in _said_by(tests)}


def _said_by(tests: Sequence[Test]) -> Iterator[tuple[int, Sentence]]:
    """What searches for a capacity say: to pool trials at several rates would say nothing."""
    for test in tests:
        if hasattr(test.campaign, "search"):
            yield test.campaign_id, report_of_search(test.campaign.search).sentence


def _answer(
    campaign: Campaign,
    tests: list[Test],
    every_run: list[MeasuredRun],
    chosen: tuple[int, int] | None,
    relative: int,
) -> Answer:
    counted, of_reference = without_references(tests)
    arms, references = (measured_tests(each, every_run) for each in (counted, of_reference))
    runs = [each for arm in arms for each in arm.runs]
    runs.sort(key=lambda each: each.run.position)
    sweeps = sweep_answers(campaign, arms, relative)
    # A sweep's tables and curves tell its targets apart at each value.
    matrix = None if sweeps else target_matrix(campaign, arms, relative)
    # A reference is compared only if somebody chooses it.
    pairs = pairs_of([*arms, *references] if chosen else arms, chosen)
    overheads = [compare(campaign, pair) for pair in pairs]
    is_final = campaign.finished_at is not None
    failures = failures_of(runs)
    partial = _partial_run(runs) if is_final else None
    if partial:
        sentence = run_sentence(run_status(partial.run, partial.measurement))
    else:
        sentence = [
            *_first_words(campaign, runs, failures, counted_in(arm.scheme for arm in arms)),
            *_sentence(campaign, arms, overheads, (matrix, sweeps), runs, failures, is_final),
        ]
    answer = Answer(
        sentence=trimmed(sentence),
        grounds=grounds_of(campaign, arms, overheads, runs, partial),
        partial_run=partial and partial.run.pk,
        has_no_answer=not counted_runs(runs) and any(each.has_no_answer for each in runs),
        tests=[_test_answer(campaign, arm, has_curve=matrix is None) for arm in arms],
        references=[_test_answer(campaign, arm, has_curve=False) for arm in references],
        overheads=[overhead_answer(each, is_final=is_final) for each in overheads],
        n_done=sum(each.run.is_done for each in every_run),
        n_runs=len(every_run) or len(tests) * campaign.repeats,
        has_word=any(each.has_word for each in overheads),
        thresholds=_thresholds(arms),
        errors=failures.errors,
        exchanges=campaign_exchange_tables(_exchanged(arms)),
        sweeps=tuple(sweeps),
        matrix=matrix,
    )
    statuses = [run_status(each.run, each.measurement) for each in runs if each.measurement]
    judged = [each.judged for each in statuses if each.judged]
    return replace(
        answer,
        answers=three_answers(statuses, answer.found, answer.sentence),
        remedies=what_to_do(judged, failures.rows, answer.found),
    )


def _partial_run(runs: Sequence[MeasuredRun]) -> MeasuredRun | None:
    """The run with most requests that did not end as planned, where no run did with figures."""
    if any(each.is_whole for each in runs):
        return None
    cut_short = [each for each in runs if each.run.outcome in _CUT_SHORT and each.figures]
    measured = [each for each in cut_short if each.figures.attempts]
    return max(measured, key=lambda each: each.figures.attempts, default=None)


def _first_words(
    campaign: Campaign, runs: Sequence[MeasuredRun], failures: CampaignFailures, noun: str
) -> Sentence:
    """What comes before the figures: broken rules, and the target's failures."""
    broken = broken_words(_judged_rules(runs))
    said = [(f"{broken}.", True), (" ", False)] if broken else []
    if campaign.stop_reason:
        return [(campaign.stop_reason, True), (" ", False), *said]
    if everything_failed(failures.rows, failures.attempts):
        failed = all_failed_sentence(failures.rows, failures.attempts, noun)
        return [*failed, (" ", False), *said]
    if not counted_runs(runs):
        return said
    lead = failure_lead(failures.rows, failures.attempts, noun)
    is_found = all(each.run.has_found_limit for each in counted_runs(runs))
    return [*said, *(LIMIT_FOUND if lead and is_found else []), *lead]


def _judged_rules(runs: Sequence[MeasuredRun]) -> list[list[Verdict]]:
    """The verdicts of each run whose thresholds say something about the target."""
    return [each.thresholds for each in runs if each.threshold_state]


def _exchanged(arms: Sequence[MeasuredTest]) -> list[Exchanged]:
    """The WebSocket tests with measured data."""
    names_plan = len({arm.plan_label for arm in arms}) > 1
    return [
        Exchanged(
            f"{arm.plan_label}, {arm.label}" if names_plan else arm.label,
            total,
            figures.duration_s,
            _most_open(arm),
        )
        for arm in arms
        if arm.scheme in WEBSOCKET_SCHEMES
        for total, figures in [arm.pooled]
        if figures
    ]


def _most_open(arm: MeasuredTest) -> int | None:
    return max((each.most_open for each in arm.counted if each.most_open is not None), default=None)


def _thresholds(arms: Sequence[MeasuredTest]) -> Table:
    many_plans = len({arm.plan_label for arm in arms}) > 1
    return campaign_thresholds_table(
        (
            f"{arm.plan_label}, {arm.label}" if many_plans else arm.label,
            [each.thresholds for each in arm.runs if each.thresholds],
        )
        for arm in arms
    )


def _test_answer(campaign: Campaign, arm: MeasuredTest, *, has_curve: bool) -> TestAnswer:
    total, pooled = arm.pooled
    table = latency_table(
        f"test-{arm.test.pk}",
        f"{arm.plan_label}: {arm.label}",
        [each.line(is_counted=each in arm.counted) for each in arm.runs],
        pooled,
        is_sound=arm.is_sound,
        noun=arm.noun,
    )
    return TestAnswer(
        test_id=arm.test.pk,
        label=arm.label,
        scheme=arm.scheme,
        connection_mode=arm.test.connection_mode,
        plan_label=arm.plan_label,
        table=table,
        means_ms=_means_ms(campaign, arm.counted),
        apart_ms=_means_ms(campaign, [each for each in arm.runs if each not in arm.counted]),
        means_text=_means_text(campaign, arm, table),
        trust=trust_of(arm.runs),
        target_state=target_state_of(arm.runs),
        threshold_state=threshold_state_of(arm.runs),
        finds_limit=any(each.run.has_found_limit for each in arm.runs),
        curve=curve(total.timing("response")) if has_curve else [],
        counted=tuple(each.run.pk for each in arm.counted),
    )


def _means_ms(campaign: Campaign, runs: Sequence[MeasuredRun]) -> list[float | None]:
    by_repeat = {each.run.repeat: each.figures.mean_us / 1000 for each in runs if _has_mean(each)}
    return [by_repeat.get(repeat) for repeat in range(1, campaign.repeats + 1)]


def _has_mean(each: MeasuredRun) -> bool:
    return bool(each.figures and each.figures.mean_us)


def _means_text(campaign: Campaign, arm: MeasuredTest, table: Table) -> list[str]:
    """The means as the test's table shows them."""
    mean = [column.key for column in table.columns].index("mean")
    rows = zip(arm.runs, table.rows[: len(arm.runs)], strict=True)
    by_repeat = {each.run.repeat: row.cells[mean].text for each, row in rows}
    return [by_repeat.get(repeat, DASH) for repeat in range(1, campaign.repeats + 1)]


def _sentence(
    campaign: Campaign,
    arms: Sequence[MeasuredTest],
    overheads: Sequence[Overhead],
    shapes: _Shapes,
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
    kept = kept_words(_judged_rules(runs))
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
    shapes: _Shapes,
    runs: Sequence[MeasuredRun],
    is_final: bool,
) -> Sentence:
    if not overheads:
        matrix, sweeps = shapes
        found = matrix_sentence(matrix) if matrix else sweep_sentence(sweeps)
        return (found if is_final else []) or _plain_sentence(arms, runs, is_final)
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
        said = no_answer_words(spoilt, len(ended), so_far=not is_final)
        return [(f"{said}.", True)]
    if is_final:
        why = next((each.why_unusable for each in runs if each.why_unusable), "")
        return [(f"No answer: no run has figures. {why}".strip(), False)]
    return [(_awaited(len(ended), runs), False)]


def _awaited(n_done: int, runs: Sequence[MeasuredRun]) -> str:
    has = "has" if 1 in (n_done, len(runs)) else "have"
    done = f"{n_done} of {counted(len(runs), 'runs')} {has} ended"
    return f"{done}. Figures appear with the first usable run, a verdict with the third repeat."


def _plain_sentence(
    arms: Sequence[MeasuredTest], runs: Sequence[MeasuredRun], is_final: bool
) -> Sentence:
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
