"""A campaign's page: its runs and tiles, any two tests compared; run again or edited."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.accounts.tokens import create_share
from campaigns.campaigns.views import campaign_runs
from campaigns.models import Campaign
from tests.campaigns.campaign_form import cells, fields, new_url
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_plan,
    make_target,
    make_test,
)
from tests.measured import https_campaign, run_in_blocks
from tests.pages import text_of
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


def test_run_again_opens_the_form_filled_in(as_editor, project, target, version):
    ticks = cells(version, target, ("http", "new"), ("https", "keep-alive"))
    as_editor.post(new_url(project), fields(ticks, draft="1", repeats=7, injectors="1, 2"))
    campaign = Campaign.objects.get()
    values = as_editor.get(new_url(project), {"again": campaign.pk}).context["form"].known()
    assert values["name"] == "HTTPS overhead (2)"
    assert (values["cells"], values["repeats"], values["pause_s"]) == (ticks, 7, 1)
    assert (values["injectors"], values["practical_threshold"]) == ((1, 2), 5)
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
    assert reverse("campaign-repeat", args=[old.pk]) in text_of(response)
    assert len(response.context["again"].differences) == 2
    assert response.context["form"].known()["cells"] == [
        f"{newer.pk}.{target.endpoints.get(scheme='http').pk}.new"
    ]


def test_a_draft_is_edited_in_the_form_that_made_it(as_editor, project, target, version):
    ticks = cells(version, target, ("http", "new"))
    as_editor.post(new_url(project), fields(ticks, draft="1"))
    campaign = Campaign.objects.get()
    edit = f"{new_url(project)}?edit={campaign.pk}"
    initial = as_editor.get(edit).context["form"].initial
    assert (initial["name"], initial["repeats"], initial["seed"]) == ("HTTPS overhead", 3, 7)
    assert as_editor.get(edit).context["form"].cells == ticks
    more = cells(version, target, ("http", "new"), ("https", "new"))
    as_editor.post(edit, fields(more, name="Both", draft="1"))
    campaign.refresh_from_db()
    assert (Campaign.objects.count(), campaign.name, campaign.tests.count()) == (1, "Both", 2)
    Campaign.objects.update(started_at=timezone.now())
    as_editor.post(edit, fields(ticks, draft="1"))
    campaign.refresh_from_db()
    assert campaign.name == "Both"


@pytest.fixture(autouse=True)
def _little_is_much(monkeypatch):
    monkeypatch.setattr(campaign_runs, "RUNS", 5)
    monkeypatch.setattr(campaign_runs, "_MOST_TABLES", 3)


@pytest.fixture
def make(project):
    """A finished campaign of two servers at so many plans, 3 repeats."""

    def make(n_plans: int):
        campaign = make_campaign(project, **just_now())
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
    positions, query = [], ""
    for rows in ("1 to 5 of 12", "6 to 10 of 12", "11 to 12 of 12"):
        html = page(as_editor, address_of(campaign), query)
        assert rows in html
        positions += re.findall(r"<th scope=\"row\">(?:<a [^>]*>)?(\d+\.\d+)<", html)
        further = re.search(r'rel="next" href="(\?runs=[^"#]+)#runs"', html)
        query = further[1] if further else ""
    assert positions == [f"{campaign.pk}.{position}" for position in range(1, 13)]
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


@pytest.fixture
def two_ports(project):
    campaign = make_campaign(project, **just_now())
    target = make_target(project, "nginx")
    version = make_plan(project, spec=plan_spec(model="over", requests=2000, over_s=10))
    tests = [
        make_test(campaign, version, endpoint=make_endpoint(target, port=port))
        for port in (8080, 8443)
    ]
    run_in_blocks(tests, [[10_000, 10_100, 9_900], [11_200, 11_250, 11_180]])
    return campaign, tests


@pytest.fixture
def open_campaign(project):
    """A campaign whose comparison four more blocks would settle."""
    campaign, tests = https_campaign(project, repeats=4, **just_now())
    run_in_blocks(tests, [[31_000, 30_000, 29_000, 30_500], [31_500, 32_500, 29_000, 31_000]])
    return campaign


def comparison_page(client, campaign, query: str = "") -> str:
    return page(client, address_of(campaign), query).replace("\u202f", " ")


def test_the_address_reproduces_the_comparison(as_editor, two_ports):
    campaign, (first, second) = two_ports
    query = f"?compare={second.pk}&with={first.pk}"
    html = comparison_page(as_editor, campaign, query)
    assert "nginx :8443 is <b>12 % slower than nginx :8080" in html
    assert f'<option value="{second.pk}" selected>' in html
    assert f"tables.csv{query}" in html.replace("&amp;", "&")
    assert html.count("nginx :8443 against nginx :8080") >= 2


def test_the_csv_has_the_chosen_comparison(as_editor, two_ports):
    campaign, (first, second) = two_ports
    address = f"/campaigns/{campaign.pk}/tables.csv"
    response = as_editor.get(f"{address}?compare={second.pk}&with={first.pk}&format=blocks")
    assert "metric,nginx :8080 (ms),nginx :8443 (ms)" in response.content.decode()
    assert "nginx :8080" not in as_editor.get(f"{address}?format=blocks").content.decode()


def test_a_choice_that_is_none_leads_back_to_the_page(as_editor, two_ports):
    campaign, (first, _) = two_ports
    answer = as_editor.get(f"/campaigns/{campaign.pk}/?compare={first.pk}&with=0", follow=True)
    assert answer.redirect_chain == [(f"/campaigns/{campaign.pk}/", 302)]


def test_a_visitor_compares_too_but_adds_nothing(client, as_alice, open_campaign):
    _, token = create_share(
        by=as_alice, project=open_campaign.project, campaign=open_campaign, days=1, note=""
    )
    tests = [test.pk for test in open_campaign.tests.all()]
    html = client.get(f"/s/{token}/?compare={tests[1]}&with={tests[0]}").content.decode()
    assert "About 4 more blocks would settle it." in html
    assert "/blocks/" not in html
    assert client.get(f"/s/{token}/?compare=1").status_code == 404


def test_what_is_open_is_bounded_with_a_button_that_adds_the_blocks_that_settle_it(
    as_editor, open_campaign
):
    html = comparison_page(as_editor, open_campaign)
    assert "not faster" in html
    assert ">Add 4 blocks</button>" in html
    answer = as_editor.post(f"/campaigns/{open_campaign.pk}/blocks/", {"blocks": 4, "after": 4})
    assert answer.url == f"/campaigns/{open_campaign.pk}/"
    open_campaign.refresh_from_db()
    assert (open_campaign.state, open_campaign.repeats, open_campaign.runs.count()) == (
        "running",
        8,
        16,
    )
    assert "Add 4 blocks</button>" not in comparison_page(as_editor, open_campaign)


def test_garbage_adds_no_block(as_editor, open_campaign):
    campaign = open_campaign
    for blocks in ("", "x", "-1", "99"):
        as_editor.post(f"/campaigns/{campaign.pk}/blocks/", {"blocks": blocks, "after": "4"})
    assert campaign.runs.count() == 8


def test_tests_with_one_run_each_share_a_table(as_editor, project):
    campaign, tests = https_campaign(project, repeats=1, **just_now())
    run_in_blocks(tests, [[18_900], [29_100]])
    page = as_editor.get(f"/campaigns/{campaign.pk}/")
    titles = [title for _, title, _ in page.context["tabs"]]
    assert titles[:2] == ["Result", "Runs"]
    assert not {"Errors", "Machine"} & {*titles}, "nothing is behind them"
    table = page.context["repeats"]["table"]
    assert [(row.kind, row.label) for row in table.rows] == [
        ("run", "HTTP new connection"),
        ("run", "HTTPS new connection"),
    ]
