"""A comparison behind a link: the page without account, names, values and ways further."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.core.permissions import Role
from campaigns.models import Campaign, Run
from tests.factories import make_membership, make_project
from tests.measured import https_campaign, run_in_blocks, same_again
from tests.shares.test_shares import link_in

pytestmark = pytest.mark.django_db


def weeks_in(project) -> list[Campaign]:
    _, earlier = https_campaign(project)
    later = same_again(earlier, name="Nightly 2")
    run_in_blocks(earlier, [[10_000, 10_100, 9_900]] * 2)
    run_in_blocks(later, [[11_200, 11_250, 11_180]] * 2)
    for run in Run.objects.filter(campaign=later[0].campaign_id):
        run.snapshot["plan"]["steps"][0]["headers"] = [["Authorization", "hidden-header"]]
        run.snapshot["environment"] = [["CPU", "hidden-machine"]]
        run.save(update_fields=["snapshot"])
    return [tests[0].campaign for tests in (earlier, later)]


@pytest.fixture
def weeks(project):
    return weeks_in(project)


def columns(*campaigns) -> str:
    return "&".join(f"{letter}=campaign-{c.pk}" for letter, c in zip("ab", campaigns, strict=True))


@pytest.fixture
def share(client, bob):
    """What bob gets for sharing these columns."""

    def share(*campaigns, query=""):
        client.force_login(bob)
        query = query or columns(*campaigns)
        return client.post(f"{reverse('comparison-share')}?{query}", {"days": 7})

    return share


def visit(link: str, **query):
    return Client().get(link, query)


def test_a_visitor_sees_the_comparison(share, weeks):
    response = visit(link_in(share(*weeks)))
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    assert f"“{weeks[0].name}”" in response.content.decode()
    assert len(response.context["compared"].tests) == 2


def test_a_visitor_learns_no_project(share, weeks, project):
    title = visit(link_in(share(*weeks))).content.decode().partition("</title>")[0]
    assert f"against “{weeks[0].name}”" in title
    assert project.name not in title


def test_a_visitor_chooses_a_row_and_what_is_listed(share, weeks):
    link = link_in(share(*weeks))
    key = visit(link).context["compared"].tests[1].key
    response = visit(link, show="everything", test=key)
    assert response.context["detail"].test.key == key


def test_other_columns_in_the_address_change_nothing(share, weeks, project):
    link, others = link_in(share(*weeks)), weeks_in(project)
    response = visit(link, a=f"campaign-{others[0].pk}", b=f"campaign-{others[1].pk}")
    assert [column.row for column in response.context["columns"]] == weeks


def test_a_visitor_reads_no_value_that_differs_and_finds_no_way_further(share, weeks, bob):
    page = visit(link_in(share(*weeks))).content.decode()
    for text in ("hidden-header", "hidden-machine", "10.1.2.3", bob.username, "csrfmiddleware"):
        assert text not in page
    assert "CPU" in page
    assert re.findall(r'href="/(?!static|glossary/|s/)[^"]*"', page) == []


@pytest.mark.parametrize("side", [0, 1])
def test_it_ends_when_a_side_is_deleted(share, weeks, side):
    link = link_in(share(*weeks))
    weeks[side].delete()
    assert visit(link).status_code == 404


def test_it_takes_the_right_to_share_every_side(share, weeks, bob):
    other = make_project("Theirs")
    membership = make_membership(other, bob, Role.VIEWER)
    theirs = weeks_in(other)[0]
    response = share(theirs, weeks[1])
    assert response.status_code == 422
    membership.role = Role.EDITOR
    membership.save()
    link = link_in(share(theirs, weeks[1]))
    membership.delete()
    assert visit(link).status_code == 404


def test_it_has_no_stream(share, weeks):
    assert visit(f"{link_in(share(*weeks))}stream/").status_code == 404


@pytest.mark.parametrize(
    "query", ["", "a=campaign-1", "a=nonsense&b=campaign-1", "a=run-9&b=run-8"]
)
def test_what_cannot_be_compared_cannot_be_shared(client, bob, query):
    client.force_login(bob)
    assert client.post(f"{reverse('comparison-share')}?{query}", {"days": 7}).status_code == 404


def test_a_link_rests_while_the_only_campaign_of_its_days_is_under_way_again(share, weeks):
    """Blocks were added to it: until it has ended, its days have nothing to show."""
    # Their first test, each on the day of its own week's campaign.
    sides = []
    for letter, campaign, day in zip("ab", weeks, ("2026-11-01", "2026-11-08"), strict=True):
        at = f"{day}T02:00:00Z"
        Campaign.objects.filter(pk=campaign.pk).update(started_at=at, finished_at=at)
        sides.append(f"{letter}=test-{campaign.tests.first().pk}:{day}..{day}")
    link = link_in(share(query="&".join(sides)))
    assert visit(link).status_code == 200
    Campaign.objects.filter(pk=weeks[1].pk).update(finished_at=None)
    assert visit(link).status_code == 404
    Campaign.objects.filter(pk=weeks[1].pk).update(finished_at="2026-11-08T03:00:00Z")
    assert visit(link).status_code == 200
