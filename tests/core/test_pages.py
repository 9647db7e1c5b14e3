"""Pages of a list by their edges: nothing is skipped or seen twice, whatever happens meanwhile."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from campaigns.campaigns.queries.campaign_list import list_campaigns
from campaigns.core.pages import _beyond, _edge_of, page_of, page_of_list
from campaigns.history.queries.history import among
from campaigns.items.queries.filters import SORTS, ordered
from campaigns.models import Campaign, Run
from campaigns.runs.queries.runs import list_runs
from tests.factories import make_campaign, make_run, make_test

pytestmark = pytest.mark.django_db

ORDERS = [sign + key for key in SORTS[Campaign] for sign in ("", "-")]


@pytest.fixture
def rows(project, as_alice):
    def campaigns(sort: str = "-id"):
        return ordered(list_campaigns(as_alice).filter(project=project), sort)

    return campaigns


@pytest.fixture
def nine(project, alice):
    """Campaigns of which some share a name, a start and a number of tests, and some have none."""
    now = timezone.now()
    for number in range(9):
        campaign = make_campaign(
            project,
            f"Campaign {number % 4}",
            started_at=now - timedelta(hours=number % 3) if number % 2 else None,
            finished_at=now if number % 4 == 1 else None,
            created_by=alice if number % 3 else None,
        )
        for _ in range(number % 3):
            make_test(campaign)


def names(page) -> list[int]:
    return [row.pk for row in page]


def walk(rows, size: int, page, side: str):
    while page:
        yield page
        edge = getattr(page, side)
        page = edge and page_of(rows, size, edge)


def test_pages_together_are_the_list_in_both_directions(rows, nine):
    for sort in ORDERS:
        whole = names(rows(sort))
        forth = list(walk(rows(sort), 2, page_of(rows(sort), 2), "next"))
        assert [pk for page in forth for pk in names(page)] == whole
        assert [(page.start, page.end) for page in forth] == [
            (1, 2),
            (3, 4),
            (5, 6),
            (7, 8),
            (9, 9),
        ]
        back = list(walk(rows(sort), 2, forth[-1], "previous"))
        assert [names(page) for page in back] == [names(page) for page in reversed(forth)]


def test_a_new_row_moves_no_page(rows, nine, project):
    first = page_of(rows(), 3)
    second = page_of(rows(), 3, first.next)
    make_campaign(project, "newer than all")
    assert names(page_of(rows(), 3, first.next)) == names(second)
    assert page_of(rows(), 3, first.next).start == second.start + 1


def test_the_edge_stays_when_its_row_goes(rows, nine):
    first = page_of(rows("name"), 3)
    second = page_of(rows("name"), 3, first.next)
    first.rows[-1].delete()
    assert names(page_of(rows("name"), 3, first.next)) == names(second)


def test_the_last_page_follows_one_that_has_gone(rows, nine):
    *_, before_last, last = walk(rows(), 4, page_of(rows(), 4), "next")
    Campaign.objects.filter(pk__in=names(last)).delete()
    assert names(page_of(rows(), 4, before_last.next)) == names(before_last)


def test_the_first_page_is_full(rows, nine):
    first = page_of(rows(), 4)
    second = page_of(rows(), 4, first.next)
    first.rows[0].delete()
    assert names(page_of(rows(), 4, second.previous)) == names(page_of(rows(), 4))


def test_a_name_that_cannot_be_read_is_an_end_of_the_list(rows, nine):
    for name in [
        "2",
        "after",
        "after.x",
        "after.1.x.y",
        "before.99999999999999999999.1",
        "after.1.\0",
    ]:
        for sort in ["-id", "name", "started", "duration", "tests"]:
            assert len(page_of(rows(sort), 4, name).rows) in {1, 4}


def test_an_empty_list_has_one_page(rows):
    page = page_of(rows(), 25)
    assert (list(page), page.is_whole, page.previous, page.next) == ([], True, "", "")


def numbers(count, name=""):
    return page_of_list([f"row {n}" for n in range(count)], 4, name, lambda row: row[4:])


def test_a_page_of_known_rows_is_found_by_a_row():
    for name, start, end in [
        ("", 1, 4),
        ("after.3", 5, 8),
        ("before.4", 1, 4),
        ("before.2", 1, 4),
        ("with.5", 5, 8),
        ("after.9", 7, 10),
        ("after.gone", 1, 4),
        ("2", 1, 4),
    ]:
        page = numbers(10, name)
        assert (page.start, page.end) == (start, end)


def test_pages_of_known_rows_lead_to_each_other():
    rows, name = [], ""
    while True:
        page = numbers(10, name)
        rows += page.rows
        if not page.next:
            break
        name = page.next
    assert rows == [f"row {n}" for n in range(10)]
    assert numbers(10, page.previous).end == page.start - 1


@pytest.mark.parametrize("page", ["", "after", "before"])
def test_a_page_of_all_runs_is_read_by_an_index_wherever_it_is(project, as_alice, page):
    """Sorted anew for each page, ten thousand runs would cost a tenth of a second."""
    test = make_test(make_campaign(project))
    runs = list_runs(as_alice).filter(campaign__project=project)
    run = [make_run(test, repeat) for repeat in (1, 2, 3)][1]
    rows = runs
    if page:
        edge = f"{page}.{run.pk}.{run.campaign_id}"
        rows = _beyond(runs, _edge_of(runs, edge))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
    plan = rows[:50].explain()
    assert "Presorted Key: campaigns_run.campaign_id" in plan
    assert not page or re.search(r"Index Cond: .*campaign_id [<>]= \d", plan), plan


def test_the_list_of_campaigns_is_read_by_an_index(project, as_alice):
    rows = ordered(list_campaigns(as_alice).filter(project=project), "-active")
    edge = make_campaign(project)
    edge.refresh_from_db()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
    beyond = _beyond(rows, _edge_of(rows, f"after.{edge.pk}.{edge.active_at}"))
    for each in (rows, beyond):
        assert "campaign_last_active_first" in each[:100].explain()


@pytest.fixture
def three(project) -> list[int]:
    campaigns = [make_campaign(project) for _ in range(3)]
    for campaign in campaigns:
        make_run(make_test(campaign))
    return [campaign.pk for campaign in campaigns]


@pytest.mark.parametrize("part", [slice(0, 0), slice(1, 2), slice(0, 3)])
def test_it_selects_what_in_selects(three, part):
    pks = three[part]
    assert {each.pk for each in Campaign.objects.filter(among("pk", pks))} == set(pks)
    runs = Run.objects.filter(among("campaign", pks))
    assert {run.campaign_id for run in runs} == set(pks)


def test_no_number_is_written_by_itself(three):
    _, params = Campaign.objects.filter(among("pk", three)).query.sql_with_params()
    assert params == (f"{{{three[0]},{three[1]},{three[2]}}}",)
