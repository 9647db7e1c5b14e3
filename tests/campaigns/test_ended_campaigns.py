"""A large page of a campaign that has ended is made once for all processes, and before it is asked
for.
"""

from copy import deepcopy

import pytest
from django.contrib.auth.models import User
from django.core.cache.backends.redis import RedisCache
from django.urls import reverse

from campaigns.campaigns.views import kept_pages
from campaigns.core import cache, queue
from campaigns.core.cache import Cache
from campaigns.core.permissions import Role
from campaigns.engine.services import dispatch
from campaigns.models import Campaign
from tests.access_world import Rows, make_world
from tests.kept_rows import forget
from workers.tasks import make_ready

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def readers(monkeypatch) -> list[str]:
    """Whose pages were made; even small ones are shared."""
    forget()
    readers, context = [], kept_pages.campaign_context

    def noting_context(campaign, actor, *args):
        readers.append(actor.user.username)
        return context(campaign, actor, *args)

    monkeypatch.setattr(kept_pages, "campaign_context", noting_context)
    monkeypatch.setattr(kept_pages, "WORTH_ROWS", 0)
    return readers


def start_anew(monkeypatch) -> None:
    monkeypatch.setattr(kept_pages, "_KEPT", Cache(40))


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


def test_what_one_process_made_another_one_shows(client, rows, readers, monkeypatch):
    text = page(client, rows)
    start_anew(monkeypatch)
    assert without_tokens(page(client, rows)) == without_tokens(text)
    assert len(readers) == 1


def test_nobody_waits_for_the_page_of_a_campaign_whose_results_have_changed(client, rows, readers):
    make_ready(rows["campaign"].pk)
    assert len(readers) == len(Role), "each role once, however many have it"
    readers.clear()
    for reader in ("alice", "vera", "oscar"):
        page(client, rows, reader)
    make_ready(rows["campaign"].pk)
    assert readers == []


def test_it_says_the_same_as_one_that_was_made_for_its_reader(client, rows):
    text = page(client, rows)
    forget()
    make_ready(rows["campaign"].pk)
    assert without_tokens(page(client, rows)) == without_tokens(text)


def without_tokens(page: str) -> list[str]:
    return [line for line in page.splitlines() if "csrfmiddlewaretoken" not in line]


def test_after_a_change_it_is_made_again(client, rows, readers):
    page(client, rows)
    Campaign.objects.filter(pk=rows["campaign"].pk).update(name="Renamed")
    assert "Renamed" in page(client, rows)
    assert len(readers) == 2


def test_the_next_release_makes_it_again(client, rows, readers, monkeypatch):
    page(client, rows)
    start_anew(monkeypatch)
    monkeypatch.setattr(cache, "release", lambda: "the next one")
    page(client, rows)
    assert len(readers) == 2


def test_without_redis_it_is_shown(client, rows, settings, monkeypatch, caplog):
    away = {**settings.CACHES["results"], "LOCATION": ["redis://127.0.0.1:1/0"]}
    monkeypatch.setattr(cache, "caches", {"results": RedisCache(away["LOCATION"], away)})
    monkeypatch.setattr(cache, "_rest_until", 0.0)
    assert rows["campaign"].name in page(client, rows)
    assert caplog.text.count("Redis does not answer") == 1, "it is not asked again at once"


@pytest.mark.parametrize("ends", ["it has ended", "it goes on"])
def test_a_campaign_that_ends_has_its_pages_made(
    rows, monkeypatch, django_capture_on_commit_callbacks, readers, ends
):
    sent = []
    monkeypatch.setattr(queue, "send", lambda *args: sent.append(args) or True)
    Campaign.objects.filter(pk=rows["campaign"].pk).update(finished_at=None)
    if ends == "it has ended":
        with django_capture_on_commit_callbacks(execute=True):
            dispatch.finish_campaigns()
        assert (queue.RESULTS, [rows["campaign"].pk]) in sent
    make_ready(rows["campaign"].pk)
    assert bool(readers) == (ends == "it has ended")
