"""The pages of campaigns: list, form, estimate, page, actions; and who may see what."""

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.domain.plan.presets import PRESETS
from campaigns.models import Campaign, Probe, Run
from campaigns.permissions import Role
from campaigns.services.hosts import announce_host
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_membership,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
    make_user,
)
from tests.queries.measured import measure
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


@pytest.fixture
def target(project):
    target = make_target(project, "checkout-api")
    make_endpoint(target, "http")
    make_endpoint(target, "https")
    return target


@pytest.fixture
def version(project):
    return make_plan(project, "Prices")


def cells(version, target, *arms):
    found = {endpoint.scheme: endpoint.pk for endpoint in target.endpoints.all()}
    return [f"{version.pk}.{found[scheme]}.{mode}" for scheme, mode in arms]


def fields(ticked, **more):
    return {
        "name": "HTTPS overhead",
        "cells": ticked,
        "repeats": 3,
        "order": "blocks",
        "pause_s": 1,
        "injectors": 1,
        "practical_threshold": 5,
        "seed": 7,
        **more,
    }


def new_url(project):
    return reverse("campaign-new", args=[project.pk])


def text_of(response) -> str:
    """The page; where its lines break makes no difference."""
    return " ".join(response.content.decode().split())


# --- the list ---------------------------------------------------------------------------------


def test_an_empty_project_offers_the_one_next_step(as_editor, project):
    page = text_of(as_editor.get(reverse("campaign-list", args=[project.pk])))
    assert "What do you want to measure?" in page
    assert reverse("project-measure", args=[project.pk]) in page


def test_with_target_and_plan_the_next_step_is_a_campaign(as_editor, project, target, version):
    page = text_of(as_editor.get(reverse("campaign-list", args=[project.pk])))
    assert new_url(project) in page


def test_the_list_can_be_narrowed_by_name_state_target_and_time(
    as_editor, project, target, version
):
    endpoint = target.endpoints.first()
    make_test(make_campaign(project, "Nightly"), version, endpoint=endpoint)
    make_test(make_campaign(project, "Other"))

    def listed(**query):
        page = as_editor.get(reverse("campaign-list", args=[project.pk]), query).context["page"]
        return {campaign.name for campaign in page}

    assert listed(name="night") == {"Nightly"}
    assert listed(name="checkout") == {"Nightly"}
    assert listed(target=target.pk) == {"Nightly"}
    assert listed(state="draft", since="1") == {"Nightly", "Other"}
    assert listed(state="running") == set()
    assert listed(state="nonsense", target="x", since="9") == {"Nightly", "Other"}


def test_a_running_campaign_stands_on_top_with_its_stop(as_editor, project, target, version):
    campaign = started(as_editor, project, target, version)
    page = text_of(as_editor.get(reverse("campaign-list", args=[project.pk])))
    assert "data-moving" in page
    assert reverse("campaign-stop", args=[campaign.pk]) in page


def test_a_list_says_of_each_whether_it_may_be_believed(as_editor, project):
    ended = timezone.now()
    for name, fields in (("fine", {}), ("stopped", {"stop_requested_at": ended})):
        campaign = make_campaign(project, name, started_at=ended, finished_at=ended, **fields)
        measure(make_run(make_test(campaign)), 10_000, n=200)
    make_campaign(project, "later")
    page = as_editor.get(reverse("campaign-list", args=[project.pk])).context["page"]
    assert {each.name: (each.badge.state, each.badge.word) for each in page} == {
        "fine": ("complete", "Complete"),
        "stopped": ("stopped", "Stopped"),
        "later": ("draft", "Draft"),
    }


def test_a_stranger_finds_no_list(client, charlie, project):
    client.force_login(charlie)
    assert client.get(reverse("campaign-list", args=[project.pk])).status_code == 404


# --- the form ---------------------------------------------------------------------------------


def test_the_grid_has_a_resumed_column_for_https_only(as_editor, project, target, version):
    arms = as_editor.get(new_url(project)).context["grid"].arms
    assert [(arm.endpoint.scheme, str(arm.mode)) for arm in arms] == [
        ("http", "new"),
        ("http", "keep-alive"),
        ("https", "new"),
        ("https", "resumed"),
        ("https", "keep-alive"),
    ]


def test_the_question_of_https_ticks_all_arms_of_a_pair(as_editor, project, target, version):
    response = as_editor.get(new_url(project), {"question": "https"})
    assert len(response.context["ticked"]) == 5
    assert response.context["estimate"].n_runs == 25


def test_the_question_of_https_is_about_http_even_if_a_websocket_plan_comes_first(
    as_editor, project, target, version
):
    make_plan(project, "Echo", spec=plan_spec() | {"steps": [], "exchange": {"path": "/"}})
    make_endpoint(target, "ws", 8081)
    make_endpoint(target, "wss", 8444)
    response = as_editor.get(new_url(project), {"question": "https"})
    assert {key.partition(".")[0] for key in response.context["ticked"]} == {str(version.pk)}


def test_saving_makes_a_draft_with_its_tests(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"), ("https", "new"))
    response = as_editor.post(new_url(project), fields(ticked, draft="1"))
    campaign = Campaign.objects.get()
    assert response.url == reverse("campaign-detail", args=[campaign.pk])
    assert (campaign.state, campaign.tests.count(), campaign.seed) == ("draft", 2, 7)
    assert campaign.practical_threshold == 0.05


def started(client, project, target, version) -> Campaign:
    ticked = cells(version, target, ("http", "new"), ("https", "new"))
    client.post(new_url(project), fields(ticked, start="1"))
    return Campaign.objects.latest("pk")


def test_starting_queues_the_runs_in_the_order_that_the_form_showed(
    as_editor, project, target, version
):
    ticked = cells(version, target, ("http", "new"), ("https", "new"))
    preview = as_editor.post(
        reverse("campaign-estimate", args=[project.pk]), fields(ticked)
    ).context["preview"]
    campaign = started(as_editor, project, target, version)
    made = [run.snapshot["endpoint"]["scheme"] for run in campaign.runs.order_by("position")]
    assert made == [turn.scheme for block in preview for turn in block]


def test_without_a_tick_the_form_says_what_to_do_and_keeps_the_rest(
    as_editor, project, target, version
):
    page = text_of(as_editor.post(new_url(project), fields([], name="My name")))
    assert "Tick at least one cell" in page
    assert 'value="My name"' in page


def test_a_wrong_field_is_answered_beside_it_and_ticks_stay(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"))
    response = as_editor.post(new_url(project), fields(ticked, repeats=500, name=""))
    assert response.context["form"].errors.keys() == {"repeats", "name"}
    assert response.context["form"].errors["repeats"] == ["Enter a whole number from 1 to 50."]
    assert f'value="{ticked[0]}" checked' in text_of(response)
    assert not Campaign.objects.exists()


def test_too_many_runs_are_refused_with_the_number(as_editor, project, target):
    for number in range(30):
        make_plan(project, f"plan {number}")
    grid = as_editor.get(new_url(project)).context["grid"]
    response = as_editor.post(new_url(project), fields(list(grid.cells), repeats=50))
    assert "7,500 runs" in text_of(response)


def test_more_injectors_than_connections_are_refused_at_the_field(as_editor, project, target):
    spec = plan_spec(model="closed", connections=2, requests=100)
    ticked = cells(make_plan(project, "two", spec), target, ("http", "new"))
    response = as_editor.post(new_url(project), fields(ticked, injectors=3))
    assert "too few to share" in response.context["form"].errors["injectors"][0]


def test_shares_for_another_number_of_injectors_are_refused_at_the_field(
    as_editor, project, target
):
    spec = plan_spec(model="open", rate_per_s=9, requests=99, shares=[2, 1, 1])
    ticked = cells(make_plan(project, "shared", spec), target, ("http", "new"))
    response = as_editor.post(new_url(project), fields(ticked, injectors=2))
    assert "shares for 3 injector processes" in response.context["form"].errors["injectors"][0]


def test_injectors_that_would_begin_after_the_end_are_refused_at_the_field(
    as_editor, project, target
):
    spec = plan_spec(model="closed", connections=9, duration_s=2, start_offset_s=1)
    ticked = cells(make_plan(project, "apart", spec), target, ("http", "new"))
    response = as_editor.post(new_url(project), fields(ticked, injectors=3))
    assert "begin after 2 s" in response.context["form"].errors["injectors"][0]


def test_cells_of_another_project_are_no_choice(as_editor, project, target, version):
    other = make_endpoint(make_target(make_project("Elsewhere")))
    ticked = [f"{version.pk}.{other.pk}.new"]
    response = as_editor.post(new_url(project), fields(ticked))
    assert "cells" in response.context["form"].errors


def test_a_project_without_plan_or_target_says_what_is_missing(as_editor, project):
    assert "no target with an endpoint" in text_of(as_editor.get(new_url(project)))
    make_endpoint(make_target(project))
    assert "no plan" in text_of(as_editor.get(new_url(project)))


def test_a_viewer_may_not_open_the_form(client, vera, project):
    client.force_login(vera)
    assert client.get(new_url(project)).status_code == 403


# --- the estimate -----------------------------------------------------------------------------


def test_the_estimate_changes_nothing_and_answers_fragments(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"), ("https", "new"))
    page = text_of(as_editor.post(reverse("campaign-estimate", args=[project.pk]), fields(ticked)))
    assert 'data-live="cost"' in page
    assert 'data-live="order"' in page
    assert "<html" not in page
    assert "600" in page
    assert not Campaign.objects.exists()


def test_the_estimate_survives_half_filled_fields(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"))
    wrong = fields(ticked, repeats="", pause_s="x", injectors="-1", seed="", order="?")
    response = as_editor.post(reverse("campaign-estimate", args=[project.pk]), wrong)
    assert response.status_code == 200
    assert response.context["estimate"].n_runs == 5


def test_the_checks_say_when_no_injector_answers(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"))
    page = text_of(as_editor.post(reverse("campaign-estimate", args=[project.pk]), fields(ticked)))
    assert "No injector host is online" in page
    assert "127.0.0.1 can be tested" in page


def test_the_checks_say_what_the_injectors_would_run_short_of(as_editor, project, target):
    facts = {"local_ports": "32768 33767", "open_files": 256, "time_wait_reuse": "2"}
    announce_host(name="small", slots=2, facts=facts)
    version = make_plan(project, spec=plan_spec(model="open", rate_per_s=100, duration_s=60))
    ticked = cells(version, target, ("http", "new"))
    page = text_of(as_editor.post(reverse("campaign-estimate", args=[project.pk]), fields(ticked)))
    assert "6,000 local ports within a minute" in page
    assert "one injector host has 1,000" in page
    assert "3,064 open files, but its limit is 256" in page


def test_the_checks_name_an_address_that_is_not_allowed(as_editor, project, version, settings):
    settings.ALLOWED_NETWORKS = ["10.0.0.0/8"]
    target = make_target(project)
    make_endpoint(target, "http")
    ticked = cells(version, target, ("http", "new"))
    page = text_of(as_editor.post(reverse("campaign-estimate", args=[project.pk]), fields(ticked)))
    assert "127.0.0.1 is in none of the networks" in page


# --- the page and its actions -----------------------------------------------------------------


def test_a_draft_can_be_started(as_editor, project, target, version):
    campaign = make_campaign(project)
    make_test(campaign, version, endpoint=target.endpoints.first())
    page = text_of(as_editor.get(reverse("campaign-detail", args=[campaign.pk])))
    assert "Start campaign" in page
    as_editor.post(reverse("campaign-start", args=[campaign.pk]))
    assert campaign.runs.count() == 3


def test_a_started_campaign_is_followed_from_what_the_page_shows(
    as_editor, project, target, version
):
    campaign = started(as_editor, project, target, version)
    page = text_of(as_editor.get(reverse("campaign-detail", args=[campaign.pk])))
    assert f'data-stream="{reverse("campaign-stream", args=[campaign.pk])}"' in page
    assert 'data-cursor="e' in page
    assert "0 of 6 runs" in page
    assert "stop-dialog" in page


def test_starting_twice_is_refused_in_words(as_editor, project, target, version):
    campaign = started(as_editor, project, target, version)
    response = as_editor.post(reverse("campaign-start", args=[campaign.pk]), follow=True)
    assert "already been started" in text_of(response)


def test_stopping_ends_what_waits(as_editor, project, target, version):
    campaign = started(as_editor, project, target, version)
    as_editor.post(reverse("campaign-stop", args=[campaign.pk]))
    assert set(campaign.runs.values_list("state", "outcome")) == {("done", "stopped")}


def test_run_again_makes_a_new_draft(as_editor, project, target, version):
    campaign = started(as_editor, project, target, version)
    response = as_editor.post(reverse("campaign-repeat", args=[campaign.pk]))
    repeated = Campaign.objects.latest("pk")
    assert response.url == reverse("campaign-detail", args=[repeated.pk])
    assert (repeated.state, repeated.tests.count()) == ("draft", 2)


def test_run_again_opens_the_form_filled_in(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"), ("https", "keep-alive"))
    as_editor.post(new_url(project), fields(ticked, draft="1", repeats=7, injectors="1, 2"))
    campaign = Campaign.objects.get()
    form = as_editor.get(new_url(project), {"again": campaign.pk}).context["form"]
    known = form.known()
    assert known["name"] == "HTTPS overhead (2)"
    assert (known["cells"], known["repeats"], known["pause_s"]) == (ticked, 7, 1)
    assert (known["injectors"], known["practical_threshold"]) == ((1, 2), 5)
    assert Campaign.objects.count() == 1


def test_run_again_says_what_has_changed_and_can_repeat_exactly(
    as_editor, project, target, version
):
    old = make_campaign(project, "Nightly")
    make_test(old, version, endpoint=target.endpoints.get(scheme="http"))
    make_test(old, make_plan(project, "Gone"), endpoint=target.endpoints.get(scheme="http"))
    newer = version.plan.versions.create(number=2, spec=plan_spec())
    version.plan.project.plans.filter(name="Gone").update(archived_at=timezone.now())
    response = as_editor.get(new_url(project), {"again": old.pk})
    page = text_of(response)
    assert "Prices v1 has become version 2." in page
    assert "Gone v1 on" in page
    assert reverse("campaign-repeat", args=[old.pk]) in page
    assert response.context["form"].known()["cells"] == [
        f"{newer.pk}.{target.endpoints.get(scheme='http').pk}.new"
    ]


def test_another_projects_campaign_cannot_be_run_again(as_editor, project, target, version):
    foreign = make_campaign(make_project())
    for number in (foreign.pk, "x", ""):
        assert as_editor.get(new_url(project), {"again": number}).status_code == 404


@pytest.mark.parametrize("name", ["campaign-start", "campaign-stop", "campaign-repeat"])
def test_actions_need_a_post(as_editor, project, name):
    campaign = make_campaign(project)
    assert as_editor.get(reverse(name, args=[campaign.pk])).status_code == 405


def test_a_viewer_sees_the_page_without_buttons(client, vera, project):
    campaign = make_campaign(project)
    make_test(campaign)
    client.force_login(vera)
    page = text_of(client.get(reverse("campaign-detail", args=[campaign.pk])))
    assert "Start campaign" not in page
    assert client.post(reverse("campaign-start", args=[campaign.pk])).status_code == 403


def test_an_operator_may_start_but_not_share(client, project):
    operator = make_user("olga")
    make_membership(project, operator, Role.OPERATOR)
    client.force_login(operator)
    campaign = make_campaign(project)
    make_test(campaign)
    page = text_of(client.get(reverse("campaign-detail", args=[campaign.pk])))
    assert "Start campaign" in page
    assert "share-dialog" not in page


def test_the_tables_come_as_csv(as_editor, project):
    campaign = make_campaign(project)
    make_run(make_test(campaign))
    response = as_editor.get(reverse("campaign-csv", args=[campaign.pk]))
    assert response["Content-Type"].startswith("text/csv")
    assert "attachment" in response["Content-Disposition"]


def test_the_page_has_no_inline_script_or_style(as_editor, project, target, version):
    campaign = started(as_editor, project, target, version)
    page = text_of(as_editor.get(reverse("campaign-detail", args=[campaign.pk])))
    assert " style=" not in page
    assert "<script>" not in page
    assert " onclick" not in page


def test_thirty_runs_do_not_need_thirty_times_the_queries(
    as_editor, project, target, version, django_assert_max_num_queries
):
    campaign = make_campaign(project, repeats=15)
    tests = [make_test(campaign, version, endpoint=each) for each in target.endpoints.all()]
    for repeat in range(1, 16):
        for test in tests:
            make_run(test, repeat)
    assert Run.objects.count() == 30
    with django_assert_max_num_queries(60):
        as_editor.get(reverse("campaign-detail", args=[campaign.pk]))


# --- proposed for a plan ----------------------------------------------------------------------


def proposed(as_editor, project, plan, preset=""):
    query = {"plan": plan.pk} | ({"preset": preset} if preset else {})
    return as_editor.get(new_url(project), query).context["form"]


def ticked_arms(form):
    arms = [form.grid.cells[key][1] for key in form.ticked()]
    return sorted((arm.endpoint.scheme, str(arm.mode)) for arm in arms)


def test_a_preset_s_campaign_is_filled_in_completely(as_editor, project, target):
    plan = make_plan(project, "L1", PRESETS["l1"].spec).plan
    form = proposed(as_editor, project, plan, "l1")
    assert ticked_arms(form) == [("http", "new")]
    assert (form.initial["name"], form.initial["repeats"]) == ("L1", 5)


def test_what_https_costs_ticks_both_schemes_of_one_target(as_editor, project, target, version):
    form = proposed(as_editor, project, version.plan, "over-10")
    assert ticked_arms(form) == [("http", "new"), ("https", "new")]


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


def test_without_a_fitting_endpoint_the_proposal_says_what_is_missing(as_editor, project, target):
    plan = make_plan(project, "ws", PRESETS["wsperf"].spec).plan
    address = {"plan": plan.pk, "preset": "wsperf"}
    assert "no endpoint that fits its plans" in text_of(as_editor.get(new_url(project), address))
    make_plan(project)
    assert "No target of this project has ws" in text_of(as_editor.get(new_url(project), address))


@pytest.mark.parametrize("plan", ["9999", "x", ""])
def test_a_plan_that_is_not_there_is_proposed_nothing(as_editor, project, target, plan):
    form = as_editor.get(new_url(project), {"plan": plan}).context["form"]
    assert form.ticked() == set()


@pytest.mark.parametrize("text", ["0", "65", "1, x", "1.5", "2 2", "1,,0"])
def test_injectors_that_are_no_numbers_are_refused_at_the_field(
    as_editor, project, target, version, text
):
    ticked = cells(version, target, ("http", "new"))
    response = as_editor.post(new_url(project), fields(ticked, injectors=text))
    assert "injectors" in response.context["form"].errors


def test_the_tile_of_a_single_request_speaks_of_one(as_editor, project):
    ended = timezone.now()
    campaign = make_campaign(project, repeats=1, started_at=ended, finished_at=ended)
    measure(make_run(make_test(campaign)), 10_000, n=1, seconds=1)
    page = as_editor.get(reverse("campaign-detail", args=[campaign.pk]))
    assert page.context["tiles"][0]["lines"] == ["1.00 ok requests/s", "1 request", "0 errors"]


# --- a project with a great many targets ------------------------------------------------------


@pytest.fixture
def many_targets(project, target, monkeypatch):
    monkeypatch.setattr("campaigns.queries.campaigns.MOST_SHOWN", 9)
    others = [make_target(project, f"service {n}") for n in range(2)]
    for other in others:
        make_endpoint(other, "http")
    return others


def shown_targets(page) -> list[str]:
    return [each.name for each, _, _ in page.context["shown"].targets]


def test_a_small_project_shows_all_its_targets(as_editor, project, target, version):
    page = as_editor.get(new_url(project))
    assert shown_targets(page) == ["checkout-api"]
    assert "other-target" not in page.content.decode()


def test_a_large_project_shows_one_target_at_a_time(as_editor, project, version, many_targets):
    make_plan(project, "Another")
    assert shown_targets(as_editor.get(new_url(project))) == ["checkout-api"]
    other = many_targets[1]
    page = as_editor.get(new_url(project), {"target": other.pk, "question": "own"})
    assert shown_targets(page) == ["service 1"]
    assert '<input type="hidden" name="question" value="own">' in page.content.decode()


def test_a_target_with_a_tick_stays_in_sight(as_editor, project, target, version, many_targets):
    make_plan(project, "Another")
    ticked = cells(version, target, ("http", "new"))
    asked = f"{new_url(project)}?target={many_targets[0].pk}"
    page = as_editor.post(asked, fields(ticked, repeats="none"))
    assert page.status_code == 422
    assert shown_targets(page) == ["checkout-api", "service 0"]


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


def test_no_websocket_is_ticked_for_what_https_costs(as_editor, project, version):
    target = make_target(project, "chat")
    for scheme in ("ws", "wss", "https"):
        make_endpoint(target, scheme, port=9000)
    page = as_editor.get(new_url(project), {"question": "https", "target": target.pk})
    assert ticked_endpoints(page) == set()
