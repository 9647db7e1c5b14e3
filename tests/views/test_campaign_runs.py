"""The runs on the page of a large campaign: a page of their list, and the tables asked for."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.services.tokens import create_share
from campaigns.views import campaign_runs
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.queries.measured import run_in_blocks
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _little_is_much(monkeypatch):
    monkeypatch.setattr(campaign_runs, "RUNS", 5)
    monkeypatch.setattr(campaign_runs, "_MOST_TABLES", 3)


@pytest.fixture
def make(project):
    """A finished campaign of two servers at so many plans, 3 repeats."""

    def make(n_plans: int):
        now = timezone.now()
        campaign = make_campaign(project, started_at=now, finished_at=now)
        ends = [make_endpoint(make_target(project, f"{name} {campaign.pk}")) for name in "ab"]
        spec = plan_spec(model="over", requests=2000, over_s=10)
        for _ in range(n_plans):
            version = make_plan(project, spec=spec)
            tests = [make_test(campaign, version, endpoint=endpoint) for endpoint in ends]
            run_in_blocks(tests, [[10_000, 10_100, 9_900], [20_000, 20_100, 19_900]])
        return campaign

    return make


def page(client, address: str, query: str = "") -> str:
    answer = client.get(f"{address}{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def address_of(campaign) -> str:
    return reverse("campaign-detail", args=[campaign.pk])


def tables_in(html: str) -> list[str]:
    return re.findall(r'data-table="test-(\d+)"', html)


def runs_in(html: str) -> list[str]:
    return re.findall(r"<th scope=\"row\">(?:<a [^>]*>)?(\d+\.\d+)<", html)


def test_of_many_tests_the_address_chooses_the_table(as_editor, make):
    campaign = make(2)
    html = page(as_editor, address_of(campaign))
    tests = [str(test.pk) for test in campaign.tests.order_by("position")]
    assert tables_in(html) == []
    assert re.findall(r"\?repeats=(\d+)#every-repeat", html) == tests
    html = page(as_editor, address_of(campaign), f"?relative=2&repeats={tests[1]}")
    assert tables_in(html) == [tests[1]]
    assert '<details id="every-repeat" open>' in html
    assert f'repeats={tests[1]}#every-repeat" aria-current="true"' in html
    assert f"?relative=2&amp;repeats={tests[2]}#every-repeat" in html, "what else is chosen stays"


def test_the_runs_come_in_pages_in_their_order(as_editor, make):
    campaign = make(2)
    seen, query = [], ""
    for rows in ("1 to 5 of 12", "6 to 10 of 12", "11 to 12 of 12"):
        html = page(as_editor, address_of(campaign), query)
        assert rows in html
        seen += runs_in(html)
        further = re.search(r'rel="next" href="(\?runs=[^"#]+)#runs"', html)
        query = further[1] if further else ""
    assert seen == [f"{campaign.pk}.{position}" for position in range(1, 13)]
    assert not query


def test_a_visitor_chooses_tables_and_pages_too(client, as_alice, make):
    campaign = make(2)
    _, token = create_share(
        by=as_alice, project=campaign.project, campaign=campaign, days=1, note=""
    )
    test = campaign.tests.last()
    html = page(client, f"/s/{token}/", f"?repeats={test.pk}")
    assert tables_in(html) == [str(test.pk)]
    assert "1 to 5 of 12" in html
