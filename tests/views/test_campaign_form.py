"""The form of a campaign and its estimate. What the campaign form proposes: for a plan, a preset, a
question; among many targets."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.domain.plan.presets import PRESETS
from campaigns.models import Campaign, Probe
from campaigns.queries.campaigns import GridPlan, grid_of
from tests.factories import make_endpoint, make_plan, make_project, make_target
from tests.values import plan_spec
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


def test_a_profile_is_asked_for_and_run_again(as_editor, project, target, version):
    asked = fields(cells(version, target, ("http", "new")), profile="on")
    as_editor.post(new_url(project), asked | {"draft": "1"})
    campaign = Campaign.objects.get()
    assert campaign.profile
    form = as_editor.get(new_url(project), {"again": campaign.pk}).context["form"]
    assert form["profile"].value() is True
    assert form.is_advanced


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


def test_a_pause_may_have_a_unit(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"))
    as_editor.post(new_url(project), fields(ticked, pause_s="500ms"))
    assert Campaign.objects.get().pause_s == 0.5
    response = as_editor.post(new_url(project), fields(ticked, pause_s="5 parsecs"))
    assert "or such as 500ms" in response.context["form"].errors["pause_s"][0]


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


def test_the_question_of_https_ticks_all_arms_of_a_pair(as_editor, project, target, version):
    response = as_editor.get(new_url(project), {"question": "https"})
    assert len(response.context["ticked"]) == 5
    assert response.context["estimate"].n_runs == 5


@pytest.mark.parametrize(("has_usual", "ticked"), [(True, 5), (False, 8)])
def test_the_question_of_https_leaves_out_tls_profiles_where_it_can(
    as_editor, project, target, version, has_usual, ticked
):
    """A ladder makes such endpoints. Without a usual one, all there are answer it."""
    usual = target.endpoints.get(scheme="https")
    for profile in ("classical", "tls12"):
        make_endpoint(target, "https", port=usual.port, tls={"profile": profile})
    if not has_usual:
        target.endpoints.filter(pk=usual.pk).update(archived_at=timezone.now())
    response = as_editor.get(new_url(project), {"question": "https"})
    assert len(response.context["ticked"]) == ticked


def test_the_endpoint_that_was_there_first_is_proposed_whichever_was_restored_last(
    as_editor, project, target
):
    """Of one origin with several TLS profiles, for a plan that asks for HTTPS."""
    usual = target.endpoints.get(scheme="https")
    make_endpoint(target, "https", port=usual.port, tls={"profile": "classical"})
    for archived_at in (timezone.now(), None):
        target.endpoints.filter(pk=usual.pk).update(archived_at=archived_at)
    plan = make_plan(project, "soap", PRESETS["https"].spec).plan
    page = as_editor.get(new_url(project), {"plan": plan.pk, "preset": "https"})
    assert ticked_endpoints(page) == {"http://127.0.0.1:8081", str(usual)}
    assert [str(each) for each in target.endpoints.filter(scheme="https")] == [
        str(usual),
        f"{usual}, without post-quantum",
    ]


def test_the_question_of_https_is_about_http_even_if_a_websocket_plan_comes_first(
    as_editor, project, target, version
):
    make_plan(project, "Echo", spec=plan_spec() | {"steps": [], "exchange": {"path": "/"}})
    make_endpoint(target, "ws", 8081)
    make_endpoint(target, "wss", 8444)
    response = as_editor.get(new_url(project), {"question": "https"})
    assert {key.partition(".")[0] for key in response.context["ticked"]} == {str(version.pk)}


def proposed(as_editor, project, plan, preset=""):
    query = {"plan": plan.pk} | ({"preset": preset} if preset else {})
    return as_editor.get(new_url(project), query).context["form"]


def test_the_sweep_of_a_study_is_proposed_and_makes_a_test_for_each_number(
    as_editor, project, target
):
    plan = make_plan(project, "R99-2", PRESETS["r99-2"].spec).plan
    form = proposed(as_editor, project, plan, "r99-2")
    assert form.initial["injectors"] == "1, 2, 3, 4, 5, 6, 9, 12"
    data = fields(list(form.ticked()), injectors=form.initial["injectors"], repeats=1)
    as_editor.post(new_url(project), data)
    counts = Campaign.objects.get().tests.values_list("injectors", flat=True)
    assert list(counts) == [1, 2, 3, 4, 5, 6, 9, 12]


@pytest.mark.parametrize("page", ["search-new", "campaign-new"])
def test_plans_are_not_compared_with_all_endpoints_that_are_not_shown(
    as_editor, project, monkeypatch, page
):
    n_each, compared, fits = 30, [], GridPlan.fits
    monkeypatch.setattr("campaigns.queries.campaigns.MOST_SHOWN", 10)
    for number in range(n_each):
        make_plan(project, f"plan {number}")
        make_endpoint(make_target(project, f"target {number}"), "http")
    assert len(grid_of(project).cells) >= n_each * n_each
    monkeypatch.setattr(GridPlan, "fits", lambda self, at: compared.append(at) or fits(self, at))
    assert as_editor.get(reverse(page, args=[project.pk])).status_code == 200
    assert 0 < len(compared) < 10 * n_each


def answered(endpoint, error: str | None = None) -> None:
    """A single request to the endpoint has ended, with this error or a reply."""
    result = {"error": error} if error else {"status": 200, "error": None}
    Probe.objects.create(
        endpoint=endpoint, request={"method": "GET"}, finished_at=timezone.now(), result=result
    )


def ticked_endpoints(page) -> set[str]:
    return {str(page.context["grid"].cells[key][1].endpoint) for key in page.context["ticked"]}


@pytest.mark.parametrize("question", ["works", "https"])
def test_a_target_that_did_not_answer_is_not_proposed(as_editor, project, version, question):
    dead, alive = make_target(project, "a dead one"), make_target(project, "an alive one")
    for target in (dead, alive):
        for scheme in ("http", "https"):
            endpoint = make_endpoint(target, scheme, host=f"10.0.0.{target.pk % 200}")
            answered(endpoint, "connect_refused" if target == dead else None)
    page = as_editor.get(new_url(project), {"question": question})
    assert ticked_endpoints(page)
    assert all(f"10.0.0.{alive.pk % 200}" in origin for origin in ticked_endpoints(page))


def test_the_form_keeps_the_target_that_one_came_from(as_editor, project, target, version):
    other = make_target(project, "zebra")
    make_endpoint(other, "http", host="10.0.0.9")
    page = as_editor.get(new_url(project), {"question": "works", "target": other.pk})
    assert ticked_endpoints(page) == {"http://10.0.0.9:8081"}
    assert f'<option value="{other.pk}" selected>' in page.content.decode()
    assert f"?question=https&amp;target={other.pk}" in page.content.decode()
