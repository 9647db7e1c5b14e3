"""A campaign's page: any two tests compared by choice, and the blocks that would settle it."""

import pytest
from django.utils import timezone
from django.utils.html import strip_tags

from campaigns.services.shares import create_share
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_target,
    make_test,
)
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


def test_a_choice_that_is_none_is_refused_with_a_message(as_editor, two_ports):
    campaign, (first, _) = two_ports
    answer = as_editor.get(f"/campaigns/{campaign.pk}/?compare={first.pk}&with=0", follow=True)
    assert answer.redirect_chain == [(f"/campaigns/{campaign.pk}/", 302)]
    assert "Choose a test of this campaign." in answer.content.decode()


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


def test_a_second_click_adds_nothing_and_says_so(as_editor, hung):
    campaign, _ = hung
    for _ in range(2):
        answer = as_editor.post(
            f"/campaigns/{campaign.pk}/blocks/", {"blocks": 1, "after": 4}, follow=True
        )
    assert "Blocks have been added since: this campaign now has 5." in answer.content.decode()
    assert campaign.runs.count() == 10


def test_no_blocks_are_offered_of_what_is_archived_and_the_page_says_what(as_editor, hung):
    campaign, test = hung[0], hung[0].tests.first()
    assert "/blocks/" in page(as_editor, campaign)
    plan, target = test.plan_version.plan, test.endpoint.target
    parts = {
        "This campaign is": campaign,
        f"The plan {plan.name} is": plan,
        f"The target {target.name} is": target,
    }
    for words, part in parts.items():
        type(part).objects.filter(pk=part.pk).update(archived_at=timezone.now())
        html = page(as_editor, campaign)
        assert "/blocks/" not in html
        assert f"{words} archived. Restore it first." in html
        type(part).objects.filter(pk=part.pk).update(archived_at=None)
    assert "/blocks/" in page(as_editor, campaign)


def test_garbage_is_refused_with_the_bounds(as_editor, hung):
    campaign, _ = hung
    for blocks in ("", "x", "-1", "99"):
        address = f"/campaigns/{campaign.pk}/blocks/"
        answer = as_editor.post(address, {"blocks": blocks, "after": "4"}, follow=True)
        assert "A campaign has at most 50 blocks" in answer.content.decode()
    assert campaign.runs.count() == 8


def test_some_blocks_are_paired_where_a_run_is_not_usable(as_editor, project):
    now = timezone.now()
    campaign, tests = https_campaign(project, repeats=5, started_at=now, finished_at=now)
    runs = run_in_blocks(tests, [[10_000, 10_050, 9_950, 10_000, 10_020], [12_000] * 5])
    run = runs[6]
    campaign.runs.filter(pk=run.pk).update(outcome="partial", reason="The injector died.")
    html = page(as_editor, campaign)
    grounds = f"95 % intervals over 4 of 5 blocks, paired; run {run.label} cannot be used"
    assert grounds in strip_tags(html)
    assert "HTTPS is <b>slower than HTTP" in html
