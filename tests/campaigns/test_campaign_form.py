"""The form of a campaign and its estimate. What the campaign form proposes: for a plan, a preset, a
question; among many targets."""

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.queries.campaign_grid import GridPlan, grid_of
from campaigns.domain.plan.presets import PRESETS
from campaigns.models import Campaign, Probe
from tests.campaigns.campaign_form import cells, fields, new_url
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_target,
    make_test,
)
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


def test_saving_makes_a_draft_with_its_tests(as_editor, project, target, version):
    ticks = cells(version, target, ("http", "new"), ("https", "new"))
    response = as_editor.post(new_url(project), fields(ticks, draft="1"))
    campaign = Campaign.objects.get()
    assert response.url == reverse("campaign-detail", args=[campaign.pk])
    assert (campaign.state, campaign.tests.count(), campaign.seed) == ("draft", 2, 7)
    assert campaign.practical_threshold == 0.05


def test_what_is_counted_on_the_machine_is_chosen_and_run_again(
    as_editor, project, target, version
):
    data = fields(cells(version, target, ("http", "new")), profile="on", perf="processes")
    as_editor.post(new_url(project), data | {"draft": "1"})
    campaign = Campaign.objects.get()
    assert (campaign.profile, campaign.perf) == (True, "processes")
    form = as_editor.get(new_url(project), {"again": campaign.pk}).context["form"]
    assert (form["profile"].value(), form["perf"].value()) == (True, "processes")
    assert form.is_advanced


def test_a_wrong_field_is_answered_beside_it_and_ticks_stay(as_editor, project, target, version):
    ticks = cells(version, target, ("http", "new"))
    response = as_editor.post(new_url(project), fields(ticks, repeats=500, name="x" * 200))
    assert response.context["form"].errors.keys() == {"repeats", "name"}
    assert response.context["form"].cells == ticks
    assert not Campaign.objects.exists()


def test_a_sweep_varies_one_number_that_all_plans_have(as_editor, project, target):
    """The last plan has no rate."""
    at_rate = make_plan(project, "Open", spec=plan_spec(model="open", rate_per_s=9, duration_s=1))
    at_connections = make_plan(
        project, "Closed", spec=plan_spec(model="closed", connections=2, requests=9)
    )
    of_rate = {"sweep_field": "rate_per_s", "sweep_values": "10, 20"}
    for plan, more, names in [
        (at_rate, {"sweep_values": "10, 20"}, {"sweep_field"}),
        (at_rate, {"sweep_field": "rate_per_s"}, {"sweep_values"}),
        (at_rate, {**of_rate, "injectors": "1, 2"}, {"injectors"}),
        (at_rate, {**of_rate, "sweep_values": "ten"}, {"sweep_values"}),
        (at_connections, of_rate, {"sweep_values"}),
    ]:
        data = fields(cells(plan, target, ("http", "new")), **more)
        assert as_editor.post(new_url(project), data).context["form"].errors.keys() == names, more
    assert not Campaign.objects.exists()


def test_cells_of_another_project_are_no_choice(as_editor, project, target, version):
    other = make_endpoint(make_target(make_project("Elsewhere")))
    ticks = [f"{version.pk}.{other.pk}.new"]
    response = as_editor.post(new_url(project), fields(ticks))
    assert "endpoints" in response.context["form"].errors
    assert not Campaign.objects.exists()


def test_a_pause_may_have_a_unit(as_editor, project, target, version):
    ticks = cells(version, target, ("http", "new"))
    as_editor.post(new_url(project), fields(ticks, pause_s="500ms"))
    assert Campaign.objects.get().pause_s == 0.5
    response = as_editor.post(new_url(project), fields(ticks, pause_s="5 parsecs"))
    assert "or such as 500ms" in response.context["form"].errors["pause_s"][0]


def test_the_estimate_survives_half_filled_fields(as_editor, project, target, version):
    ticks = cells(version, target, ("http", "new"))
    wrong = fields(ticks, repeats="", pause_s="x", injectors="-1", seed="", order="?")
    response = as_editor.post(reverse("campaign-estimate", args=[project.pk]), wrong)
    assert response.status_code == 200
    assert response.context["estimate"].n_runs == 5


def test_injectors_that_are_no_numbers_are_refused_at_the_field(
    as_editor, project, target, version
):
    for text in ["0", "65", "1, x", "1.5", "2 2", "1,,0"]:
        ticks = cells(version, target, ("http", "new"))
        response = as_editor.post(new_url(project), fields(ticks, injectors=text))
        assert "injectors" in response.context["form"].errors


def test_the_question_of_https_ticks_all_arms_of_a_pair(as_editor, project, target, version):
    response = as_editor.get(new_url(project), {"question": "https"})
    assert len(response.context["form"].cells) == 5
    assert response.context["estimate"].n_runs == 5


@pytest.mark.parametrize(("has_usual", "n_ticks"), [(True, 5), (False, 8)])
def test_the_question_of_https_leaves_out_tls_profiles_where_it_can(
    as_editor, project, target, version, has_usual, n_ticks
):
    """A ladder makes such endpoints. Without a usual one, all there are answer it."""
    usual = target.endpoints.get(scheme="https")
    for profile in ("classical", "tls12"):
        make_endpoint(target, "https", port=usual.port, tls={"profile": profile})
    if not has_usual:
        target.endpoints.filter(pk=usual.pk).update(archived_at=timezone.now())
    response = as_editor.get(new_url(project), {"question": "https"})
    assert len(response.context["form"].cells) == n_ticks


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
    assert {key.partition(".")[0] for key in response.context["form"].cells} == {str(version.pk)}


def proposal(as_editor, project, plan, preset=""):
    query = {"plan": plan.pk} | ({"preset": preset} if preset else {})
    return as_editor.get(new_url(project), query).context["form"]


def test_the_sweep_of_a_study_is_proposed_and_makes_a_test_for_each_number(
    as_editor, project, target
):
    plan = make_plan(project, "R99-2", PRESETS["r99-2"].spec).plan
    form = proposal(as_editor, project, plan, "r99-2")
    assert form.initial["injectors"] == "1, 2, 3, 4, 5, 6, 9, 12"
    data = fields(form.cells, injectors=form.initial["injectors"], repeats=1)
    as_editor.post(new_url(project), data)
    counts = Campaign.objects.get().tests.values_list("injectors", flat=True)
    assert list(counts) == [1, 2, 3, 4, 5, 6, 9, 12]


@pytest.mark.parametrize("page", ["search-new", "campaign-new"])
def test_plans_are_not_compared_with_all_endpoints(as_editor, project, monkeypatch, page):
    n_each, pairs, fits = 30, [], GridPlan.fits
    for number in range(n_each):
        make_plan(project, f"plan {number}")
        make_endpoint(make_target(project, f"target {number}"), "http")
    assert len(grid_of(project).cells) >= n_each * n_each
    monkeypatch.setattr(GridPlan, "fits", lambda self, at: pairs.append(at) or fits(self, at))
    assert as_editor.get(reverse(page, args=[project.pk])).status_code == 200
    assert len(pairs) < 10 * n_each


def store_probe(endpoint, error: str | None = None) -> None:
    """A single request to the endpoint has ended, with this error or a reply."""
    result = {"error": error} if error else {"status": 200, "error": None}
    Probe.objects.create(
        endpoint=endpoint, request={"method": "GET"}, finished_at=timezone.now(), result=result
    )


def ticked_endpoints(page) -> set[str]:
    return {str(page.context["grid"].cells[key][1].endpoint) for key in page.context["form"].cells}


@pytest.mark.parametrize("question", ["", "https"])
def test_a_target_that_did_not_answer_is_not_proposed(as_editor, project, version, question):
    dead, alive = make_target(project, "a dead one"), make_target(project, "an alive one")
    for target in (dead, alive):
        for scheme in ("http", "https"):
            endpoint = make_endpoint(target, scheme, host=f"10.0.0.{target.pk % 200}")
            store_probe(endpoint, "connect_refused" if target == dead else None)
    page = as_editor.get(new_url(project), {"question": question})
    assert ticked_endpoints(page)
    assert all(f"10.0.0.{alive.pk % 200}" in origin for origin in ticked_endpoints(page))


def picks(page) -> list[str]:
    return [each.name for each in page.context["form"].target_picker.chosen]


def test_the_target_used_last_is_proposed_and_never_the_first(as_editor, project, version):
    targets = [make_target(project, name) for name in ("a", "b", "c")]
    endpoints = [make_endpoint(each, "http") for each in targets]
    page = as_editor.get(new_url(project))
    assert picks(page) == [], "nobody loads a target that nobody has chosen"
    campaign = make_campaign(project, started_at=timezone.now())
    make_test(campaign, version, endpoint=endpoints[1], connection_mode="keep-alive")
    page = as_editor.get(new_url(project))
    assert picks(page) == ["b"]
    assert page.context["form"].cells == [f"{version.pk}.{endpoints[1].pk}.keep-alive"]
    assert [each.name for each in page.context["form"].target_picker.options] == ["b", "a", "c"]


def test_the_form_keeps_the_target_that_one_came_from(as_editor, project, target, version):
    other = make_target(project, "zebra")
    make_endpoint(other, "http", host="10.0.0.9")
    page = as_editor.get(new_url(project), {"target": other.pk})
    assert ticked_endpoints(page) == {"http://10.0.0.9:8081"}
    assert f"?question=https&amp;target={other.pk}" in page.content.decode()


def test_a_campaign_starts_on_targets_that_were_chosen_just_now(
    as_editor, project, target, version
):
    """Before the preview has come with their endpoints."""
    other = make_target(project, "zebra")
    endpoint = make_endpoint(other, "https", host="10.0.0.9")
    data = fields(cells(version, target, ("http", "new"))) | {"targets": [other.pk], "start": "1"}
    assert as_editor.post(new_url(project), data).status_code == 302
    campaign = Campaign.objects.get()
    assert campaign.started_at
    assert [test.endpoint for test in campaign.tests.all()] == [endpoint]


def test_what_cannot_be_used_stays_with_its_reason(as_editor, project, target, version):
    make_endpoint(target, "wss", 8444)
    data = fields(cells(version, target, ("http", "new")))
    page = as_editor.post(reverse("campaign-estimate", args=[project.pk]), data)
    ((_, chips),) = page.context["form"].endpoint_rows
    reasons = [chip.why_not for chip in chips if chip.why_not]
    assert reasons == [f"WSS isn't available: “{version.plan.name}” sends HTTP requests."]
    mode = next(e for e in page.context["form"].mode_options if e.key == "resumed")
    assert "need an HTTPS" in mode.why_not


def test_a_campaign_that_nobody_names_is_named_after_its_question(
    as_editor, project, target, version
):
    data = fields(cells(version, target, ("http", "new")), name="", question="https")
    as_editor.post(new_url(project), data)
    assert Campaign.objects.get().name == f"What does HTTPS cost? {target.name}"


def test_without_script_another_plan_is_added_by_a_button_that_saves_nothing(
    as_editor, project, target, version
):
    make_plan(project, "another")
    page = as_editor.post(
        new_url(project), fields(cells(version, target, ("http", "new")), pick="plans")
    )
    assert page.context["form"].plan_picker.is_several
    assert page.status_code == 200
    assert not Campaign.objects.exists()
