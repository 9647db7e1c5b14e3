"""A campaign's answer, read from the summaries of its finished runs, and its verdict as programs
read it. Checks no permissions: callers pass rows found with visible_to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby

from campaigns.campaigns.queries.answer_sentences import (
    figures_words,
    first_words,
    grounds_of,
    judged_rules,
    lacked_cpu,
    notes_of,
)
from campaigns.campaigns.queries.campaigns import CampaignKey, campaign_key, campaign_keys
from campaigns.campaigns.queries.shapes import Shapes, shapes_of
from campaigns.compare.queries.arm_pairs import (
    MeasuredTest,
    hide_hosts,
    measured_tests,
    pairs_in_turns,
    pairs_of,
)
from campaigns.compare.queries.overheads import Overhead, compare, overhead_answer
from campaigns.compare.queries.side_by_side import end_of_turns
from campaigns.core import cache
from campaigns.domain.analysis.messages import Sentence, trimmed
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.figures import MOST_SMOOTH, curve
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.presentation.compared_words import baseline_sentence
from campaigns.domain.presentation.exchange_tables import Exchanged, campaign_exchange_tables
from campaigns.domain.presentation.ladder import MEAN
from campaigns.domain.presentation.latency_table import latency_table, mean_texts
from campaigns.domain.presentation.report_words import run_sentence, three_answers
from campaigns.domain.presentation.results import (
    Answer,
    CampaignVerdict,
    ComparedArms,
    Gist,
    Lazy,
    TestAnswer,
    broken_rules,
    labels_of,
    worst_first,
)
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.presentation.setup_facts import setup_facts
from campaigns.domain.presentation.threshold_tables import campaign_thresholds_table
from campaigns.domain.presentation.what_to_do import Place, what_to_do
from campaigns.domain.units import DASH, common_nouns
from campaigns.history.queries.baselines import (
    against_of,
    compared_with_baselines,
    search_against,
    with_baselines,
)
from campaigns.models import Baseline, Campaign, Run, Search, Test, without_references
from campaigns.probes.queries.first_requests import first_requests_of
from campaigns.runs.queries.measurements import (
    MeasuredRun,
    counted_runs,
    measured_runs,
    target_state_of,
    threshold_state_of,
    trust_of,
)
from campaigns.runs.queries.reports import run_status
from campaigns.runs.queries.runs import CampaignFailures, failures_of
from campaigns.search.queries import report_of_search

# How a run ended that has partial figures.
_CUT_SHORT = {Outcome.PARTIAL, Outcome.STOPPED, Outcome.KILLED}
GIST_DAYS = 90
# Whose summaries are in memory at once, and those of one campaign more.
_RUNS_AT_ONCE = 500
_ANSWERS: cache.Cache[Answer] = cache.Cache(16)
_VERDICTS: cache.Cache[CampaignVerdict] = cache.Cache(64)


def answer_of(
    campaign: Campaign,
    pair: tuple[int, int] | None = None,
    relative: int = 1,
    metric: str = MEAN,
    *,
    shows_machines: bool = True,
) -> Answer:
    """As `campaign_answer`, made once in a process until it changes."""
    options = (pair, relative, metric)
    return _ANSWERS.get(
        (*campaign_key(campaign), *options, shows_machines),
        lambda: campaign_answer(campaign, *options, shows_machines=shows_machines),
    )


def gist_of(campaign: Campaign) -> Gist:
    """The answer's sentence and states alone, for lists."""
    return gists_of([campaign], campaign_keys([campaign]))[campaign.pk]


def gists_of(campaigns: Sequence[Campaign], keys: Mapping[int, CampaignKey]) -> dict[int, Gist]:
    """`gist_of` each, however many campaigns, with a few queries. Of those that have ended it is
    cached for all processes; of the others it is the answer's that their pages show."""
    names = {
        each.pk: cache.key_of("gist", *keys[each.pk]) for each in campaigns if each.finished_at
    }
    stored_gists = cache.get_many(names.values())
    gists = {
        pk: Gist.from_json(stored_gists[name]) for pk, name in names.items() if name in stored_gists
    }
    missing = [each for each in campaigns if each.finished_at and each.pk not in gists]
    n_runs = accumulate(keys[each.pk].n_runs for each in missing)
    for _, batch in groupby(zip(missing, n_runs, strict=True), lambda row: row[1] // _RUNS_AT_ONCE):
        answers = campaign_answers([each for each, _ in batch])
        new_gists = {pk: answer.gist for pk, answer in answers.items()}
        cache.put_many({names[pk]: gist.to_json() for pk, gist in new_gists.items()}, GIST_DAYS)
        gists |= new_gists
    return gists | {each.pk: answer_of(each).gist for each in campaigns if not each.finished_at}


def campaign_answer(
    campaign: Campaign,
    pair_of_arms: tuple[int, int] | None = None,
    relative: int = 1,
    metric: str = "",
    *,
    shows_machines: bool = True,
) -> Answer:
    """The verdict in words, a table per test and an overhead per pair of HTTP and HTTPS tests.
    `pair`: the ids of two tests, candidate and baseline, that are compared instead. `relative`:
    the column that a matrix or sweeps of several arms are relative to, from 1. `metric`: what the
    rungs of a ladder are compared by; its sentence is of means. `shows_machines`: whether the
    reader may know what the targets' machines did."""
    answers = campaign_answers(
        [campaign], pair_of_arms, relative, metric, shows_machines=shows_machines
    )
    return answers[campaign.pk]


def campaign_answers(
    campaigns: Sequence[Campaign],
    pair: tuple[int, int] | None = None,
    relative: int = 1,
    metric: str = "",
    *,
    shows_machines: bool = True,
) -> dict[int, Answer]:
    """The answers by campaign, in five queries for all of them, and a few for each search."""
    rows = Run.objects.filter(campaign__in=campaigns).prefetch_related("shards")
    runs = measured_runs(rows.order_by("-campaign_id", "position"))
    for each in runs:
        each.run.shows_machine = shows_machines
    relations = ("plan_version__plan", "endpoint__target", "campaign__search")
    tests = Test.objects.filter(campaign__in=campaigns).select_related(*relations)
    tests = list(tests.order_by("-campaign_id", "position"))
    if not shows_machines:
        hide_hosts(tests)
    answers = {
        each.pk: _answer(
            each,
            [test for test in tests if test.campaign_id == each.pk],
            [run for run in runs if run.run.campaign_id == each.pk],
            pair,
            relative,
            metric,
        )
        for each in campaigns
    }
    for test in tests:
        # Searches speak for themselves: to pool trials at several rates would say nothing.
        if hasattr(test.campaign, "search"):
            report, answer = report_of_search(test.campaign.search), answers[test.campaign_id]
            texts = {"sentence": report.sentence, "found_by_search": report.found}
            answers[test.campaign_id] = replace(answer, **texts)
    return answers


def _answer(
    campaign: Campaign,
    tests: list[Test],
    every_run: list[MeasuredRun],
    pair_of_arms: tuple[int, int] | None,
    relative: int,
    metric: str,
) -> Answer:
    main_tests, of_reference = without_references(tests)
    arms, references = (measured_tests(each, every_run) for each in (main_tests, of_reference))
    runs = [each for arm in arms for each in arm.runs]
    runs.sort(key=lambda each: each.run.position)
    alone, labels = [each for arm in arms for each in arm.alone], labels_of(arms)
    is_final = campaign.finished_at is not None
    shapes = shapes_of(campaign, arms, relative, metric, is_final=is_final)
    # A reference is compared only if somebody chooses it; a ladder has comparisons of its own.
    among = [*arms, *references] if pair_of_arms else [] if shapes.rungs else arms
    pairs = pairs_of(among, pair_of_arms)
    if campaign.order == Campaign.Order.SIDE_BY_SIDE and not (shapes.matrix or shapes.sweeps):
        pairs = pairs or pairs_in_turns(among)
    is_busy = any(pair.is_busy for pair in pairs)
    overheads = [compare(campaign, pair, is_busy=is_busy) for pair in pairs]
    if not is_final:  # of plans that follow one another those that have begun
        with_looks = [each for each in overheads if each.turns is None or each.turns.n_rounds]
        overheads = with_looks or overheads
    failures = failures_of(runs)
    # Rounds that all arms had compare them, whatever became of the runs.
    in_turns = any(each.turns and each.has_word for each in overheads)
    # The run with most requests that did not end as planned, where no run did with figures.
    partial = None
    if is_final and not in_turns and not any(each.is_whole for each in runs):
        cut_short = [each for each in runs if each.run.outcome in _CUT_SHORT and each.figures]
        with_figures = [each for each in cut_short if each.figures.attempts]
        partial = max(with_figures, key=lambda each: each.figures.attempts, default=None)
    swept = {sweep.plan_label for sweep in shapes.sweeps}
    answer = Answer(
        sentence=_sentence(campaign, arms, runs, overheads, shapes, failures, partial),
        grounds=grounds_of(campaign, arms, overheads or shapes.ladder_overheads, runs, partial),
        caveats=[] if partial else notes_of(runs, disturbing=True),
        partial_run=partial and partial.run.pk,
        has_no_answer=not (in_turns or counted_runs(runs))
        and any(each.has_no_answer for each in runs),
        tests=[
            _test_answer(
                campaign,
                arm,
                # Those that a matrix or a sweep draws have no curve of their own.
                has_curve=shapes.matrix is None and arm.plan_label not in swept,
                is_smooth=len(arms) <= MOST_SMOOTH,
            )
            for arm in arms
        ],
        references=[_test_answer(campaign, arm, has_curve=False) for arm in references],
        overheads=[
            overhead_answer(each, is_final=is_final, is_crowded=lacked_cpu(runs))
            for each in overheads
        ],
        n_done=sum(each.run.is_done for each in every_run),
        n_runs=len(every_run) or len(tests) * campaign.repeats,
        has_word=any(each.has_word for each in overheads) or shapes.has_word,
        thresholds=campaign_thresholds_table(
            (label, judged_rules([*arm.runs, *arm.alone]))
            for label, arm in zip(labels, arms, strict=True)
        ),
        errors=failures.errors,
        exchanges=campaign_exchange_tables(_exchanges(arms)),
        sweeps=tuple(shapes.sweeps),
        matrix=shapes.matrix,
        ladder=shapes.ladder,
        end_of_turns=end_of_turns(campaign) if is_final else None,
        threshold_state=threshold_state_of([*runs, *alone]),
        setup=setup_facts(
            {
                label: [each.of_arm for each in arm.comparable or arm.runs if each.figures]
                for label, arm in zip(labels, arms, strict=True)
            }
        ),
    )
    return _with_judgements(answer, [*runs, *alone], failures, is_final=is_final)


def _with_judgements(
    answer: Answer, runs: Sequence[MeasuredRun], failures: CampaignFailures, *, is_final: bool
) -> Answer:
    """With what the runs' judgements say, and what to do about it: nothing is to be measured again
    while runs are to come."""
    statuses = [run_status(each.run, each.measurement) for each in runs if each.measurement]
    judgements = [each.judged for each in statuses if each.judged]
    remedies = what_to_do(judgements, failures.rows, failures.attempts, answer.found)
    return replace(
        answer,
        answers=three_answers(statuses, answer.found, answer.sentence),
        remedies=tuple(each for each in remedies if is_final or each.place != Place.AGAIN),
    )


def _exchanges(arms: Sequence[MeasuredTest]) -> list[Exchanged]:
    """Of the WebSocket tests with measured data."""
    exchanges = []
    for label, arm in zip(labels_of(arms), arms, strict=True):
        total, figures = arm.pooled
        if figures and arm.scheme in WEBSOCKET_SCHEMES:
            open_counts = [each.most_open for each in arm.counted if each.most_open is not None]
            most_open = max(open_counts, default=None)
            exchanges.append(Exchanged(label, total, figures.duration_s, most_open))
    return exchanges


def _sentence(
    campaign: Campaign,
    arms: list[MeasuredTest],
    runs: list[MeasuredRun],
    overheads: list[Overhead],
    shapes: Shapes,
    failures: CampaignFailures,
    partial: MeasuredRun | None,
) -> Sentence:
    if partial:
        return trimmed(run_sentence(run_status(partial.run, partial.measurement)))
    is_final = campaign.finished_at is not None
    return trimmed(
        [
            *first_words(campaign, runs, failures, common_nouns(arm.noun for arm in arms)),
            *figures_words(campaign, arms, overheads, shapes, runs, failures, is_final),
        ]
    )


def _test_answer(
    campaign: Campaign, arm: MeasuredTest, *, has_curve: bool, is_smooth: bool = True
) -> TestAnswer:
    total, figures = arm.pooled
    lines = [each.line(is_counted=each in arm.counted) for each in arm.runs]
    # `texts`: of its runs, as the test's table shows them.
    by_repeat = {
        each.run.repeat: text
        for each, text in zip(arm.runs, mean_texts(lines, figures), strict=True)
    }
    # An answer is kept in memory with what its tables are made of: not the runs, but these.
    alone = [each.line(is_counted=False) for each in arm.alone]
    key, title = f"test-{arm.test.pk}", f"{arm.plan_label}: {arm.label}"
    whole = {"is_sound": arm.is_sound, "noun": arm.noun, "flows": arm.flows}
    return TestAnswer(
        test_id=arm.test.pk,
        label=arm.label,
        scheme=arm.scheme,
        connection_mode=arm.test.connection_mode,
        plan_label=arm.plan_label,
        made_table=Lazy(lambda: latency_table(key, title, lines, figures, **whole)),
        means_ms=_means_ms(campaign, arm.counted),
        apart_ms=_means_ms(campaign, [each for each in arm.runs if each not in arm.counted]),
        means_text=[by_repeat.get(repeat, DASH) for repeat in range(1, campaign.repeats + 1)],
        trust=trust_of(arm.runs),
        target_state=target_state_of(arm.runs),
        threshold_state=threshold_state_of([*arm.runs, *arm.alone]),
        finds_limit=any(each.run.has_found_limit for each in arm.runs),
        curve=curve(total.timing("response"), is_smooth=is_smooth) if has_curve else [],
        counted=tuple(each.run.pk for each in arm.of_machine),
        nouns=arm.noun,
        made_table_alone=Lazy(lambda: latency_table(key, title, alone, None, noun=whole["noun"]))
        if alone
        else None,
    )


def _means_ms(campaign: Campaign, runs: Sequence[MeasuredRun]) -> list[float | None]:
    by_repeat = {
        each.run.repeat: each.figures.mean_us / 1000
        for each in runs
        if bool(each.figures and each.figures.mean_us)
    }
    return [by_repeat.get(repeat) for repeat in range(1, campaign.repeats + 1)]


def verdict_of(campaign: Campaign) -> CampaignVerdict | None:
    """None while it goes on, unless it is on hold."""
    if campaign.is_held:
        failure = first_requests_of(campaign).failure or "A preflight request failed"
        return CampaignVerdict(False, f"{failure}.", f"On hold: {failure}. No load has been sent.")
    if not campaign.finished_at:
        return None
    pairs = with_baselines(campaign)
    keys = campaign_keys([campaign, *(baseline.test.campaign for baseline, _ in pairs)])
    key = (*keys.values(), *(baseline.pk for baseline, _ in pairs))
    return _VERDICTS.get(key, lambda: _verdict(campaign, answer_of(campaign), pairs))


def _verdict(
    campaign: Campaign, answer: Answer, pairs: Sequence[tuple[Baseline, Test]]
) -> CampaignVerdict:
    labels = {each.test_id: f"{each.plan_label}, {each.label}" for each in answer.tests}
    against, comparisons = [], []
    for (baseline, test), overhead in zip(pairs, compared_with_baselines(pairs), strict=True):
        if test.pk in labels:  # a reference counts in nothing
            label, overhead_words = labels[test.pk], overhead_answer(overhead, is_final=True)
            against.append(ComparedArms.of(overhead_words, label, baseline.name))
            comparisons.append((label, against_of(baseline, overhead)))
    if search := Search.objects.filter(pk=campaign.pk).first():
        sentence = [*answer.sentence, (" ", False), *search_against(search)]
    else:
        sentence = baseline_sentence(comparisons) or answer.sentence
    if not against:
        arms = answer.overheads
        if answer.matrix:  # each arm against the first of its plan
            runs = Run.objects.filter(campaign=campaign).prefetch_related("shards")
            tests = campaign.tests.select_related(
                "plan_version__plan", "endpoint__target", "campaign"
            )
            main_tests, _ = without_references(tests.order_by("position"))
            rows = measured_runs(runs.order_by("position"))
            pairs = pairs_in_turns(measured_tests(main_tests, rows))
            arms = [overhead_answer(compare(campaign, pair), is_final=True) for pair in pairs]
        against = [ComparedArms.of(each, labels[each.candidate_test_id]) for each in arms]
    means = (ms for test in answer.tests for ms in test.means_ms)
    has_figures = any(ms is not None for ms in means) or any(each.word for each in answer.overheads)
    is_measured = has_figures and not campaign.stop_reason
    return CampaignVerdict(
        is_measured,
        "" if is_measured else campaign.stop_reason or plain_text(answer.sentence),
        plain_text(sentence if is_measured else answer.sentence).strip(),
        worst_first(against),
        broken_rules(answer.thresholds),
        sum(row.count for row in answer.errors.rows),
        answer.errors.n_attempts,
    )
