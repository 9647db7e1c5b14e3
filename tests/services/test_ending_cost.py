"""What the end of a campaign costs does not grow statement by statement with its tests."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from campaigns.models import Baseline, TestFigures, TriageChange
from campaigns.permissions import Actor
from campaigns.queries import measurements
from campaigns.services.baselines import judge_by_baselines, make_baseline, note_changes
from campaigns.services.summaries import keep_figures
from tests.factories import make_endpoint, make_plan, make_run, make_target
from tests.histories import make_history
from tests.queries.measured import measure
from tests.services.engine import statements

pytestmark = pytest.mark.django_db
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
        noted = TriageChange.objects.filter(endpoint__in=[test.endpoint for test in tests])
        if state != "new":
            note_changes(campaign_id=campaign.pk)
        if state == "moved":
            noted.update(since=campaign, since_at=campaign.started_at, causes=[["Server", "", ""]])
        counts[n] = statements(partial(note_changes, campaign_id=campaign.pk))
        assert noted.exclude(since=campaign).filter(causes=[]).count() == n
    assert counts[12] == counts[1]


def test_words_against_baselines_take_as_many_statements_for_5_tests_as_for_1(
    project, bob, monkeypatch
):
    """Each test has its baseline from a campaign of its own, which measured the reference, too."""
    monkeypatch.setattr(measurements, "_BATCH", 10)
    echo = make_endpoint(make_target(project, tags=["reference"]))
    counts = {}
    for n in (1, 5):
        chosen = cells(project, n)
        reference = (chosen[0][0], echo, "new")
        for cell in chosen:
            old, _ = measured_campaign(project, [cell, reference], 10_000, days_ago=3)
            make_baseline(by=Actor(user=bob), project=project, name=f"night {n}", tests=[old])
        new = measured_campaign(project, [*chosen, reference], 12_000, days_ago=1)
        TestFigures.objects.update(against=None)
        counts[n] = statements(partial(judge_by_baselines, new[0].campaign))
        said = TestFigures.objects.filter(against__word="slower", against__reference="moved")
        assert said.count() == n
    assert Baseline.objects.count() == 6
    assert counts[5] == counts[1]


def measured_campaign(project, chosen, level_us: int, days_ago: int):
    begin = timezone.now() - timedelta(days=days_ago)
    tests = make_history(project, [1], tests=chosen, begin=begin)
    tests[0].campaign.runs.all().delete()
    for test in tests:
        for repeat in (1, 2, 3):
            measure(make_run(test, repeat), level_us + repeat)
    keep_figures([test.pk for test in tests])
    return tests
