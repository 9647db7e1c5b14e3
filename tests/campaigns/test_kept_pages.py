"""Pages of what has ended are kept: they read as if they were made anew, and they are as soon as a
row has changed that they show.
"""

import re
from copy import deepcopy
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.shortcuts import render
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.queries.campaigns import _ROWS, rows_of_campaign, rows_of_run
from campaigns.campaigns.views import campaigns, kept_pages
from campaigns.core.cache import Cache
from campaigns.core.permissions import Role
from campaigns.models import FailureExample, Probe, RunSummary, RunUse, Target, TestFigures
from campaigns.runs.views import runs
from tests.access_world import Rows, make_world
from tests.factories import make_membership, make_test, make_user
from tests.pages import browser_of

pytestmark = pytest.mark.django_db
PAGES = {"campaign": "campaign-detail", "run": "run-detail"}
# Who may see the page; what they may do there is part of what a page is kept under.
DECIDE_RIGHTS = {"campaigns_membership"}
# Too many to look at each time. A late one makes a new summary, and when they are deleted the run's
# use says so.
SECONDS = {"campaigns_shardsecond"}
NOUNS = ["campaign", "project", "test", "endpoint", "target", "version", "plan", "baseline"]
NOUNS += ["first", "figures"]
NOUNS += ["run", "shard", "event", "summary", "use", "machine", "output", "failure", "user"]


class CountingCache(Cache):
    """Says what pages were made, and which tables they read."""

    def __init__(self):
        self.n_made, self.read = 0, set()
        self.forget()

    def forget(self):
        """As a process that has just started."""
        super().__init__(200)

    def get(self, key, make):
        def make_and_count():
            self.n_made += 1
            with CaptureQueriesContext(connection) as queries:
                page = make()
            self.read |= {table for each in queries for table in tables_in(each["sql"])}
            return page

        return super().get(key, make_and_count)


def tables_in(sql: str) -> set[str]:
    return set(re.findall(r'(?:FROM|JOIN) "?((?:campaigns|auth|django)_\w+)"?', sql))


@pytest.fixture
def cache(monkeypatch) -> CountingCache:
    """An empty memory."""
    memory = CountingCache()
    monkeypatch.setattr(kept_pages, "_KEPT", memory)
    return memory


@pytest.fixture(scope="module")
def rows_as_made(rows_of_the_file) -> Rows:
    rows = make_world().rows
    campaign, run = rows["campaign"], rows["run"]
    rows["user"] = make_user("ursula")
    rows["output"].added_by = rows["user"]
    rows["output"].save()
    rows["use"], _ = RunUse.objects.get_or_create(run=run, defaults={"project": rows["project"]})
    probe = rows["probe"]
    rows["first"] = Probe.objects.create(
        campaign=campaign,
        endpoint=probe.endpoint,
        plan_version=rows["version"],
        request=probe.request | {"timeouts": {}},
        finished_at=probe.finished_at,
        result=probe.result,
    )
    texts = {"request": "GET /", "reply": "", "detail": ""}
    rows["failure"] = FailureExample.objects.create(
        run=run, shard=0, second=0, step=0, kind="status", status=500, at_us=1, **texts
    )
    rows["figures"] = rows["test"].figures
    rows["shard"], rows["event"] = run.shards.first(), run.events.first()
    rows["summary"], rows["machine"] = RunSummary.objects.get(run=run), run.machine_seconds.first()
    return rows


@pytest.fixture
def rows(rows_as_made, db) -> Rows:
    """An ended campaign with one of everything."""
    return deepcopy(rows_as_made)


def address(rows, noun: str) -> str:
    return reverse(PAGES[noun], args=[rows[noun].pk])


def page(client: Client, rows, noun: str = "campaign") -> str:
    answer = client.get(address(rows, noun))
    assert answer.status_code == 200
    return answer.content.decode()


def as_read(page: str) -> str:
    """Without form tokens, and with one space for many."""
    page = re.sub(r'(csrfmiddlewaretoken" value=)"\w+"', r"\1", page)
    return re.sub(r">\s+|\s+<", lambda match: match[0].strip(), " ".join(page.split()))


def digests(rows) -> set[tuple[str, int, int]]:
    """What the campaign's page and the run's are kept under."""
    of_campaign, of_run = rows_of_campaign(rows["campaign"].pk), rows_of_run(rows["run"].pk)
    return {("campaign", *of_campaign), ("run", *of_run)}


def write(row) -> None:
    """The row again, as it is."""
    key = row._meta.pk.name
    type(row).objects.filter(pk=row.pk).update(**{key: F(key)})


@pytest.mark.parametrize("noun", PAGES)
def test_it_reads_as_the_page_that_is_not_kept(cache, rows, noun, monkeypatch):
    alice = browser_of(User.objects.get(username="alice"))
    pages = [page(alice, rows, noun) for _ in range(2)]

    def not_kept(request, project, may, asked_for):
        return render(request, asked_for.template, asked_for.context())

    for views in (campaigns, runs):
        monkeypatch.setattr(views, "kept_page", not_kept)
    fresh = as_read(page(alice, rows, noun))
    assert [as_read(each) for each in pages] == [fresh, fresh]
    assert cache.n_made == 1


@pytest.mark.parametrize("noun", PAGES)
def test_every_table_that_it_reads_is_looked_at(cache, rows, noun):
    page(browser_of(User.objects.get(username="alice")), rows, noun)
    assert "campaigns_runsummary" in cache.read
    assert cache.read - DECIDE_RIGHTS - SECONDS <= tables_in(_ROWS)


def test_whatever_is_written_it_is_made_anew(rows):
    for noun in NOUNS:
        before = digests(rows)
        write(rows[noun])
        assert digests(rows).isdisjoint(before), noun


def test_a_row_that_is_gone_or_new_makes_it_anew_and_another_campaign_s_does_not(rows):
    keys = [rows_of_run(rows["run"].pk)]
    write(rows["draft"])
    write(rows["queued"])
    assert rows_of_run(rows["run"].pk) == keys[0]
    rows["machine"].delete()
    keys.append(rows_of_run(rows["run"].pk))
    rows["machine"].save(force_insert=True)
    keys.append(rows_of_run(rows["run"].pk))
    assert len(set(keys)) == 3


def test_an_earlier_measurement_of_its_reference_makes_it_anew(rows):
    """The page says whether the reference moved since."""
    figures, own = TestFigures.objects.get(pk=rows["figures"].pk), rows["campaign"].pk
    Target.objects.filter(endpoints=figures.endpoint).update(tags=["reference"])
    other = rows["draft"]
    earlier = make_test(other, rows["version"], endpoint=figures.endpoint, injectors=2)
    figures.pk, figures.campaign = earlier.pk, other
    figures.started_at -= timedelta(days=1)
    keys = [rows_of_campaign(own)]
    figures.save(force_insert=True)
    keys.append(rows_of_campaign(own))
    write(figures)
    keys.append(rows_of_campaign(own))
    assert len(set(keys)) == 3
    Target.objects.filter(endpoints=figures.endpoint).update(tags=[])
    before = rows_of_campaign(own)
    write(figures)
    assert rows_of_campaign(own) == before


def test_readers_with_the_same_rights_share_it_and_see_their_own_name(cache, rows):
    make_membership(rows["project"], make_user("victor"), Role.VIEWER)
    pages = {
        name: page(browser_of(User.objects.get(username=name)), rows) for name in ("vera", "victor")
    }
    assert cache.n_made == 1
    for name, other in (("vera", "victor"), ("victor", "vera")):
        names = f">{name}<" in pages[name], f">{other}<" in pages[name]
        assert names == (True, False)


def test_who_may_do_more_sees_more(cache, rows):
    may_share = {
        name: "share-dialog" in page(browser_of(User.objects.get(username=name)), rows)
        for name in ("alice", "vera", "oscar")
    }
    assert may_share == {"alice": True, "vera": False, "oscar": False}


def test_who_is_no_member_any_more_gets_nothing(cache, rows):
    vera = User.objects.get(username="vera")
    client = browser_of(vera)
    page(client, rows)
    vera.memberships.all().delete()
    assert client.get(address(rows, "campaign")).status_code == 404


def test_each_reader_gets_a_form_token_that_works(cache, rows):
    page(browser_of(User.objects.get(username="alice")), rows, "run")
    bob = browser_of(User.objects.get(username="bob"), enforce_csrf_checks=True)
    token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page(bob, rows, "run"))[1]
    add = reverse("output-new", args=[rows["run"].pk])
    assert bob.post(add, {"csrfmiddlewaretoken": "x" * 64}).status_code == 403
    assert bob.post(add, {"csrfmiddlewaretoken": token, "text": "?"}).status_code == 422


def test_what_an_address_asks_for_is_another_page(cache, rows):
    alice = browser_of(User.objects.get(username="alice"))
    for query in ("", "?runs=2", "?runs=2"):
        alice.get(address(rows, "campaign") + query)
    assert cache.n_made == 2


@pytest.mark.parametrize("noun", PAGES)
def test_a_later_view_reads_only_who_asks_and_what_has_changed(cache, rows, noun):
    alice = browser_of(User.objects.get(username="alice"))
    page(alice, rows, noun)
    with CaptureQueriesContext(connection) as queries:
        page(alice, rows, noun)
    assert len(queries) <= 9


@pytest.mark.parametrize("noun", PAGES)
def test_a_year_later_it_reads_the_same(cache, rows, noun, monkeypatch):
    Probe.objects.update(finished_at=F("requested_at"))
    client = browser_of(User.objects.get(username="alice"))
    text, now = as_read(page(client, rows, noun)), timezone.now()
    cache.forget()
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(days=366))
    client = browser_of(User.objects.get(username="alice"))
    assert as_read(page(client, rows, noun)) == text
    assert cache.n_made == 2


@pytest.mark.parametrize("noun", PAGES)
def test_a_number_that_no_row_can_have_is_not_found(db, noun):
    client = browser_of(make_user("somebody"))
    assert client.get(reverse(PAGES[noun], args=[10**20])).status_code == 404


@pytest.mark.parametrize("noun", ["waiting", "draft"])
def test_what_has_not_ended_is_not_kept(cache, rows, noun):
    alice = browser_of(User.objects.get(username="alice"))
    alice.get(reverse("campaign-detail", args=[rows[noun].pk]))
    assert cache.n_made == 0
