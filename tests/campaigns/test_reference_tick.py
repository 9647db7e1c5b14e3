"""The tick of a campaign's form for the installation's own target."""

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Campaign, TestFigures
from campaigns.runs.services import keep_figures
from tests.campaigns.campaign_form import cells, fields, new_url
from tests.factories import make_run
from tests.measured import measure
from tests.pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_target(settings):
    settings.REFERENCE_TARGET = {"scheme": "http", "host": "127.0.0.1", "port": 8081}


@pytest.fixture
def save_draft(as_editor, project, target, version):
    """A draft of one test, with the tick or without."""

    def save_draft(**ticks):
        keys = cells(version, target, ("http", "new"))
        as_editor.post(new_url(project), fields(keys, draft="1", **ticks))
        return Campaign.objects.latest("pk")

    return save_draft


def end(campaign: Campaign) -> Campaign:
    campaign.started_at = campaign.finished_at = timezone.now()
    campaign.save()
    for test in campaign.tests.all():
        measure(make_run(test), 10_000)
        keep_figures([test.pk])
    return campaign


def test_it_is_ticked_where_one_of_the_tests_has_a_history(save_draft, as_editor, project, version):
    campaign = end(save_draft())
    again = as_editor.get(new_url(project), {"again": campaign.pk})
    assert again.context["form"].initial["reference"] is True
    fresh = as_editor.get(new_url(project), {"plan": version.plan_id})
    assert fresh.context["form"].initial["reference"] is True
    TestFigures.objects.all().delete()
    fresh = as_editor.get(new_url(project), {"plan": version.plan_id})
    assert fresh.context["form"].initial["reference"] is False


def test_run_again_and_edit_keep_it_as_it_was(save_draft, as_editor, project):
    for draft in (save_draft(reference="on"), save_draft()):
        had = draft.tests.count() == 2
        for way in ("again", "edit"):
            response = as_editor.get(new_url(project), {way: draft.pk})
            assert response.context["form"].initial["reference"] is had
            assert response.context["again"].differences == ()


def test_the_estimate_has_its_runs_and_its_time(as_editor, project, target, version):
    ticks = cells(version, target, ("http", "new"))
    address = reverse("campaign-estimate", args=[project.pk])
    without = as_editor.post(address, fields(ticks)).context
    context = as_editor.post(address, fields(ticks, reference="on")).context
    assert context["estimate"].n_runs == without["estimate"].n_runs + 3
    added_s = context["estimate"].duration_s - without["estimate"].duration_s
    assert added_s == pytest.approx(3 * (4 + 2 + 1))
    assert context["estimate"].fewest_in_a_run == without["estimate"].fewest_in_a_run


@pytest.mark.parametrize("reason", ["not set", "not allowed"])
def test_where_there_is_none_there_is_no_tick(
    as_editor, project, target, version, settings, reason
):
    if reason == "not set":
        settings.REFERENCE_TARGET = None
    else:
        settings.ALLOWED_NETWORKS = ["10.0.0.0/8"]
    page = text_of(as_editor.get(new_url(project)))
    assert "own target" not in page
