"""Searches in comparisons, baselines and histories: by their capacity, never by their trials."""

import pytest
from django.urls import reverse

from campaigns.campaigns.queries.cells import cell_of
from campaigns.domain.errors import Refused
from campaigns.history.services import judge_by_baselines, make_baseline, release_baseline
from campaigns.items.queries.items import refusal_to_delete
from campaigns.models import Baseline, Campaign, TestFigures
from campaigns.search.services import start_search
from tests.engine.scenes import owner_of
from tests.factories import make_campaign, make_project, make_run, make_test, make_user
from tests.pages import text_of
from tests.searches import answer_first, limit_of, search_through, searching

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def search_of_the_file(rows_of_the_file) -> Campaign:
    campaign = searching(make_project("Searched", owner=make_user("searcher")))
    search_through(campaign, limit_of(1000))
    return campaign


@pytest.fixture
def old(capacity_search) -> Campaign:
    """A search that has found some 1,000 requests/s."""
    return capacity_search


def again(campaign, **changes):
    """The same search once more."""
    test = campaign.tests.get()
    values = {
        "by": owner_of(campaign.project),
        "project": campaign.project,
        "name": "again",
        "cell": cell_of(test),
        "start_per_s": 100,
        "limit_per_s": 5000,
        "seed": 2,
    }
    return answer_first(start_search(**values | changes))


def test_two_searches_are_compared_by_their_capacities(as_searcher, old):
    new = again(old)
    search_through(new, limit_of(1500))
    answer = as_searcher.get(f"/api/v1/compare/?a=campaign-{old.pk}&b=campaign-{new.pk}").json()
    (capacity,) = answer["capacities"]
    assert capacity["word"] == "takes more"
    assert capacity["ratio"]["low"] < 1.5 < capacity["ratio"]["high"]
    assert answer["tests"] == []


def test_a_search_that_met_its_limit_takes_more_or_nobody_knows(as_searcher, old):
    """Of a rate that was kept it is certain: above the other's interval it is more."""
    for limit_per_s, word in ((2000, "takes more"), (900, "")):
        new = again(old, limit_per_s=limit_per_s)
        search_through(new, limit_of(5000))
        address = f"/api/v1/compare/?a=campaign-{old.pk}&b=campaign-{new.pk}"
        answer = as_searcher.get(address).json()
        (capacity,) = answer["capacities"]
        assert (capacity["word"], capacity["ratio"]) == (word, None)
        assert ("at least 2,000 against " if word else "no capacity") in capacity["why"]
        assert (word or "No verdict") in answer["sentences"][0]
        page = comparison_page(as_searcher, new, old).replace("\u202f", "\u00a0")
        assert ("takes less" if word else f"at least {limit_per_s}") in page
        (row, _) = as_searcher.get(reverse("history-test", args=[new.tests.get().pk])).context[
            "capacities"
        ]
        assert row["against"].word == word
        new.delete()


def test_a_search_beside_what_is_none_says_so(as_searcher, old):
    campaign = make_campaign(old.project, "measured")
    make_run(make_test(campaign), state="done", outcome="complete")
    assert "is no search for a capacity" in comparison_page(as_searcher, old, campaign)


def comparison_page(client, one, other) -> str:
    address = f"{reverse('comparison')}?a=campaign-{one.pk}&b=campaign-{other.pk}"
    return text_of(client.get(address)).replace("<b>", "").replace("</b>", "")


@pytest.mark.long
def test_searches_with_other_objectives_get_no_verdict(as_searcher, old):
    new = again(old, objective=["p99 < 1 s"])
    search_through(new, limit_of(1500))
    address = f"{reverse('comparison')}?a=campaign-{old.pk}&b=campaign-{new.pk}"
    assert "takes more" not in text_of(as_searcher.get(address))


@pytest.mark.long
def test_a_search_that_is_the_baseline_is_what_later_searches_are_compared_with(as_searcher, old):
    owner = owner_of(old.project)
    values = {"by": owner, "project": old.project, "name": "1.4"}
    (baseline,) = make_baseline(**values, tests=list(old.tests.all()))
    assert refusal_to_delete(old)
    new = again(old)
    search = search_through(new, limit_of(1500))
    against = as_searcher.get(f"/api/v1/campaigns/{new.pk}/search/").json()["against"]
    assert (against["baseline"], against["word"]) == ("1.4", "takes more")
    assert against["low"] < 1.5 < against["high"]

    release_baseline(by=owner, baseline=baseline)
    judge_by_baselines(new)
    search.refresh_from_db()
    assert search.against["baseline"] == "1.4", "what was said stays"
    assert not TestFigures.objects.exists(), "trials are in no history"
    assert_its_history_has_the_capacities(as_searcher, old, new)


def assert_its_history_has_the_capacities(client, old, new):
    address = reverse("history-test", args=[new.tests.get().pk])
    newest, first = client.get(address).context["capacities"]
    assert (newest["campaign"], newest["against"].word) == (new, "takes more")
    assert (first["campaign"], first["against"]) == (old, None)
    capacities = client.get(f"/api/v1/tests/{new.tests.get().pk}/history/").json()["capacities"]
    assert [each["before"] for each in capacities] == [old.pk, None]
    assert capacities[0]["ratio"]["low"] < 1.5 < capacities[0]["ratio"]["high"]


def test_a_search_without_an_interval_is_no_baseline(project):
    search = searching(project)
    search_through(search, limit_of(50))
    with pytest.raises(Refused):
        make_baseline(
            by=owner_of(project), project=project, name="1.0", tests=list(search.tests.all())
        )
    assert not Baseline.objects.exists()


def test_a_baseline_of_runs_and_one_of_a_search_are_beside_each_other(project):
    """The same plan on the same endpoint, measured and capacity_search."""
    search = searching(project, limit=900)
    search_through(search, limit_of(5000))
    test = search.tests.get()
    key = {"endpoint": test.endpoint, "connection_mode": "new", "injectors": 1}
    for of_search in (False, True):
        Baseline.objects.create(
            project=project, plan=test.plan_version.plan, test=test, of_search=of_search, **key
        )
    judge_by_baselines(search)
    search.search.refresh_from_db()
    assert search.search.against is None, "it is the baseline itself"
