"""The form of a campaign and its estimate."""

import re

import pytest
from django.urls import reverse

from campaigns.models import Campaign
from tests.factories import make_endpoint, make_plan, make_project, make_target
from tests.views.campaign_form import cells, fields, new_url
from tests.views.pages import text_of

pytestmark = pytest.mark.django_db


def test_ticks_of_one_address_in_two_targets_are_told_apart(as_editor, project):
    for name in ("old", "new"):
        make_endpoint(make_target(project, name), "https")
    make_plan(project, "prices")
    page = text_of(as_editor.get(new_url(project)))
    labels = re.findall(r'<input type="checkbox"[^>]* aria-label="([^"]*)"', page)
    assert any(label.startswith("prices on old: ") for label in labels)
    assert len(labels) == len(set(labels))


def test_saving_makes_a_draft_with_its_tests(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"), ("https", "new"))
    response = as_editor.post(new_url(project), fields(ticked, draft="1"))
    campaign = Campaign.objects.get()
    assert response.url == reverse("campaign-detail", args=[campaign.pk])
    assert (campaign.state, campaign.tests.count(), campaign.seed) == ("draft", 2, 7)
    assert campaign.practical_threshold == 0.05


def test_what_perf_counts_is_chosen_and_run_again(as_editor, project, target, version):
    asked = fields(cells(version, target, ("http", "new")), perf="processes")
    as_editor.post(new_url(project), asked | {"draft": "1"})
    campaign = Campaign.objects.get()
    assert campaign.perf == "processes"
    form = as_editor.get(new_url(project), {"again": campaign.pk}).context["form"]
    assert form["perf"].value() == "processes"


def test_a_wrong_field_is_answered_beside_it_and_ticks_stay(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"))
    response = as_editor.post(new_url(project), fields(ticked, repeats=500, name=""))
    assert response.context["form"].errors.keys() == {"repeats", "name"}
    assert f'value="{ticked[0]}" checked' in text_of(response)
    assert not Campaign.objects.exists()


def test_cells_of_another_project_are_no_choice(as_editor, project, target, version):
    other = make_endpoint(make_target(make_project("Elsewhere")))
    ticked = [f"{version.pk}.{other.pk}.new"]
    response = as_editor.post(new_url(project), fields(ticked))
    assert "cells" in response.context["form"].errors


def test_the_estimate_survives_half_filled_fields(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"))
    wrong = fields(ticked, repeats="", pause_s="x", injectors="-1", seed="", order="?")
    response = as_editor.post(reverse("campaign-estimate", args=[project.pk]), wrong)
    assert response.status_code == 200
    assert response.context["estimate"].n_runs == 5


@pytest.mark.parametrize("text", ["0", "65", "1, x", "1.5", "2 2", "1,,0"])
def test_injectors_that_are_no_numbers_are_refused_at_the_field(
    as_editor, project, target, version, text
):
    ticked = cells(version, target, ("http", "new"))
    response = as_editor.post(new_url(project), fields(ticked, injectors=text))
    assert "injectors" in response.context["form"].errors
