"""Baselines: trusted runs that later campaigns are compared with by themselves, and the cost."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import OperationalError
from django.utils import timezone

from campaigns.core.permissions import Actor
from campaigns.domain.analysis.ratio import Against
from campaigns.domain.errors import Refused
from campaigns.engine.services.dispatch import finish_campaigns
from campaigns.history import services as history
from campaigns.history.services import (
    judge_by_baselines,
    make_baseline,
    note_changes,
    release_baseline,
)
from campaigns.items.services import archive_items, delete_items, purge_items
from campaigns.models import Baseline, Campaign, TestFigures, TriageChange
from campaigns.runs.queries import measurements
from campaigns.runs.services import keep_figures
from tests.engine.scenes import statements
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
)
from tests.histories import make_history
from tests.measured import measure, run_in_blocks, same_again
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


@pytest.fixture
def measured_test(project):
    """Measures the same test in another campaign, with a run of each of these averages, µs."""
    same = {"version": make_plan(project), "endpoint": make_endpoint(make_target(project))}
    numbers = iter(range(100))

    def measured_test(*values_us: int, name="", is_over=True):
        at = timezone.now() - timedelta(days=30 - next(numbers))
        finished_at = at if is_over else None
        campaign = make_campaign(project, name, started_at=at, finished_at=finished_at)
        test = make_test(campaign, **same)
        for repeat, value in enumerate(values_us, 1):
            measure(make_run(test, repeat=repeat), value)
        keep_figures([test.pk])
        return test

    return measured_test


@pytest.fixture
def make(bob, project):
    def make(*tests, name="release 1.4", **fields):
        return make_baseline(by=Actor(user=bob), project=project, name=name, tests=tests, **fields)

    return make


def against_at_end(test) -> Against | None:
    """What is stored when the campaign of this test, which is under way, ends."""
    assert finish_campaigns() == 1
    return Against.from_json(TestFigures.objects.get(pk=test.pk).against)


CALM, SLOWER = (10_000, 10_100, 9_900), (12_000, 12_100, 11_900)


def test_a_new_campaign_is_compared_by_itself_when_it_ends(make, measured_test):
    make(measured_test(*CALM))
    against = against_at_end(measured_test(*SLOWER, is_over=False))
    assert (against.baseline, against.word) == ("release 1.4", "slower")
    assert against.low < against.ratio < against.high
    assert against.ratio == pytest.approx(1.2, abs=0.02)


def test_one_whose_end_was_interrupted_is_compared_at_the_next_turn(
    make, measured_test, monkeypatch
):
    make(measured_test(*CALM))
    test = measured_test(*SLOWER, is_over=False)

    def away(_):
        raise OperationalError("the connection is lost")

    with monkeypatch.context() as outage:
        outage.setattr(history, "against_baselines", away)
        with pytest.raises(OperationalError):
            finish_campaigns()
    assert against_at_end(test).word == "slower"


@pytest.mark.parametrize(
    ("echo", "reference_word"), [((2_000, 2_010, 1_990), "unmoved"), (SLOWER, "moved")]
)
def test_what_the_reference_did_is_kept_beside_the_word(make, project, echo, reference_word):
    endpoints = [
        make_endpoint(target)
        for target in (make_target(project), make_target(project, tags=["reference"]))
    ]
    version = make_plan(project, spec=plan_spec(model="over", requests=2000, over_s=10))
    start = timezone.now() - timedelta(days=2)
    first = make_campaign(project, started_at=start)
    old = [make_test(first, version, endpoint=endpoint) for endpoint in endpoints]
    run_in_blocks(old, [CALM, (2_000, 2_010, 1_990)])
    keep_figures([test.pk for test in old])
    finish_campaigns()
    make(old[0])
    new = same_again(old, started_at=start + timedelta(days=1))
    run_in_blocks(new, [SLOWER, echo])
    keep_figures([test.pk for test in new])
    against = against_at_end(new[0])
    assert (against.word, against.reference) == ("slower", reference_word)


def test_the_newest_campaign_is_judged_at_once_and_older_words_stay(make, measured_test):
    first, newest = measured_test(*CALM), measured_test(*SLOWER)
    make(first)
    figures = TestFigures.objects.get(pk=newest.pk)
    assert figures.against["word"] == "slower"
    make(newest, name="release 1.5")
    figures.refresh_from_db()
    assert figures.against["baseline"] == "release 1.4"


@pytest.mark.parametrize(
    ("nights", "word"),
    [
        ((10_000, 11_500, 9_200, 11_000, 9_500, 10_800), "too close to call"),
        ((10_000, 10_050, 9_950, 10_000, 10_020, 9_980), "slower"),
    ],
)
def test_campaigns_that_differ_by_themselves_make_no_campaign_slower(
    make, measured_test, nights, word
):
    """Each night's own runs are within 1 % of each other."""
    first, *_ = [measured_test(*(us * share // 100 for share in (100, 101, 99))) for us in nights]
    make(first)
    against = against_at_end(measured_test(11_600, 11_700, 11_500, is_over=False))
    assert against.word == word
    assert against.low < 1.15 < against.high
    settled = "Measure both side by side, in one campaign."
    assert against.why == (settled if word == "too close to call" else "")


def test_each_run_of_a_baseline_of_several_campaigns_counts(make, measured_test):
    make(measured_test(*[10_000] * 3), measured_test(*[14_400] * 3))
    against = against_at_end(measured_test(12_000, 12_100, 11_900, is_over=False))
    assert against.ratio == pytest.approx(1, rel=0.01)


def test_a_replaced_baseline_is_kept_with_who_and_when(make, measured_test, bob):
    make(measured_test(*CALM))
    make(measured_test(*SLOWER), name="release 1.5")
    old, current = Baseline.objects.order_by("pk")
    assert old.replaced_by == bob
    assert old.replaced_at is not None
    assert (current.name, current.replaced_at) == ("release 1.5", None)


def test_what_somebody_else_chose_meanwhile_is_not_replaced(make, measured_test):
    test = measured_test(*CALM)
    make(test)
    with pytest.raises(Refused, match=r"“release 1.4” has become the baseline since"):
        make(test, name="mine", seen=0)
    make(test, name="mine", seen=Baseline.objects.get().pk)


def test_its_runs_cannot_be_deleted_until_nothing_is_compared_with_them(make, measured_test, bob):
    test, by = measured_test(*CALM, name="night 1"), Actor(user=bob)
    (baseline,) = make(test)
    archive_items(by=by, items=[test.campaign])
    with pytest.raises(Refused, match=r"Runs of night 1 are the baseline “release 1.4”"):
        delete_items(by=by, items=[test.campaign])
    release_baseline(by=by, baseline=baseline)
    delete_items(by=by, items=[test.campaign])
    purge_items(by=by, items=[test.campaign])
    assert not Campaign.objects.exists()
    assert Baseline.objects.get().test is None


def test_a_campaign_under_way_or_without_a_run_that_counts_is_no_baseline(make, measured_test):
    with pytest.raises(Refused, match=r"once it has ended"):
        make(measured_test(*CALM, is_over=False))
    with pytest.raises(Refused, match=r"needs 3 usable runs"):
        make(measured_test())


def test_of_another_project_s_campaign_is_not_said_that_it_has_not_ended(bob, measured_test):
    test, other = measured_test(*CALM), make_project("other", owner=bob)
    with pytest.raises(Refused, match="belongs to another project"):
        make_baseline(by=Actor(user=bob), project=other, name="release 1.4", tests=[test])


NIGHTS_MS = [100, 101, 99, 100, 102, 98, 110, 111, 109, 110, 112, 108]


def cells(project, n: int):
    version = make_plan(project)
    return [(version, make_endpoint(make_target(project)), "new") for _ in range(n)]


@pytest.mark.parametrize("state", ["new", "known", "moved"])
def test_changes_take_as_many_statements_for_12_tests_as_for_1(project, state):
    counts = {}
    for n in (1, 12):
        tests = make_history(project, NIGHTS_MS, tests=cells(project, n))
        campaign = tests[0].campaign
        changes = TriageChange.objects.filter(endpoint__in=[test.endpoint for test in tests])
        if state != "new":
            note_changes(campaign_id=campaign.pk)
        if state == "moved":
            changes.update(
                since=campaign, since_at=campaign.started_at, causes=[["Server", "", ""]]
            )
        counts[n] = statements(partial(note_changes, campaign_id=campaign.pk))
        assert changes.exclude(since=campaign).filter(causes=[]).count() == n
    assert counts[12] == counts[1]


def test_words_against_baselines_take_as_many_statements_for_5_tests_as_for_1(
    project, bob, monkeypatch
):
    """Each test has its baseline from a campaign of its own, which measured the reference, too."""
    monkeypatch.setattr(measurements, "_BATCH", 10)
    echo = make_endpoint(make_target(project, tags=["reference"]))
    counts = {}
    for n in (1, 5):
        arms = cells(project, n)
        reference = (arms[0][0], echo, "new")
        for cell in arms:
            old, _ = measured_campaign(project, [cell, reference], 10_000, days_ago=3)
            make_baseline(by=Actor(user=bob), project=project, name=f"night {n}", tests=[old])
        new = measured_campaign(project, [*arms, reference], 12_000, days_ago=1)
        TestFigures.objects.update(against=None)
        counts[n] = statements(partial(judge_by_baselines, new[0].campaign))
        rows = TestFigures.objects.filter(against__word="slower", against__reference="moved")
        assert rows.count() == n
    assert Baseline.objects.count() == 6
    assert counts[5] == counts[1]


def measured_campaign(project, arms, level_us: int, days_ago: int):
    begin = timezone.now() - timedelta(days=days_ago)
    tests = make_history(project, [1], tests=arms, begin=begin)
    tests[0].campaign.runs.all().delete()
    for test in tests:
        for repeat in (1, 2, 3):
            measure(make_run(test, repeat), level_us + repeat)
    keep_figures([test.pk for test in tests])
    return tests
