"""A campaign's page: any two tests compared by choice, and the blocks that would settle it."""

import pytest
from django.utils import timezone

from campaigns.services.tokens import create_share
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.queries.measured import https_campaign, run_in_blocks
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_ports(project):
    now = timezone.now()
    campaign = make_campaign(project, started_at=now, finished_at=now)
    target = make_target(project, "nginx")
    version = make_plan(project, spec=plan_spec(model="over", requests=2000, over_s=10))
    tests = [
        make_test(campaign, version, endpoint=make_endpoint(target, port=port))
        for port in (8080, 8443)
    ]
    run_in_blocks(tests, [[10_000, 10_100, 9_900], [11_200, 11_250, 11_180]])
    return campaign, tests


@pytest.fixture
def hung(project):
    """A campaign with one hung run, which alone hides the verdict."""
    now = timezone.now()
    campaign, tests = https_campaign(project, repeats=4, started_at=now, finished_at=now)
    runs = run_in_blocks(tests, [[31_000, 30_000, 29_000, 29_000], [31_000, 30_000, 2e6, 29_500]])
    return campaign, runs[5]


def page(client, campaign, query: str = "") -> str:
    answer = client.get(f"/campaigns/{campaign.pk}/{query}")
    assert answer.status_code == 200
    return answer.content.decode().replace("\u202f", " ")


def test_the_address_reproduces_the_comparison(as_editor, two_ports):
    campaign, (first, second) = two_ports
    query = f"?compare={second.pk}&with={first.pk}"
    html = page(as_editor, campaign, query)
    assert "nginx :8443 is <b>slower than nginx :8080: +12 %</b>" in html
    assert f'<option value="{second.pk}" selected>' in html
    assert f"tables.csv{query}" in html.replace("&amp;", "&")
    assert html.count("nginx :8443 against nginx :8080") >= 2


def test_the_csv_has_the_chosen_comparison(as_editor, two_ports):
    campaign, (first, second) = two_ports
    address = f"/campaigns/{campaign.pk}/tables.csv"
    written = as_editor.get(f"{address}?compare={second.pk}&with={first.pk}&format=blocks")
    assert "metric,nginx :8080 (ms),nginx :8443 (ms)" in written.content.decode()
    assert "nginx :8080" not in as_editor.get(f"{address}?format=blocks").content.decode()


def test_a_choice_that_is_none_leads_back_to_the_page(as_editor, two_ports):
    campaign, (first, _) = two_ports
    answer = as_editor.get(f"/campaigns/{campaign.pk}/?compare={first.pk}&with=0", follow=True)
    assert answer.redirect_chain == [(f"/campaigns/{campaign.pk}/", 302)]


def test_a_visitor_compares_too_but_adds_nothing(client, as_alice, hung):
    campaign, run = hung
    _, token = create_share(
        by=as_alice, project=campaign.project, campaign=campaign, days=1, note=""
    )
    tests = [test.pk for test in campaign.tests.all()]
    html = client.get(f"/s/{token}/?compare={tests[0]}&with={tests[1]}").content.decode()
    assert f"Run {run.label}" in html
    assert "Repeat block 3" in html
    assert "/blocks/" not in html
    assert client.get(f"/s/{token}/?compare=1").status_code == 404


def test_the_run_that_decides_is_named_with_a_button_that_repeats_its_block(as_editor, hung):
    campaign, run = hung
    html = page(as_editor, campaign)
    assert f'<a class="strong" href="/runs/{run.pk}/">Run {run.label}</a>' in html
    assert "decides this: in block 3 it took" in html
    assert ">Repeat block 3</button>" in html
    answer = as_editor.post(f"/campaigns/{campaign.pk}/blocks/", {"blocks": 1, "after": 4})
    assert answer.url == f"/campaigns/{campaign.pk}/"
    campaign.refresh_from_db()
    assert (campaign.state, campaign.repeats, campaign.runs.count()) == ("running", 5, 10)
    assert "Repeat block 3</button>" not in page(as_editor, campaign)


def test_garbage_adds_no_block(as_editor, hung):
    campaign, _ = hung
    for blocks in ("", "x", "-1", "99"):
        as_editor.post(f"/campaigns/{campaign.pk}/blocks/", {"blocks": blocks, "after": "4"})
    assert campaign.runs.count() == 8
