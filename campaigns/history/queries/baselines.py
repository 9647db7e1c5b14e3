"""The baselines of tests, and what was said against them. Reads of triage: a project's entries,
those of a test. What a reference did is written down like any change, but it is nothing for people
to judge: it says of the changes of others that the environment changed as well."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log
from typing import Any

from django.db.models import Count, Max, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Abs, Ln

from campaigns.compare.queries.arm_pairs import MeasuredTest, measured_tests
from campaigns.compare.queries.compared_facts import ComparedPair, noise_between
from campaigns.compare.queries.overheads import Overhead, compare
from campaigns.core.permissions import Actor
from campaigns.domain.analysis.messages import Sentence
from campaigns.domain.analysis.ratio import MIN_REPEATS, Against, Word
from campaigns.domain.lifecycle import Outcome, TargetState, Trust
from campaigns.domain.presentation.compared_words import baseline_sentence
from campaigns.domain.typed_text import REFERENCE_TAG
from campaigns.history.models import HistoryKey
from campaigns.models import (
    Baseline,
    Campaign,
    Project,
    Run,
    Search,
    Test,
    TestFigures,
    TriageChange,
    TriageEntry,
    without_references,
)
from campaigns.runs.models import IN_TURNS
from campaigns.runs.queries.measurements import MeasuredRun, measured_runs

_USABLE = Q(outcome=Outcome.COMPLETE, n__gt=0) & ~Q(trust=Trust.NO_ANSWER, trust__isnull=False)
_SOUND = Q(target_state=None) | Q(target_state__in=[TargetState.HEALTHY, TargetState.CHANGING])


def baselines_of(actor: Actor, key: HistoryKey) -> QuerySet[Baseline]:
    """Of this test, the newest first; the current one, if there is one, is not replaced."""
    rows = Baseline.objects.visible_to(actor).select_related("created_by", "replaced_by", "test")
    return rows.filter(**key.columns).order_by("-pk")


def newest_baseline(actor: Actor, project: int) -> int:
    """The number of the project's newest baseline, 0 without any: who replaces one says what they
    have seen."""
    rows = Baseline.objects.visible_to(actor).filter(project=project)
    return rows.order_by("-pk").values_list("pk", flat=True).first() or 0


def counted_of(tests: Sequence[Test]) -> QuerySet[Run]:
    """The runs of these tests that a baseline may have, those of a busy machine among them: then
    medians are compared."""
    return Run.objects.filter(_USABLE, _SOUND, test__in=tests, is_alone=False)


def may_be_baseline(campaign: Campaign) -> bool:
    """Whether enough runs of a test may; points of a sweep are no tests that come again."""
    runs = counted_of(campaign.tests.filter(swept="")).order_by().values("test")
    counts = runs.annotate(n_runs=Count("pk"), n_in_turns=Count("pk", filter=IN_TURNS))
    # Rounds are repeats enough.
    return counts.filter(Q(n_runs__gte=MIN_REPEATS) | Q(n_in_turns__gt=0)).exists()


def campaign_against(campaign: Campaign) -> Sentence:
    """What was stored of the campaign's tests, or of the search that it is, against their
    baselines; [] without any. Checks no permissions: callers pass rows found with visible_to."""
    rows = TestFigures.objects.filter(campaign=campaign, against__isnull=False)
    rows = rows.select_related("plan", "endpoint", "test__endpoint__target")
    by_test = {row.test: row for row in rows.order_by("test__position")}
    tests, _ = without_references(by_test)
    if not tests and (search := Search.objects.filter(pk=campaign.pk).first()):
        return search_against(search)
    words = []
    for row in (by_test[test] for test in tests):
        arm = f"{row.endpoint.scheme.upper()} {row.connection_mode}"
        label = ", ".join(filter(None, [row.plan.name, arm, row.endpoint.tls_profile]))
        words.append((label, Against.from_json(row.against)))
    return baseline_sentence(words)


def changed_tests(campaign: Campaign) -> list[int]:
    """The campaign's tests that are slower or faster than their baselines, the slower ones and the
    largest differences first."""
    rows = TestFigures.objects.filter(campaign=campaign, against__isnull=False)
    by_test = {pk: Against.from_json(value) for pk, value in rows.values_list("test", "against")}
    ratios = {pk: against.ratio for pk, against in by_test.items() if against.is_clear}
    slower = {pk for pk in ratios if by_test[pk].word == Word.SLOWER}
    return sorted(ratios, key=lambda pk: (pk not in slower, -abs(log(ratios[pk])), pk))


def search_against(search: Search) -> Sentence:
    """What was stored of the search against its baseline; [] without one."""
    against = Against.from_json(search.against)
    return baseline_sentence([("", against)]) if against else []


def with_baselines(campaign: Campaign) -> list[tuple[Baseline, Test]]:
    """Its tests that have a baseline of another campaign, with that."""
    tests = [
        (HistoryKey.of(each), each)
        for each in campaign.tests.select_related("plan_version", "campaign")
    ]
    current = Baseline.objects.filter(
        replaced_at=None,
        of_search=False,
        test__isnull=False,
        plan__in={key.plan for key, _ in tests},
        endpoint__in={key.endpoint for key, _ in tests},
    )
    baselines = {
        HistoryKey.read(each): each
        for each in current.exclude(test__campaign=campaign).select_related("test__campaign")
    }
    return [(baselines[key], test) for key, test in tests if key in baselines]


def against_baselines(pairs: Sequence[tuple[Baseline, Test]]) -> Iterator[Against]:
    """As of `compared_with_baselines`, without what the reference did."""
    for (baseline, _), overhead in zip(pairs, compared_with_baselines(pairs), strict=True):
        yield against_of(baseline, overhead)


def compared_with_baselines(pairs: Sequence[tuple[Baseline, Test]]) -> Iterator[Overhead]:
    """The comparison of each test's runs with those of its baseline, in a fixed number of queries.
    By p95; by the average where too few requests support a p95, by the typical time where a machine
    was busy.
    """
    tests = {pk for baseline, test in pairs for pk in (baseline.test_id, test.pk)}
    relations = ("plan_version__plan", "endpoint__target", "campaign")
    by_pk = Test.objects.select_related(*relations).in_bulk(tests)
    olds: _Runs = {baseline.pk: [] for baseline, _ in pairs}
    news: _Runs = {test.pk: [] for _, test in pairs}
    by_baseline: dict[int, list[int]] = {}
    rows = Baseline.runs.through.objects.filter(baseline__in=olds)
    for baseline, run in rows.values_list("baseline", "run"):
        by_baseline.setdefault(run, []).append(baseline)
    runs = Run.objects.filter(Q(test__in=news, is_alone=False) | Q(pk__in=by_baseline))
    runs = runs.order_by("-campaign_id", "position").prefetch_related("shards")
    for each in measured_runs(runs):
        for baseline in by_baseline.get(each.run.pk, ()):
            olds[baseline].append(each)
        if each.run.test_id in news:
            news[each.run.test_id].append(each)
    noises = noise_between([(by_pk[b.test_id], by_pk[test.pk]) for b, test in pairs])
    for baseline, test in pairs:
        # Once judged, its measurements can be forgotten.
        new = _side(by_pk[test.pk], news.pop(test.pk, []))
        names = (f"baseline “{baseline.name}”", f"campaign #{new.test.campaign_id}")
        pair = ComparedPair(
            _side(by_pk[baseline.test_id], olds[baseline.pk]),
            new,
            is_chosen=True,
            called=names,
            noise=noises.get((baseline.test_id, test.pk)),
        )
        metric = "" if pair.is_busy else "p95"
        overhead = compare(new.test.campaign, pair, metric)
        if overhead.judged.interval is None and metric:
            by_mean = compare(new.test.campaign, pair, "mean")
            overhead = by_mean if by_mean.judged.interval else overhead
        yield overhead


_Runs = dict[int, list[MeasuredRun]]


def against_of(baseline: Baseline, overhead: Overhead) -> Against:
    row = overhead.judged
    ends = (row.ratio, row.interval.low, row.interval.high) if row.interval else ()
    return Against(baseline.name, row.metric, overhead.word, row.text, *ends)


def _side(test: Test, runs: Sequence[MeasuredRun]) -> MeasuredTest:
    """The test with these runs, which may be of several campaigns."""
    (side,) = measured_tests([test], [])
    return replace(side, runs=tuple(runs))


def own_baselines(campaign: Campaign) -> str:
    """The names of the current baselines that its runs are; "" without any."""
    rows = Baseline.objects.filter(replaced_at=None, runs__campaign=campaign)
    names = rows.order_by().values_list("name", flat=True).distinct()
    return ", ".join(f"“{name}”" for name in sorted(names))


def triaged() -> QuerySet[TriageEntry]:
    """The entries of tests."""
    return TriageEntry.objects.exclude(target__tags__contains=[REFERENCE_TAG])


def entries_of(actor: Actor, *, acknowledged: bool | None = None, **of: Any) -> QuerySet:
    """Entries with their changes, the largest first; by the newest change. `acknowledged`: only
    those that are, or are not; `of`: such as project=4."""
    entries = triaged().visible_to(actor).filter(**of)
    if acknowledged is not None:
        entries = entries.filter(acknowledged_at__isnull=not acknowledged)
    of_test = (
        Test.objects.outside_trash()
        .filter(
            plan_version__plan=OuterRef("plan"),
            endpoint=OuterRef("endpoint"),
            connection_mode=OuterRef("connection_mode"),
            injectors=OuterRef("injectors"),
            campaign__finished_at__isnull=False,
        )
        .order_by("-campaign__started_at", "-plan_version__number")
    )
    before = of_test.filter(campaign__started_at__lte=OuterRef("after_at"))
    # What the project's references did in the range of the change.
    of_references = TriageChange.objects.filter(
        entry__project=OuterRef("entry__project"),
        entry__target__tags__contains=[REFERENCE_TAG],
        after_at__lt=OuterRef("until_at"),
        until_at__gt=OuterRef("after_at"),
    ).order_by(Abs(Ln("ratio")).desc(), "pk")
    changes = (
        TriageChange.objects.select_related("plan", "endpoint")
        .annotate(
            newest_test=Subquery(of_test.values("pk")[:1]),
            old_test=Subquery(before.values("pk")[:1]),
            reference_ratio=Subquery(of_references.values("ratio")[:1]),
        )
        .order_by(Abs(Ln("ratio")).desc(), "pk")
    )
    return (
        entries.select_related("target", "project", "acknowledged_by")
        .prefetch_related(Prefetch("changes", changes))
        .annotate(newest_at=Max("changes__since_at"))
        .order_by("-newest_at", "-pk")
    )


def entries_of_test(actor: Actor, key: HistoryKey) -> QuerySet[TriageEntry]:
    """Those with a change of this test, the newest first."""
    changes = TriageChange.objects.filter(**key.columns)
    return entries_of(actor, pk__in=changes.values("entry"))


def count_entries(actor: Actor, project: Project) -> tuple[int, int]:
    """(open, acknowledged)"""
    entries = triaged().visible_to(actor).filter(project=project)
    counts = entries.aggregate(n=Count("pk"), n_acknowledged=Count("acknowledged_at"))
    return counts["n"] - counts["n_acknowledged"], counts["n_acknowledged"]


def open_tests(actor: Actor, project: Project) -> set[HistoryKey]:
    """The tests with a change that nobody has acknowledged yet."""
    rows = TriageChange.objects.filter(
        entry__in=triaged().visible_to(actor).filter(project=project, acknowledged_at=None)
    ).values_list(*HistoryKey._fields)
    return {HistoryKey(*key) for key in rows}
