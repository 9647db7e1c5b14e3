"""A search: its form, and how it ends, on the page and over REST; nothing is sent after."""

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.services.campaigns import stop_campaign
from campaigns.core.database import db_now
from campaigns.domain.analysis.capacity import Ending
from campaigns.domain.lifecycle import Trust
from campaigns.domain.presentation.sentences import plain_text
from campaigns.engine.services import dispatch
from campaigns.models import Campaign, Probe, Run, Search
from campaigns.search.queries import SILENT_AFTER_S
from campaigns.search.services import advance_searches, ask_silent_targets
from tests.campaigns.campaign_form import new_url
from tests.engine.scenes import owner_of
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.kept_rows import undone
from tests.pages import text_of
from tests.searches import (
    REFUSED,
    answer_first,
    end_trial,
    limit_of,
    make_judgement,
    search_through,
    searching,
)
from tests.typed_forms import form_values
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


def is_found(project) -> Campaign:
    campaign = searching(project)
    search_through(campaign, limit_of(1850))
    return campaign


def meets_its_limit(project) -> Campaign:
    campaign = searching(project, limit=900)
    search_through(campaign, limit_of(5000))
    return campaign


def begins_too_high(project) -> Campaign:
    campaign = searching(project)
    search_through(campaign, limit_of(50))
    return campaign


def busies_the_injector(project) -> Campaign:
    campaign = searching(project)
    end_trial(campaign, 20)
    for _ in range(4):
        end_trial(campaign, 500, make_judgement(Trust.BUSY, "The injector was busy."))
    return campaign


def busies_the_injector_at_once(project) -> Campaign:
    campaign = searching(project)
    for _ in range(4):
        end_trial(campaign, 500, make_judgement(Trust.BUSY, "The injector was busy."))
    return campaign


def is_stopped_by_hand(project) -> Campaign:
    campaign = searching(project)
    for _ in range(3):
        end_trial(campaign, 20)
    stop_campaign(by=owner_of(project), campaign=campaign)
    advance_searches()
    return campaign


def loses_its_target(project) -> Campaign:
    campaign = searching(project)
    end_trial(campaign, 20)
    failed = make_judgement(target="Nothing answers.").to_json()
    fields = {"state": "done", "outcome": "complete", "judgement": failed}
    campaign.runs.filter(repeat=2).update(**fields, ended_at=db_now())
    advance_searches()
    answer_first(campaign, REFUSED)
    Run.objects.filter(state="done").update(ended_at=db_now(-SILENT_AFTER_S - 1))
    ask_silent_targets()
    return campaign


def runs_out_of_time(project) -> Campaign:
    campaign = searching(project)
    end_trial(campaign, 20)
    Search.objects.update(deadline=db_now(5))
    search_through(campaign, limit_of(1850))
    return campaign


@pytest.mark.long
def test_each_ending_has_its_bounds_on_the_page_and_over_rest(client, alice, project):
    for ends, ending, least, below, capacity, word in [
        (is_found, Ending.FOUND, ..., ..., "1,8", "target side"),
        (meets_its_limit, Ending.LIMIT, 900, None, "at least 900", "cap"),
        (begins_too_high, Ending.BELOW, None, 100, "below 100", "target side"),
        (busies_the_injector, Ending.INJECTOR, 100, None, "at least 100", "busy machine"),
        (busies_the_injector_at_once, Ending.INJECTOR, None, None, "–", "busy machine"),
        (is_stopped_by_hand, Ending.STOPPED, 400, None, "at least 400", "stopped"),
        (loses_its_target, Ending.SILENT, 100, 200, "between 100 and 200", "no reply"),
        (runs_out_of_time, Ending.DEADLINE, 200, None, "at least 200", "time"),
    ]:
        with undone():
            campaign = ends(project)
            # Whatever the dispatcher does: no other trial, and no request to a dead target.
            dispatch.move_runs()
            dispatch.finish_campaigns()
            campaign.refresh_from_db()
            assert campaign.state == "done"
            n_runs, n_requests = campaign.runs.count(), Probe.objects.count()
            assert advance_searches() == ask_silent_targets() == dispatch.admit_runs() == 0
            assert (campaign.runs.count(), Probe.objects.count()) == (n_runs, n_requests)
            assert not campaign.runs.exclude(state="done").exists()
            client.force_login(alice)
            answer = client.get(f"/api/v1/campaigns/{campaign.pk}/search/").json()
            assert answer["ending"] == ending
            bounds = [(least, answer["at_least_per_s"]), (below, answer["below_per_s"])]
            assert all(limit in (..., value) for limit, value in bounds)
            assert answer["limited_by"]["word"] == word
            page = client.get(reverse("campaign-detail", args=[campaign.pk]))
            assert plain_text(page.context["report"].sentence) == answer["sentence"]
            assert page.context["limiter"].word == word
            assert_its_history_has(client, campaign, capacity)
            address = f"/api/v1/tests/{campaign.tests.get().pk}/history/"
            (row,) = client.get(address).json()["capacities"]
            for bound in ("at_least_per_s", "below_per_s"):
                assert row[bound] == answer[bound]


def assert_its_history_has(client, campaign: Campaign, capacity: str) -> None:
    """Without a capacity the bounds that its own page says."""
    page = client.get(reverse("history-test", args=[campaign.tests.get().pk]))
    (row,) = page.context["capacities"]
    assert row["capacity"].replace("\u202f", " ").startswith(capacity)


def form_url(project) -> str:
    return reverse("search-new", args=[project.pk])


@pytest.fixture
def filled_in(as_editor, project, target, version):
    """What the form would send if nothing was changed."""
    return form_values(as_editor.get(form_url(project)).context["form"])


def test_everything_has_a_default_and_the_start_is_one_click(as_editor, project, filled_in):
    assert as_editor.post(form_url(project), filled_in).status_code == 302
    search = Search.objects.get()
    assert search.campaign.name == "How much can checkout-api handle?"
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
    fields = filled_in | wrong
    form = as_editor.post(form_url(project), fields).context["form"]
    assert form.errors.keys() == wrong.keys()
    for name, value in fields.items():
        assert form[name].value() in (value, str(value)) or name == "offered"
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
    search_through(campaign, limit_of(20))
    answer = client.get(new_url(project), {"again": campaign.pk})
    form = client.get(answer.url).context["form"]
    test = campaign.tests.get()
    values = {
        name: form[name].value() for name in form.fields if name not in ("question", "offered")
    }
    assert values == {
        "name": "How much can it take? (2)",
        "plans": [str(test.plan_version_id)],
        "targets": [str(test.endpoint.target_id)],
        "endpoints": [str(test.endpoint_id)],
        "modes": ["new"],
        "objective": "p99 < 1 s",
        "start_per_s": 50,
        "limit_per_s": 900,
        "trial_s": 15,
        "longest_min": 60,
        "injectors": 1,
    }


def test_of_several_targets_none_is_chosen_until_the_plan_ran_on_one(as_editor, project, version):
    _, second = (make_endpoint(make_target(project), "http") for _ in range(2))
    assert as_editor.get(form_url(project)).context["form"].cell() is None
    campaign = make_campaign(project, started_at=timezone.now())
    make_test(campaign, version, endpoint=second, connection_mode="keep-alive")
    _, arm = as_editor.get(form_url(project)).context["form"].cell()
    assert (arm.endpoint, arm.mode) == (second, "keep-alive")


def test_endpoints_of_targets_that_share_an_address_are_told_apart(as_editor, project, version):
    for name in ("release 1.0", "release 1.1"):
        make_endpoint(make_target(project, name), "http", 8130)
    form = as_editor.get(form_url(project)).context["form"]
    assert {each.name for each in form.target_picker.options} == {"release 1.0", "release 1.1"}


def test_a_search_is_of_one_plan_endpoint_and_kind_of_connection(
    as_editor, project, target, version, filled_in
):
    form = as_editor.get(form_url(project)).context["form"]
    assert not form.target_picker.is_several
    other = make_target(project, "zebra")
    make_endpoint(other, "https")
    # As a browser posts it before the preview has come with the new target's endpoints.
    as_editor.post(form_url(project), filled_in | {"targets": [other.pk], "offered": [target.pk]})
    assert [str(each.endpoint.target) for each in Search.objects.get().campaign.tests.all()] == [
        "zebra"
    ]


def test_a_choice_without_a_script_starts_nothing(as_editor, project, target, version, filled_in):
    page = as_editor.post(form_url(project), filled_in | {"pick": "use"})
    assert page.status_code == 200
    assert not Campaign.objects.exists()


@pytest.mark.parametrize("page", ["search-new", "ladder-new", "campaign-new"])
def test_each_form_leads_to_the_other_questions_with_its_target(as_editor, project, page):
    target = make_target(project, "shop")
    for scheme in ("http", "https"):
        make_endpoint(target, scheme)
    make_plan(project)
    html = as_editor.get(reverse(page, args=[project.pk]), {"target": target.pk}).content.decode()
    for question in ("https", "faster", "limit", "steady"):
        assert f"?question={question}&amp;target={target.pk}" in html
