"""Baselines on pages: made from a campaign or from a history, and what the next campaign says."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.engine.services.dispatch import finish_campaigns
from campaigns.models import Baseline
from campaigns.runs.services import keep_figures
from tests.factories import make_campaign, make_run, make_test
from tests.histories import make_history
from tests.history.test_views import CALM
from tests.measured import measure
from tests.pages import csv_rows, shown_text

pytestmark = pytest.mark.django_db


def test_a_campaign_becomes_the_baseline_and_the_next_one_says_the_result(as_editor, project):
    tests = []
    for number, level in enumerate((10_000, 12_000)):
        at = timezone.now() - timedelta(days=2 - number)
        campaign = make_campaign(project, started_at=at)
        same = {"version": tests[0].plan_version, "endpoint": tests[0].endpoint} if tests else {}
        test = make_test(campaign, **same)
        for repeat in (1, 2, 3):
            measure(make_run(test, repeat=repeat), level + repeat * 50)
        keep_figures([test.pk])
        finish_campaigns()
        tests.append(test)
        if not number:
            address = reverse("campaign-baseline", args=[campaign.pk])
            as_editor.post(address, {"name": "release 1.4", "seen": "0"})
    page = shown_text(as_editor.get(reverse("campaign-detail", args=[tests[1].campaign_id])))
    assert re.search(r"(19|20) % slower than baseline “release 1\.4” \(\d", page), page
    campaigns = shown_text(as_editor.get(reverse("campaign-list", args=[project.pk])))
    assert re.search(r"\+(19|20)(\.\d)? %", campaigns)
    page = shown_text(as_editor.get(reverse("history", args=[project.pk])))
    assert re.search(r"\+(19|20)(\.\d)? % release 1\.4", page), page
    _, row = csv_rows(as_editor.get(reverse("history-test-csv", args=[tests[1].pk])))
    assert (row["baseline"], row["against_word"]) == ("release 1.4", "slower")
    assert float(row["against_low"]) < float(row["against"]) < float(row["against_high"])


def test_ticked_campaigns_of_a_history_become_the_baseline(as_editor, project):
    (test,) = make_history(project, CALM)
    address = reverse("history-test", args=[test.pk])
    post = reverse("history-baseline", args=[test.pk])
    as_editor.post(post, {"name": "calm"})
    assert not Baseline.objects.exists()
    points = as_editor.get(address).context["named"].history.points
    tests = [points[0].test, points[1].test]
    as_editor.post(post, {"name": "calm", "in": tests, "seen": "0"})
    assert Baseline.objects.get().runs.count() == 6
