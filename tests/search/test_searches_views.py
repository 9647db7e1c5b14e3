"""A search's page: its answer, its trials, what limited it."""

import pytest
from django.urls import reverse

from campaigns.accounts.tokens import create_share
from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.campaigns.views.campaign_page import badge_of
from campaigns.domain.analysis.capacity import Ending
from campaigns.domain.lifecycle import Trust
from campaigns.domain.presentation.results import Gist
from campaigns.domain.presentation.sentences import plain_text
from campaigns.engine.services import dispatch
from campaigns.models import Campaign, RunSummary, Search
from campaigns.search.queries import report_of_search
from tests.charts import panel
from tests.engine.scenes import host, owner_of
from tests.factories import make_endpoint, make_plan, make_target
from tests.machines.test_queries import tell
from tests.pages import text_of
from tests.searches import end_trial, limit_of, make_judgement, search_through, searching
from tests.typed_forms import form_values

pytestmark = pytest.mark.django_db


def test_a_search_has_one_badge_on_its_page_and_in_lists(as_searcher, capacity_search):
    """Its trials break rules and overload the target to find the answer."""
    gist = Gist([], report_of_search(capacity_search.search).found)
    assert badge_of(capacity_search, gist).word == "Complete"
    assert badge_of_page(as_searcher, capacity_search) == badge_of(capacity_search, gist)


def test_a_search_that_ends_without_an_answer_says_so_in_its_badge_everywhere(
    client, alice, project
):
    client.force_login(alice)
    campaign = searching(project)
    for _ in range(9):
        if campaign.runs.exclude(state="done").exists():
            end_trial(campaign, 500, make_judgement(Trust.NO_ANSWER, "inj-2 ran 14.8 ms late."))
    dispatch.finish_campaigns()
    campaign.refresh_from_db()
    assert campaign.state == "done"
    gist = Gist([], report_of_search(campaign.search).found)
    assert badge_of(campaign, gist).word == "Complete, no answer"
    assert badge_of_page(client, campaign) == badge_of(campaign, gist)


def badge_of_page(client, campaign):
    return client.get(reverse("campaign-detail", args=[campaign.pk])).context["badge"]


def test_its_answer_in_lists_shares_and_tables_is_what_the_search_says(client, alice, project):
    """Pooled figures of trials at several rates would say nothing."""
    client.force_login(alice)
    campaign = searching(project)
    sentence = plain_text(report_of_search(Search.objects.get(campaign=campaign)).sentence)
    assert plain_text(campaign_answer(campaign).sentence) == sentence
    tables = client.get(reverse("api-campaign-tables", args=[campaign.pk])).json()
    assert tables["sentence"] == sentence


def test_a_search_that_has_ended_shows_the_trials_near_its_answer_or_all(
    as_searcher, capacity_search
):
    answer = report_of_search(capacity_search.search).answer.capacity.rate_per_s
    address = reverse("campaign-detail", args=[capacity_search.pk])

    def rates_of(trials: str) -> list[float]:
        return values(as_searcher.get(address, {"trials": trials}), "rate_per_s")

    assert len(rates_of("all")) == capacity_search.runs.count()
    near = rates_of("nonsense")
    assert near == sorted(near, reverse=True) == rates_of("near")
    assert all(answer / 1.05 <= rate_per_s <= answer * 1.05 for rate_per_s in near)


def values(page, key: str) -> list:
    """A column of the table of trials."""
    table = page.context["trials"]
    (place,) = [n for n, column in enumerate(table.columns) if column.key == key]
    return [row.cells[place].value for row in table.rows]


@pytest.fixture
def on_a_busy_machine(capacity_search) -> Campaign:
    """A finished search whose target's agent reported two cores at 90 %."""
    for run in capacity_search.runs.all():
        tell(run, range(3), user_s=1.5, system_s=0.3, idle_s=0.2)
    return capacity_search


def test_the_page_shows_how_busy_everyone_was_on_the_axis_of_the_trials(
    as_searcher, on_a_busy_machine
):
    page = as_searcher.get(reverse("campaign-detail", args=[on_a_busy_machine.pk]))
    charts = page.context["charts"]
    target, injector = panel(charts, "busy").series
    assert (target.name, injector.name) == ("target CPU", "injector CPU")
    assert set(target.x) == set(charts.places.x)
    assert [set(each.texts) for each in (target, injector)] == [{"90\u202f%"}, {"46\u202f%"}]
    assert set(values(page, "target_cpu")) == {90}
    assert set(values(page, "injector_cpu")) == {46}
    assert page.context["limiter"].word == "target CPU"


@pytest.mark.parametrize("shows_machines", [True, False])
def test_a_share_shows_the_target_s_machine_only_where_it_says_so(
    client, on_a_busy_machine, shows_machines
):
    _, token = create_share(
        by=owner_of(on_a_busy_machine.project),
        project=on_a_busy_machine.project,
        campaign=on_a_busy_machine,
        days=1,
        shows_machines=shows_machines,
    )
    page = client.get(reverse("share-view", args=[token]))
    assert ("target CPU" in text_of(page)) is shows_machines
    assert "injector CPU" in text_of(page)


def test_a_trial_that_failed_by_errors_alone_says_so_at_its_mark(as_searcher, capacity_search):
    """Its height says that the response time was right."""
    run = capacity_search.runs.order_by("repeat").last()
    summary = RunSummary.objects.get(run=run)
    rule = {"rule": "errors < 1 %", "metric": "errors", "limit": 1, "unit": "%", "since": None}
    summary.thresholds = [{**rule, "measured": 1.6, "passed": False}]
    summary.save()
    answer = capacity_search.search.answer
    answer["trials"][-1] |= {"result": "failed", "reason": "errors 1.6 %"}
    Search.objects.update(answer=answer)
    page = as_searcher.get(reverse("campaign-detail", args=[capacity_search.pk]))
    series = panel(page.context["charts"], "trials").series
    (text,) = [each for s in series for each in s.texts if each.startswith(f"trial {run.repeat}:")]
    assert text.endswith("failed: errors 1.6 %")


def test_a_target_that_drifted_gets_no_interval_anywhere(as_searcher, capacity_search):
    answer = capacity_search.search.answer | {"ending": Ending.DRIFTED, "drift": -0.12}
    Search.objects.update(ending=Ending.DRIFTED, answer=answer)
    page = as_searcher.get(reverse("campaign-detail", args=[capacity_search.pk]))
    assert panel(page.context["charts"], "trials").bands == []
    assert "95 % interval" not in text_of(page)


def test_a_search_that_ends_with_a_bound_draws_no_answer(client, alice, project):
    """The cap is above the first answer, and passes in the search after it."""
    client.force_login(alice)
    campaign = searching(project, start=700, limit=1000)
    search_through(campaign, limit_of(995), most=7)
    search_through(campaign, limit_of(5000))
    page = client.get(reverse("campaign-detail", args=[campaign.pk]))
    assert page.context["report"].answer.capacity, "a first answer"
    marks = panel(page.context["charts"], "trials").marks
    assert [mark for mark in marks if mark.axis == "x"] == []


def test_on_a_busy_host_a_search_may_wait(as_editor, project, monkeypatch):
    make_endpoint(make_target(project, "shop"))
    make_plan(project, "prices")
    monkeypatch.setattr("campaigns.search.views.search_new.busy_host", lambda: True)
    host(slots=1)
    address = reverse("search-new", args=[project.pk])
    page = as_editor.get(address)
    assert 'value="when_quiet"' in page.content.decode()
    filled_in = form_values(page.context["form"]) | {
        "start": "when_quiet",
        "objective": "p95 < 300 ms",
    }
    as_editor.post(address, filled_in)
    campaign = Search.objects.latest("pk").campaign
    assert campaign.waits_for_quiet
    waiting = as_editor.get(reverse("campaign-detail", args=[campaign.pk])).content.decode()
    assert "Start anyway" in waiting
