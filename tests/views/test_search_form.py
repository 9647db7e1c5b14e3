"""The form of a search: what it starts with, what it says it costs, its errors."""

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Campaign, Search
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.searches import limit_of, search_through, searching
from tests.values import plan_spec
from tests.views.campaign_form import new_url
from tests.views.pages import text_of

pytestmark = pytest.mark.django_db


def form_url(project) -> str:
    return reverse("search-new", args=[project.pk])


@pytest.fixture
def filled_in(as_editor, project, target, version):
    """What the form would send if nothing was changed."""
    form = as_editor.get(form_url(project)).context["form"]
    return {name: form[name].value() for name in form.fields}


def test_everything_has_a_default_and_the_start_is_one_click(as_editor, project, filled_in):
    assert as_editor.post(form_url(project), filled_in).status_code == 302
    search = Search.objects.get()
    assert search.campaign.name == "How much can checkout-api take?"
    assert (search.start_per_s, search.limit_per_s, search.trial_s) == (10, 5000, 20)
    rules = search.campaign.runs.get().frozen.plan.thresholds
    assert [rule.rule for rule in rules] == ["p95 < 500 ms", "errors < 1 %"]


def test_a_plan_s_own_thresholds_are_the_objective(as_editor, project, target):
    rules = [{"metric": "p99", "limit": 2, "unit": "s"}]
    make_plan(project, spec={**plan_spec(), "thresholds": rules})
    form = as_editor.get(form_url(project)).context["form"]
    assert form.initial["objective"] == "p99 < 2 s"


def test_the_limit_is_not_above_the_cap_of_the_installation(
    as_editor, project, target, version, settings
):
    settings.CAPS = {**settings.CAPS, "RATE_PER_S": 1000}
    assert as_editor.get(form_url(project)).context["form"].initial["limit_per_s"] == 1000


@pytest.mark.parametrize(
    "wrong",
    [{"objective": "quick"}, {"start_per_s": 6000}, {"limit_per_s": 50_000}, {"trial_s": 1}],
)
def test_an_error_is_beside_its_field_and_nothing_typed_is_lost(
    as_editor, project, filled_in, wrong
):
    typed = filled_in | wrong
    form = as_editor.post(form_url(project), typed).context["form"]
    assert form.errors.keys() == wrong.keys()
    assert {name: form[name].value() for name in typed} == {k: str(v) for k, v in typed.items()}
    assert not Campaign.objects.exists()


def test_the_estimate_follows_what_is_typed(as_editor, project, filled_in):
    address = reverse("search-estimate", args=[project.pk])
    page = text_of(as_editor.post(address, filled_in | {"limit_per_s": 1234}))
    assert "1,234 <span" in page
    assert 'about 35 <span class="unit">× 24 s' in page
    assert "may have no interval" not in page
    page = text_of(as_editor.post(address, filled_in | {"longest_min": 5}))
    assert "may have no interval" in page


def test_search_again_opens_the_form_as_it_was(client, alice, project):
    client.force_login(alice)
    campaign = searching(project, objective=["p99 < 1 s"], start=50, limit=900, trial_s=15)
    search_through(campaign, limit_of(400))
    answer = client.get(new_url(project), {"again": campaign.pk})
    form = client.get(answer.url).context["form"]
    assert {name: form[name].value() for name in form.fields} == {
        "name": "How much can it take? (2)",
        "plan": str(campaign.tests.get().plan_version_id),
        "arm": f"{campaign.tests.get().endpoint_id}.new",
        "objective": "p99 < 1 s",
        "start_per_s": 50,
        "limit_per_s": 900,
        "trial_s": 15,
        "longest_min": 60,
        "injectors": 1,
    }


def test_of_several_targets_none_is_chosen_until_the_plan_ran_on_one(as_editor, project, version):
    _, second = (make_endpoint(make_target(project), "http") for _ in range(2))
    assert as_editor.get(form_url(project)).context["form"].initial["arm"] == ""
    campaign = make_campaign(project, started_at=timezone.now())
    make_test(campaign, version, endpoint=second, connection_mode="keep-alive")
    chosen = as_editor.get(form_url(project)).context["form"].initial["arm"]
    assert chosen == f"{second.pk}.keep-alive"


def test_endpoints_of_targets_that_share_an_address_are_told_apart(as_editor, project, version):
    for name in ("release 1.0", "release 1.1"):
        make_endpoint(make_target(project, name), "http", 8130)
    form = as_editor.get(form_url(project)).context["form"]
    labels = [label for _, label in form.fields["arm"].choices]
    assert len(set(labels)) == len(labels)
    assert "release 1.1: http://127.0.0.1:8130, keep-alive" in labels
