"""A large page of a campaign that has ended is made once for all processes, and before it is asked
for.
"""

from copy import deepcopy

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from campaigns import queue
from campaigns.live.memory import Memory
from campaigns.models import Campaign, KeptPage
from campaigns.permissions import Role
from campaigns.queries import campaign_keys as queries
from campaigns.services import dispatch
from campaigns.services import kept_pages as services
from campaigns.views import kept_pages
from campaigns.views.kept_pages import make_pages_ahead
from tests.access_world import Rows, make_world
from tests.factories import make_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def made(monkeypatch) -> list[tuple[int, str]]:
    """Each campaign whose page was made, with who it was made for; even small ones are shared."""
    made, context = [], kept_pages.campaign_context

    def noted(campaign, actor, *asked):
        made.append((campaign.pk, actor.user.username))
        return context(campaign, actor, *asked)

    monkeypatch.setattr(kept_pages, "campaign_context", noted)
    monkeypatch.setattr(kept_pages, "WORTH_ROWS", 0)
    started_anew(monkeypatch)
    return made


def started_anew(monkeypatch) -> None:
    monkeypatch.setattr(kept_pages, "_KEPT", Memory(200))


@pytest.fixture(scope="module")
def rows_as_made(rows_of_the_file) -> Rows:
    return make_world().rows


@pytest.fixture
def rows(rows_as_made, db) -> Rows:
    """Of the world's campaigns only one has ended and is no search."""
    return deepcopy(rows_as_made)


def page(client, rows, reader: str = "alice", query: str = "") -> str:
    client.force_login(User.objects.get(username=reader))
    answer = client.get(reverse("campaign-detail", args=[rows["campaign"].pk]) + query)
    assert answer.status_code == 200
    return answer.content.decode()


def make_ahead() -> int:
    return make_pages_ahead(is_over=bool)


def test_what_one_process_made_another_one_shows(client, rows, made, monkeypatch):
    said = page(client, rows)
    started_anew(monkeypatch)
    assert rows["campaign"].name in page(client, rows)
    assert len(made) == 1
    assert KeptPage.objects.get().campaign == rows["campaign"]
    assert len(said) > 2_000


def test_nobody_waits_for_a_page_that_was_made_ahead(client, rows, made):
    n_ready = make_ahead()
    assert {reader for _, reader in made} >= {"alice", "vera", "oscar"}
    made.clear()
    for reader in ("alice", "vera", "oscar"):
        page(client, rows, reader)
    assert made == []
    assert make_ahead() == n_ready
    assert made == []


def test_each_role_is_made_once_however_many_have_it(rows, made):
    make_ahead()
    of_one = [reader for pk, reader in made if pk == rows["campaign"].pk]
    assert len(of_one) == len(Role)


def test_it_says_the_same_as_one_that_was_made_for_its_reader(client, rows, monkeypatch):
    said = page(client, rows)
    KeptPage.objects.all().delete()
    started_anew(monkeypatch)
    make_ahead()
    started_anew(monkeypatch)
    assert without_tokens(page(client, rows)) == without_tokens(said)


def without_tokens(page: str) -> list[str]:
    return [line for line in page.splitlines() if "csrfmiddlewaretoken" not in line]


def test_after_a_change_it_is_made_again(client, rows, made):
    make_ahead()
    made.clear()
    Campaign.objects.filter(pk=rows["campaign"].pk).update(name="Renamed")
    make_ahead()
    assert len(made) == len(Role)
    made.clear()
    assert "Renamed" in page(client, rows)
    assert made == []


def test_the_next_release_makes_it_again(rows, made, monkeypatch):
    make_ahead()
    made.clear()
    started_anew(monkeypatch)
    monkeypatch.setattr(queries, "_wording", lambda: "the next one")
    make_ahead()
    assert len(made) == len(Role)


def test_it_ends_in_time(rows, made):
    looks = iter([False, True])
    assert make_pages_ahead(is_over=lambda: next(looks)) == 1
    assert len(made) == 1


def test_a_page_that_cannot_be_made_keeps_no_other_from_being_made(rows, made, caplog):
    broken = make_campaign(rows["project"], finished_at="2026-11-21T12:00Z")
    Campaign.objects.filter(pk=broken.pk).update(order="no order")
    context = kept_pages.campaign_context

    def failing(campaign, *asked):
        return context(campaign, *asked) if campaign.pk != broken.pk else 1 / 0

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kept_pages, "campaign_context", failing)
        make_ahead()
    assert f"The page of campaign {broken.pk} was not made ahead" in caplog.text
    assert {pk for pk, _ in made} == {rows["campaign"].pk}


def test_of_a_campaign_only_the_newest_pages_are_kept(client, rows, monkeypatch):
    monkeypatch.setattr(services, "PAGES_OF_A_CAMPAIGN", 2)
    for n in range(1, 5):
        page(client, rows, query=f"?runs={n}")
    assert KeptPage.objects.count() == 2


def test_a_page_that_cannot_be_kept_is_shown(client, rows, monkeypatch, caplog):
    monkeypatch.setattr(kept_pages, "key_of", lambda *_: "longer than its column is, by some")
    assert rows["campaign"].name in page(client, rows)
    assert "was not kept" in caplog.text


def test_a_campaign_that_ends_rings_for_its_page(
    rows, monkeypatch, django_capture_on_commit_callbacks
):
    rung = []
    monkeypatch.setattr(queue, "send", lambda name, args: rung.append(name) or True)
    Campaign.objects.filter(pk=rows["campaign"].pk).update(finished_at=None)
    with django_capture_on_commit_callbacks(execute=True):
        dispatch.finish_campaigns()
    assert queue.PAGES in rung
