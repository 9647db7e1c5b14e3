"""The form of a protocol ladder: what it starts with, what it starts, its errors."""

import pytest
from django.urls import reverse

from campaigns.domain.plan.rungs import USUAL_RUNGS
from campaigns.models import Campaign
from tests.engine.scenes import host
from tests.factories import make_endpoint, make_plan, make_target
from tests.typed_forms import form_values
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(project):
    host(slots=8)
    target = make_target(project, "shop")
    make_endpoint(target, "http")
    make_endpoint(target, "https")
    make_endpoint(target, "https", tls={"profile": "tls12"})
    return target


def form_url(project) -> str:
    return reverse("ladder-new", args=[project.pk])


def test_everything_has_a_default_and_the_start_is_one_click(as_editor, project, shop):
    make_plan(project, "prices")
    form = as_editor.get(form_url(project)).context["form"]
    assert form["rungs"].value() == list(USUAL_RUNGS)
    assert as_editor.post(form_url(project), form_values(form)).status_code == 302
    campaign = Campaign.objects.get()
    assert campaign.name == "What does each layer cost shop?"
    assert campaign.tests.count() == len(USUAL_RUNGS)


def test_on_a_busy_host_a_ladder_may_wait(as_editor, project, shop, monkeypatch):
    make_plan(project, "prices")
    monkeypatch.setattr("campaigns.search.views.search_new.busy_host", lambda: True)
    page = as_editor.get(form_url(project))
    assert 'value="when_quiet"' in page.content.decode()
    values = form_values(page.context["form"]) | {"start": "when_quiet"}
    as_editor.post(form_url(project), values)
    assert Campaign.objects.get().quiet_by is not None


def test_each_origin_is_offered_once_and_only_plans_that_have_a_ladder(as_editor, project, shop):
    make_plan(project, "prices")
    make_plan(project, "over HTTP/2", spec=plan_spec() | {"http_version": "2"})
    form = as_editor.get(form_url(project)).context["form"]
    assert [each.name for each in form.plan_picker.options] == ["prices"]
    ((_, chips),) = form.endpoint_rows
    assert [(each.name, each.words) for each in chips] == [("https", ":8444")]


def test_the_page_says_what_the_ticked_rungs_take(as_editor, project, shop):
    make_plan(project, "prices", spec=plan_spec(model="over", requests=100, over_s=8))
    page = as_editor.get(form_url(project))
    estimate = page.context["estimate"]
    assert (estimate.n_tests, estimate.repeats) == (len(USUAL_RUNGS), 1)
    ticks = {"rungs": ["new-http", "new-hybrid", "many-streams"], "repeats": 3, "pause_s": 1}
    url = reverse("ladder-estimate", args=[project.pk])
    of_ticks = as_editor.post(url, form_values(page.context["form"]) | ticks).context["estimate"]
    assert of_ticks.n_runs == 9
    # Two rungs of 8 s and one of 10 s; 2 s before each of 9 runs, and a pause between them.
    assert of_ticks.duration_s == 3 * (8 + 8 + 10) + 9 * 2 + 8
    assert not Campaign.objects.exists()


def test_the_estimate_of_what_is_half_filled_in_is_of_what_is_there(as_editor, project, shop):
    make_plan(project, "prices")
    url = reverse("ladder-estimate", args=[project.pk])
    answer = as_editor.post(url, {"plans": "0", "repeats": "many"})
    assert answer.status_code == 200
    assert "estimate" not in answer.context


def test_the_address_may_tick_rungs(as_editor, project, shop):
    make_plan(project, "prices")
    query = {"rungs": ["new-rsa", "new-ecdsa", "quic"]}
    form = as_editor.get(form_url(project), query).context["form"]
    assert form["rungs"].value() == ["new-rsa", "new-ecdsa"]
