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
def bounded(project):
    """A campaign whose comparison four more blocks would settle."""
    now = timezone.now()
    campaign, tests = https_campaign(project, repeats=4, started_at=now, finished_at=now)
    run_in_blocks(tests, [[31_000, 30_000, 29_000, 30_500], [31_500, 32_500, 29_000, 31_000]])
    return campaign


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


def test_a_visitor_compares_too_but_adds_nothing(client, as_alice, bounded):
    _, token = create_share(by=as_alice, project=bounded.project, campaign=bounded, days=1, note="")
    tests = [test.pk for test in bounded.tests.all()]
    html = client.get(f"/s/{token}/?compare={tests[1]}&with={tests[0]}").content.decode()
    assert "About 4 more blocks settle this." in html
    assert "/blocks/" not in html
    assert client.get(f"/s/{token}/?compare=1").status_code == 404


def test_what_is_open_is_bounded_with_a_button_that_adds_the_blocks_that_settle_it(
    as_editor, bounded
):
    html = page(as_editor, bounded)
    assert "not faster" in html
    assert ">Add 4 blocks</button>" in html
    answer = as_editor.post(f"/campaigns/{bounded.pk}/blocks/", {"blocks": 4, "after": 4})
    assert answer.url == f"/campaigns/{bounded.pk}/"
    bounded.refresh_from_db()
    assert (bounded.state, bounded.repeats, bounded.runs.count()) == ("running", 8, 16)
    assert "Add 4 blocks</button>" not in page(as_editor, bounded)


def test_garbage_adds_no_block(as_editor, bounded):
    campaign = bounded
    for blocks in ("", "x", "-1", "99"):
        as_editor.post(f"/campaigns/{campaign.pk}/blocks/", {"blocks": blocks, "after": "4"})
    assert campaign.runs.count() == 8
