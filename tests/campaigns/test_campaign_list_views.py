"""The list of campaigns: filters, what moves, statements."""

import re
from datetime import timedelta
from urllib.parse import parse_qsl

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.views.campaigns import MOST_ACTIVE, STRIP
from campaigns.domain.lifecycle import RunState
from campaigns.models import Campaign, RunSummary
from tests.factories import make_campaign, make_run, make_test
from tests.measured import measure
from tests.pages import text_of
from tests.queues import make_queue

pytestmark = pytest.mark.django_db


def page_of(client, project, **query):
    return client.get(reverse("campaign-list", args=[project.pk]), query)


def ended(project, name: str = "", **fields) -> Campaign:
    now = timezone.now()
    return make_campaign(project, name, **{"started_at": now, "finished_at": now, **fields})


def test_the_list_can_be_narrowed_by_name_target_and_time(as_editor, project, target, version):
    make_test(ended(project, "Nightly"), version, endpoint=target.endpoints.first())
    make_test(ended(project, "Other"))

    def listed(**query):
        return {campaign.name for campaign in page_of(as_editor, project, **query).context["page"]}

    assert listed(search="night") == {"Nightly"}
    assert listed(search="checkout") == {"Nightly"}
    assert listed(target=target.pk) == {"Nightly"}
    assert listed(since="1") == {"Nightly", "Other"}
    assert listed(target="x", since="9", measurement="?") == {"Nightly", "Other"}


def test_a_list_without_rows_says_which_filter_to_remove(as_editor, project, target):
    ended(project, "Nightly")
    shown = page_of(as_editor, project, search="night", target=target.pk, since="7")
    ((words, n, url),) = shown.context["ways_out"]
    assert (words, n) == (target.name, 1)
    assert page_of(as_editor, project, **dict(parse_qsl(url[1:]))).context["page"].count == 1


def test_what_ended_started_or_was_made_last_comes_first(as_editor, project):
    now = timezone.now()
    times = {"ended long ago": (9, 8), "started before, ended last": (7, 1), "goes on": (2, None)}
    for name, (started, finished) in times.items():
        begun = now - timedelta(hours=started)
        end = finished and now - timedelta(hours=finished)
        make_campaign(project, name, started_at=begun, finished_at=end, opened_at=begun)
    page = page_of(as_editor, project).context["page"]
    assert [each.name for each in page] == [
        "started before, ended last", "goes on", "ended long ago"
    ]  # fmt: skip


def test_a_row_says_in_a_word_what_needs_the_eye(as_editor, project):
    fine, stopped, broken = (ended(project, name) for name in ("fine", "stopped", "broken"))
    for campaign in (fine, stopped, broken):
        measure(make_run(make_test(campaign)), 10_000, n=200)
    Campaign.objects.filter(pk=stopped.pk).update(stop_requested_at=timezone.now())
    of_ms = {"metric": "p95", "limit": 1000.0, "unit": "ms", "measured": 10_000.0, "since": None}
    rules = [{"rule": "p95 < 1 ms", "passed": False, **of_ms}]
    RunSummary.objects.filter(run__campaign=broken).update(thresholds=rules)
    page = page_of(as_editor, project).context["page"]
    words = {each.name: each.pill or (each.badge and each.badge.word) for each in page}
    assert words.pop("broken").word == "Failed"
    assert words == {"fine": None, "stopped": "Stopped"}


def test_a_column_that_says_nothing_is_left_out(as_editor, project):
    make_test(ended(project))
    assert page_of(as_editor, project).context["columns"] == {"started"}
    measure(make_run(Campaign.objects.get().tests.get()), 10_000, n=200)
    assert page_of(as_editor, project).context["columns"] == {"started", "result"}


def test_the_strip_has_two_lines_until_it_is_opened(as_editor, project):
    make_queue(project, 4, state=RunState.PREPARING)
    shown = page_of(as_editor, project)
    first = Campaign.objects.order_by("pk").values_list("pk", flat=True)[:STRIP]
    assert [each.current.campaign_id for each in shown.context["active"]] == [*first]
    assert ">2 more active<" in text_of(shown)
    assert len(page_of(as_editor, project, active="all").context["active"]) == 4 < MOST_ACTIVE


def test_those_with_a_run_under_way_come_before_those_that_wait(as_editor, project):
    make_queue(project, 2)
    (active,) = make_queue(project, 1, state=RunState.PREPARING)
    first, second = page_of(as_editor, project).context["active"]
    assert (first.pk, first.current) == (active.campaign_id, active)
    assert second.current is None


def test_a_paused_campaign_is_to_be_fixed_and_has_no_progress(as_editor, project):
    now = timezone.now()
    make_test(make_campaign(project, "paused", started_at=now, held_at=now, opened_at=None))
    (line,) = re.findall(r"<li>.*?</li>", text_of(page_of(as_editor, project)), re.DOTALL)[:1]
    assert ">Fix<" in line
    assert "<progress" not in line
