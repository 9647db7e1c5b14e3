"""A campaign's answer, read from the summaries of its finished runs.

Checks no permissions: callers pass rows found with visible_to.
"""

from collections.abc import Sequence

from campaigns.domain.judged.comparison import holm
from campaigns.domain.judged.failures import everything_failed
from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.lifecycle import Outcome, TargetState
from campaigns.domain.measured.percentile_curve import curve
from campaigns.domain.plan.questions import is_flat_out
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES, counted_in
from campaigns.domain.shown.exchange_tables import Exchanged, campaign_exchange_tables
from campaigns.domain.shown.latency_table import latency_table
from campaigns.domain.shown.no_answer import cause_words, no_answer_words
from campaigns.domain.shown.report_words import (
    NO_ANSWER_GROUND,
    all_failed_sentence,
    errors_text,
    failure_lead,
    run_sentence,
)
from campaigns.domain.shown.results import (
    Answer,
    OverheadAnswer,
    Sentence,
    SplitAnswer,
    TestAnswer,
    trimmed,
)
from campaigns.domain.shown.sentences import Pair, overhead_sentence
from campaigns.domain.shown.sweep_table import injector_words
from campaigns.domain.shown.tables import Table
from campaigns.domain.shown.threshold_tables import campaign_thresholds_table
from campaigns.domain.shown.threshold_words import broken_words, kept_words
from campaigns.domain.units import DASH, counted, duration, ms, percent, rate
from campaigns.models import Campaign, Endpoint, Run, Test
from campaigns.queries.failures import CampaignFailures, failures_of
from campaigns.queries.measured import (
    MeasuredRun,
    counted_runs,
    measured_runs,
    pooled_of,
    target_state_of,
    threshold_state_of,
    trust_of,
)
from campaigns.queries.overheads import (
    MeasuredTest,
    Overhead,
    compare,
    overhead_answer,
    pairs_of,
    set_aside_of,
)
from campaigns.queries.reports import run_status
from campaigns.queries.sweeps import arm_words, sweep_answers

__all__ = [
    "Answer",
    "OverheadAnswer",
    "SplitAnswer",
    "TestAnswer",
    "campaign_answer",
    "measured_tests",
]

# How a run ended that has partial figures.
_CUT_SHORT = {Outcome.PARTIAL, Outcome.STOPPED, Outcome.KILLED}
_COUNTED = ("errors", "attempts")
_INTERVALS = f"{percent(0.95, decimals=0)} intervals"


def campaign_answer(campaign: Campaign, chosen: tuple[int, int] | None = None) -> Answer:
    """The verdict in words, a table per test and an overhead per pair of HTTP and HTTPS tests.

    `chosen`: the ids of two tests, candidate and baseline, that are compared instead.
    """
    return campaign_answers([campaign], chosen)[campaign.pk]


def campaign_answers(
    campaigns: Sequence[Campaign], chosen: tuple[int, int] | None = None
) -> dict[int, Answer]:
    """The answers by campaign, in four queries for all of them."""
    rows = Run.objects.filter(campaign__in=campaigns).prefetch_related("shards")
    runs = measured_runs(rows.order_by("campaign", "position"))
    related = ("plan_version__plan", "endpoint__target")
    tests = Test.objects.filter(campaign__in=campaigns).select_related(*related)
    tests = list(tests.order_by("campaign", "position"))
    return {
        each.pk: _answer(
            each,
            [test for test in tests if test.campaign_id == each.pk],
            [run for run in runs if run.run.campaign_id == each.pk],
            chosen,
        )
        for each in campaigns
    }


def _answer(
    campaign: Campaign,
    tests: list[Test],
    runs: list[MeasuredRun],
    chosen: tuple[int, int] | None,
) -> Answer:
    arms = measured_tests(tests, runs)
    overheads = [compare(campaign, pair) for pair in pairs_of(arms, chosen)]
    is_final = campaign.finished_at is not None
    failures = failures_of(runs)
    partial = _partial_run(runs) if is_final else None
    if partial:
        sentence = run_sentence(run_status(partial.run, partial.measurement))
    else:
        sentence = [
            *_first_words(campaign, runs, failures, counted_in(arm.scheme for arm in arms)),
            *_sentence(campaign, arms, overheads, runs, failures, is_final),
        ]
    return Answer(
        sentence=trimmed(sentence),
        grounds=_grounds(campaign, arms, overheads, runs, partial),
        partial_run=partial and partial.run.pk,
        has_no_answer=not counted_runs(runs) and any(each.has_no_answer for each in runs),
        tests=[_test_answer(campaign, arm) for arm in arms],
        overheads=[overhead_answer(each, is_final=is_final) for each in overheads],
        n_done=sum(each.run.is_done for each in runs),
        n_runs=len(runs) or len(arms) * campaign.repeats,
        has_word=any(each.has_word for each in overheads),
        thresholds=_thresholds(arms),
        errors=failures.errors,
        exchanges=campaign_exchange_tables(_exchanged(arms)),
        sweeps=tuple(sweep_answers(arms)),
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
    return [*said, *failure_lead(failures.rows, failures.attempts, noun)]


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
        for total, figures in [pooled_of(arm.runs)]
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


def measured_tests(tests: Sequence[Test], runs: Sequence[MeasuredRun]) -> list[MeasuredTest]:
    """Each test with its own of the runs, and the labels that tell it apart from the others."""
    by_test = {test.pk: [each for each in runs if each.run.test_id == test.pk] for test in tests}
    numbers = {test.plan_version.plan_id: set() for test in tests}
    for test in tests:
        numbers[test.plan_version.plan_id].add(test.plan_version.number)
    targets = {test.endpoint.target_id for test in tests}
    counts = {test.injectors for test in tests}
    places = {(test.endpoint.target_id, test.endpoint.scheme) for test in tests}
    addresses = _addresses({test.endpoint for test in tests}, n_told_apart=len(places))
    return [
        MeasuredTest(
            test,
            _arm_label(
                test,
                addresses[test.endpoint_id],
                names_target=len(targets) > 1,
                names_injectors=len(counts) > 1,
            ),
            _plan_label(test, names_version=len(numbers[test.plan_version.plan_id]) > 1),
            tuple(sorted(by_test[test.pk], key=lambda each: each.run.repeat)),
        )
        for test in tests
    ]


def _addresses(endpoints: set[Endpoint], *, n_told_apart: int) -> dict[int, str]:
    """What tells endpoints apart that target and scheme do not: ":8443", "10.0.0.2:8443"."""
    if len(endpoints) == n_told_apart:
        return dict.fromkeys((each.pk for each in endpoints), "")
    one_host = len({each.host for each in endpoints}) == 1
    return {each.pk: f"{'' if one_host else each.host}:{each.port}" for each in endpoints}


def _arm_label(test, address: str, *, names_target: bool, names_injectors: bool) -> str:
    parts = [
        arm_words(test),
        test.endpoint.target.name if names_target else "",
        address,
        injector_words(test.injectors) if names_injectors else "",
    ]
    return ", ".join(filter(None, parts))


def _plan_label(test, *, names_version: bool) -> str:
    return str(test.plan_version) if names_version else test.plan_version.plan.name


def _test_answer(campaign: Campaign, arm: MeasuredTest) -> TestAnswer:
    total, pooled = pooled_of(arm.runs)
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
        pooled=total,
        means_ms=_means_ms(campaign, arm),
        means_text=_means_text(campaign, arm, table),
        trust=trust_of(arm.runs),
        target_state=target_state_of(arm.runs),
        threshold_state=threshold_state_of(arm.runs),
        finds_limit=any(each.run.has_found_limit for each in arm.runs),
        curve=curve(total.timing("response")),
    )


def _means_ms(campaign: Campaign, arm: MeasuredTest) -> list[float | None]:
    by_repeat = {each.run.repeat: each.figures.mean_us / 1000 for each in arm.counted}
    return [by_repeat.get(repeat) for repeat in range(1, campaign.repeats + 1)]


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
        *_figures_sentence(arms, overheads, runs, is_final),
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
    runs: Sequence[MeasuredRun],
    is_final: bool,
) -> Sentence:
    if not overheads:
        return _plain_sentence(arms, runs, is_final)
    many_plans = len({each.pair.candidate.plan_label for each in overheads}) > 1
    pairs = [
        Pair(
            each.pair.candidate.plan_label if many_plans else "",
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
    pooled = [(arm, figures) for arm in arms if (figures := pooled_of(arm.runs)[1])]
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


def _grounds(
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
    pooled = [figures for arm in arms if (figures := pooled_of(arm.runs)[1])]
    if not pooled and any(each.has_no_answer for each in runs):
        return [*_judgement_grounds(runs)[:1], NO_ANSWER_GROUND]
    if not pooled:
        return []
    grounds = [_interval_ground(each) for each in overheads[:1]]
    if overheads:
        grounds.append(f"practical threshold {percent(campaign.practical_threshold, decimals=0)}")
    errors, attempts = (sum(getattr(each, name) for each in pooled) for name in _COUNTED)
    grounds.append(errors_text(errors, attempts, counted_in(arm.scheme for arm in arms)))
    if overheads:
        grounds.append("primary metric: average, whose parts add up")
    grounds += _set_aside_ground(overheads, runs)
    grounds += _holm_ground(overheads)
    return grounds + _judgement_grounds(runs)


def _interval_ground(overhead: Overhead) -> str:
    if overhead.is_paired:
        return _blocks_ground(overhead)
    k = min(len(arm.counted) for arm in overhead.pair)
    if k < 2:
        return "no interval with fewer than two repeats"
    return f"{_INTERVALS} over {k} repeats of each"


def _blocks_ground(overhead: Overhead) -> str:
    """Such as "95 % intervals over 4 of 5 blocks, paired; run 12.7 cannot be used"."""
    paired = set.intersection(*({run.run.repeat for run in arm.counted} for arm in overhead.pair))
    done = {run.run.repeat for arm in overhead.pair for run in arm.runs if run.run.is_done}
    if len(done) < 2 or len(paired) < 2:
        return "no interval with fewer than two repeats"
    if paired == done:
        return f"{_INTERVALS} over {len(paired)} paired blocks"
    runs = (run for arm in overhead.pair for run in arm.runs)
    missing = [run.run.label for run in runs if run.run.is_done and not run.is_usable]
    named = f"; {_named(missing)} cannot be used" if missing else ""
    return f"{_INTERVALS} over {len(paired)} of {len(done)} blocks, paired{named}"


def _named(labels: Sequence[str]) -> str:
    """Such as "run 12.7", "runs 12.7 and 12.9"."""
    shown = [*labels[:3], f"{len(labels) - 3} more"] if len(labels) > 3 else list(labels)
    *most, last = shown
    return f"runs {', '.join(most)} and {last}" if most else f"run {last}"


def _set_aside_ground(overheads: Sequence[Overhead], runs: Sequence[MeasuredRun]) -> list[str]:
    """Such as "run 12.7 is set aside, too far off the others"."""
    pks = {each.run_id for overhead in overheads for each in set_aside_of(overhead)}
    labels = [each.run.label for each in runs if each.run.pk in pks]
    if not labels:
        return []
    is_or_are = "is" if len(labels) == 1 else "are"
    return [f"{_named(labels)} {is_or_are} set aside, too far off the others"]


def _holm_ground(overheads: Sequence[Overhead]) -> list[str]:
    tested = [each.mean.interval for each in overheads if each.has_word and each.mean.interval]
    if len(tested) < 2:
        return []
    differing = sum(p < 0.05 for p in holm([interval.p_value for interval in tested]))
    return [f"{differing} of {len(tested)} comparisons differ after Holm's correction"]


def _judgement_grounds(runs: Sequence[MeasuredRun]) -> list[str]:
    """How many runs are doubtful or left out and how the target was, each with a reason; notes."""
    grounds = []
    doubtful = [each for each in runs if each.is_usable and each.judged and each.judged.is_in_doubt]
    if doubtful:
        said = _of_runs(doubtful, runs, "are doubtful", "is doubtful")
        grounds.append(f"{said}: {doubtful[0].judged.measurement.text}")
    left_out = [each for each in runs if each.run.is_done and not each.is_usable]
    if left_out:
        said = _of_runs(left_out, runs, "cannot be used", "cannot be used")
        grounds.append(f"{said}: {left_out[0].why_unusable}")
    return [*grounds, *_target_grounds(runs), *_notes(runs)]


def _target_grounds(runs: Sequence[MeasuredRun]) -> list[str]:
    """The worst state of the target, unless a run that is left out for it was named."""
    for state in (TargetState.FAILING, TargetState.OVERLOADED, TargetState.CHANGING):
        found = [each for each in runs if each.run.target_state == state and each.is_usable]
        if found:
            where = f"in {len(found)} of {len(runs)} runs" if len(runs) > 1 else "in the only run"
            is_limit = all(each.run.has_found_limit for each in found)
            said = "limit found" if is_limit else f"target {state}"
            return [f"{said} {where}: {found[0].judged.target.text}"]
    return []


def _notes(runs: Sequence[MeasuredRun]) -> list[str]:
    """Of each kind of note the one with the highest value, and how many runs have one."""
    notes = [note for each in runs if each.judged for note in each.judged.notes]
    found = []
    for code in dict.fromkeys(note.code for note in notes):
        alike = sorted((each for each in notes if each.code == code), key=lambda each: each.value)
        differ = len({each.text for each in alike}) > 1
        where = f"in {len(alike)} of {len(runs)} runs, at most: " if differ else ""
        found.append(where + alike[-1].text)
    return found


def _of_runs(some: Sequence, runs: Sequence, many_are: str, one_is: str) -> str:
    if len(runs) == 1:
        return f"the only run {one_is}"
    return f"{len(some)} of {len(runs)} runs {one_is if len(some) == 1 else many_are}"
