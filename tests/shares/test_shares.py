"""Share links and badges: made once, shown once, revocable; they open one page and nothing else."""

import re
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.core.database import db_now
from campaigns.core.permissions import Actor
from campaigns.domain.analysis.criteria import TARGET_MACHINE
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.engine.services.dispatch import finish_campaigns
from campaigns.history.services import make_baseline
from campaigns.models import Campaign, Run, RunSummary, ShareLink
from campaigns.probes.services.probes import decide_held_campaigns
from campaigns.projects.forms import ShareForm
from campaigns.runs.services import keep_figures
from campaigns.search.queries import report_of_search
from campaigns.search.services import advance_searches
from tests.engine.scenes import draft, host, owner_of
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
)
from tests.measured import https_campaign, measure, run_in_blocks, spoil
from tests.pages import words_of
from tests.searches import REFUSED, answer_first, limit_of, search_through, searching

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(project):
    run = make_run(make_test(make_campaign(project, "Nightly")))
    run.snapshot["plan"]["steps"][0] |= {
        "path": "/item?key=hidden-query",
        "headers": [["Authorization", "hidden-header"]],
        "body": "hidden-body",
    }
    run.save(update_fields=["snapshot"])
    return measure(run, 12_000)


def make_link(client, url_name, pk, **fields) -> str:
    return link_made_at(client, reverse(url_name, args=[pk]), **fields)


def link_made_at(client, address, **fields) -> str:
    response = client.post(address, {"days": 7, "note": "review", **fields})
    assert response["Cache-Control"] == "no-store"
    return link_in(response)


def link_in(response) -> str:
    return re.search(r'id="link">http://testserver(/s/[^<]+)<', response.content.decode())[1]


def visit(link: str):
    return Client().get(link)


def csv_at(link: str) -> str:
    response = visit(f"{link}tables.csv")
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    return response.content.decode()


def test_a_visitor_gets_the_figures_that_members_get(as_editor, run):
    for name, member in [("run-share", "run-csv"), ("campaign-share", "campaign-csv")]:
        pk = run.pk if name == "run-share" else run.campaign_id
        own = as_editor.get(reverse(member, args=[pk]), {"format": "blocks"})
        link = make_link(as_editor, name, pk, shows_machines="on")
        assert csv_at(link) == own.content.decode()


def test_a_visitor_without_an_account_sees_the_run(as_editor, run):
    response = visit(make_link(as_editor, "run-share", run.pk))
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    assert response["Referrer-Policy"] == "no-referrer"
    assert "noindex" in response["X-Robots-Tag"]
    assert "12.0" in response.content.decode()


def test_a_visitor_sees_no_secret_no_name_and_no_way_further(as_editor, run, bob, alice):
    page = visit(make_link(as_editor, "run-share", run.pk)).content.decode()
    secrets = ("hidden-header", "hidden-body", "hidden-query", bob.username, "csrfmiddleware")
    for each in (*secrets, "points.json", "drag to zoom"):
        assert each not in page
    assert re.findall(r'href="/(?!static|glossary/|s/)[^"]*"', page) == []


def on_a_machine(run):
    """The run with an address, a fact about the target, and an injector host with a name."""
    run.snapshot["endpoint"]["host"] = "10.20.30.40"
    run.snapshot["environment"] = [["CPU", "4 cores of a secret kind"]]
    run.save(update_fields=["snapshot"])
    run.shards.update(host="injector-in-cellar")
    return run


def a_held_campaign(project, endpoint, first):
    host(slots=8)
    campaign = draft(project, endpoint=make_endpoint(make_target(project), **endpoint))
    start_campaign(by=owner_of(project), campaign=campaign)
    return answer_first(campaign, first)


def fail_trial(run, reason):
    """As what an injector refuses ends a run of a search."""
    fields = {"state": "done", "outcome": "failed", "reason": reason, "ended_at": timezone.now()}
    Run.objects.filter(pk=run.pk).update(**fields)
    assert advance_searches() == 1


MACHINES = ("10.20.30.40", "4 cores of a secret kind", "injector-in-cellar")


def test_a_visitor_learns_nothing_about_the_machines(as_editor, run):
    link = make_link(as_editor, "run-share", on_a_machine(run).pk)
    page = visit(link).content.decode()
    assert [word for word in MACHINES if word in page + csv_at(link)] == []
    assert run.frozen.target in page


def test_a_visitor_learns_no_injector_host_from_vitals_and_events(as_editor, run):
    assert "inj-1" in as_editor.get(reverse("run-detail", args=[run.pk])).content.decode()
    page = visit(make_link(as_editor, "run-share", run.pk)).content.decode()
    assert "inj-1" not in page
    assert "injector process 1 starts<" in page


@pytest.mark.parametrize("name", ["run-share", "campaign-share"])
@pytest.mark.parametrize(
    "reason", ["10.20.30.40 is in none of the networks.", "No host shop.test."]
)
def test_a_visitor_reads_why_a_run_was_refused_without_the_address(
    as_editor, project, name, reason
):
    test = make_test(
        make_campaign(project), endpoint=make_endpoint(make_target(project), host="shop.test")
    )
    run = make_run(test)
    Run.objects.filter(pk=run.pk).update(state="done", outcome="failed", reason=reason)
    pk = run.pk if name == "run-share" else run.campaign_id
    link = make_link(as_editor, name, pk)
    page = visit(link).content.decode()
    assert "[hidden]" in page
    assert [word for word in ("10.20.30.40", "shop.test") if word in page + csv_at(link)] == []


@pytest.mark.parametrize("shows", [{}, {"shows_machines": "on"}])
def test_a_visitor_reads_why_trials_do_not_count_without_the_address(as_editor, project, shows):
    campaign = searching(project, endpoint={"host": "shop.test"})
    while run := campaign.runs.exclude(state="done").first():
        fail_trial(run, "10.20.30.40 is in none of the networks of shop.test.")
    assert "10.20.30.40" in report_of_search(campaign.search).made[0].trial.reason
    page = visit(make_link(as_editor, "campaign-share", campaign.pk, **shows)).content.decode()
    assert [word in page for word in ("10.20.30.40", "shop.test")] == [bool(shows)] * 2


@pytest.mark.parametrize("shows", [{}, {"shows_machines": "on"}])
@pytest.mark.parametrize("begin", [searching, a_held_campaign])
def test_a_visitor_reads_why_it_stopped_by_itself_without_the_address(
    as_editor, project, begin, shows
):
    campaign = begin(project, endpoint={"host": "shop.test"}, first=REFUSED)
    Campaign.objects.update(held_at=db_now(-3601))
    assert decide_held_campaigns() == 1
    page = visit(make_link(as_editor, "campaign-share", campaign.pk, **shows)).content.decode()
    assert "connection refused (POST / on" in page
    assert ("shop.test" in page) is bool(shows)


@pytest.mark.parametrize("shows", [{}, {"shows_machines": "on"}])
def test_a_visitor_reads_what_a_campaign_waits_for_without_the_address(as_editor, project, shows):
    host(slots=8)
    make_endpoint(target := make_target(project), host="shop.test")
    campaign = make_campaign(project, started_at=timezone.now(), opened_at=timezone.now())
    run = make_run(make_test(campaign, endpoint=target.endpoints.get()))
    Run.objects.filter(pk=run.pk).update(machines=None)
    page = visit(make_link(as_editor, "campaign-share", campaign.pk, **shows)).content.decode()
    assert "Looking up the addresses of" in page
    assert ("shop.test" in page) is bool(shows)


@pytest.mark.parametrize("shows", [{}, {"shows_machines": "on"}])
def test_a_visitor_learns_of_hosts_whether_they_are_alike(as_editor, project, shows):
    campaign, tests = https_campaign(project, started_at=timezone.now())
    run_in_blocks(tests, [[12_000] * 3, [24_000] * 3])
    page = words_of(visit(make_link(as_editor, "campaign-share", campaign.pk, **shows)))
    assert "Are both sides comparable? Answer yes" in page
    assert ("10.1.2.3" in page) is bool(shows)
    assert ("inj-1" in page) is bool(shows)


def test_a_visitor_learns_of_different_hosts_that_they_differ(as_editor, project):
    campaign, tests = https_campaign(project)
    for test, peer in zip(tests, ("10.1.2.3:8081", "10.1.2.4:8081"), strict=True):
        for repeat in range(1, 4):
            measure(make_run(test, repeat), 12_000, peer=peer)
    page = visit(make_link(as_editor, "campaign-share", campaign.pk)).content.decode()
    assert "10.1.2." not in page
    assert "not like for like" in page


def test_tests_that_only_their_hosts_tell_apart_are_numbered_for_a_visitor(as_editor, project):
    campaign = make_campaign(project, **just_now())
    version, target = make_plan(project), make_target(project)
    tests = [
        make_test(campaign, version, endpoint=make_endpoint(target, host=host))
        for host in ("alpha.test", "beta.test")
    ]
    run_in_blocks(tests, [[12_000] * 3, [24_000] * 3])
    columns = urlencode({"a": f"test-{tests[0].pk}", "b": f"test-{tests[1].pk}"})
    links = [
        reverse("campaign-share", args=[campaign.pk]),
        *(reverse("run-share", args=[test.runs.first().pk]) for test in tests),
        f"{reverse('comparison-share')}?{columns}",
    ]
    pages = [visit(link_made_at(as_editor, each)).content.decode() for each in links]
    assert [word for word in ("alpha.test", "beta.test") if word in " ".join(pages)] == []
    assert "host 1:" in pages[0]
    assert "host 2:" in pages[0]


def test_whoever_shares_may_show_the_machines(as_editor, run):
    link = make_link(as_editor, "run-share", on_a_machine(run).pk, shows_machines="on")
    page = visit(link).content.decode()
    assert [word for word in MACHINES if word not in page] == []


def test_the_query_of_a_path_is_in_no_name_of_a_step(as_editor, run):
    run.snapshot["plan"]["steps"][0]["label"] = "POST /item?key=hidden-query"
    run.save(update_fields=["snapshot"])
    page = visit(make_link(as_editor, "run-share", run.pk)).content.decode()
    assert "POST /item" in page
    assert "hidden-query" not in page


def test_a_visitor_sees_the_campaign_but_not_its_run_pages(as_editor, project):
    campaign, tests = https_campaign(project)
    runs = run_in_blocks(tests, [[12_000] * 3, [24_000] * 3])
    page = visit(make_link(as_editor, "campaign-share", campaign.pk)).content.decode()
    assert "slower" in page
    assert re.findall(r'href="/(?!static|glossary/|s/)[^"]*"', page) == []
    assert visit(reverse("run-detail", args=[runs[0].pk])).status_code == 302
    assert visit(reverse("campaign-detail", args=[campaign.pk])).status_code == 302


def test_a_live_campaign_is_live_for_the_visitor_too(as_editor, project):
    campaign = make_campaign(project, started_at=timezone.now())
    make_run(make_test(campaign))
    link = make_link(as_editor, "campaign-share", campaign.pk)
    assert f'data-stream="{link}stream/"' in visit(link).content.decode()


def test_the_dialogs_of_all_pages_ask_what_the_form_knows(as_editor, run):
    """A dialog without a field would share what nobody chose."""
    columns = {"a": f"run-{run.pk}", "b": f"campaign-{run.campaign_id}"}
    pages = [
        as_editor.get(reverse("run-detail", args=[run.pk])),
        as_editor.get(reverse("campaign-detail", args=[run.campaign_id])),
        as_editor.get(reverse("comparison"), columns),
    ]
    for page in pages:
        dialog = page.content.decode().split('<dialog id="share-dialog"')[1].split("</dialog>")[0]
        names = set(re.findall(r'<input[^>]* name="(\w+)"', dialog)) - {"csrfmiddlewaretoken"}
        assert names == set(ShareForm().fields)


def test_a_shared_search_shows_its_answer_and_trials_and_leads_nowhere(as_editor, project):
    """Not the pooled figures of a campaign: each trial has a rate of its own."""
    campaign = searching(project, limit=300)
    search_through(campaign, limit_of(5000))
    page = visit(make_link(as_editor, "campaign-share", campaign.pk)).content.decode()
    assert "At least 300 requests/s" in page
    assert "trial 3: " in page
    assert "Arrivals" not in page
    assert "/runs/" not in page


OF_THE_MACHINE = ("CPU was at", "link was full", "queue overflowed", "target_cpu")


def on_a_full_machine(run):
    """Its target's machine ran out of everything, and a rule about it is broken."""
    spoil(run, **dict.fromkeys(TARGET_MACHINE, 20))
    rules = [("target_cpu", 91.0, False), ("errors", 0.0, True)]
    verdicts = [
        Verdict(f"{metric} < 80 %", metric, 80, "%", value, is_kept, None if is_kept else 2)
        for metric, value, is_kept in rules
    ]
    RunSummary.objects.filter(run=run).update(thresholds=[each.to_json() for each in verdicts])
    return run


def told_of_the_machine(page: str) -> list[str]:
    return [words for words in OF_THE_MACHINE if words in page.replace("&#x27;", "'")]


@pytest.mark.parametrize("page", ["run-share", "campaign-share"])
def test_a_visitor_reads_that_the_target_was_overloaded_and_not_by_what(as_editor, run, page):
    on_a_full_machine(run)
    Campaign.objects.update(started_at=timezone.now(), finished_at=timezone.now())
    pk = run.pk if page == "run-share" else run.campaign_id
    without = visit(make_link(as_editor, page, pk)).content.decode()
    assert told_of_the_machine(without) == []
    assert "Overloaded" in without
    assert "errors &lt; 80 %" in without
    with_machines = visit(make_link(as_editor, page, pk, shows_machines="on")).content.decode()
    assert told_of_the_machine(with_machines) == list(OF_THE_MACHINE)


def test_a_shared_comparison_says_it_only_where_it_shows_machines(as_editor, project):
    _, tests = https_campaign(project)
    runs = run_in_blocks(tests, [[12_000] * 3, [24_000] * 3])
    for each in runs:
        on_a_full_machine(each)
    columns = {"a": f"test-{tests[0].pk}", "b": f"test-{tests[1].pk}"}
    address = f"{reverse('comparison-share')}?{urlencode(columns)}"
    without, with_machines = (
        link_made_at(as_editor, address, **ticks) for ticks in ({}, {"shows_machines": "on"})
    )
    assert told_of_the_machine(visit(without).content.decode()) == []
    assert told_of_the_machine(visit(with_machines).content.decode()) == ["CPU was at"]


def measured_test(project, mean_us: int, days_ago: int, like=None):
    same = {"version": like.plan_version, "endpoint": like.endpoint} if like else {}
    same = same or {"version": make_plan(project, name="<Cart> & [co]")}
    at = timezone.now() - timedelta(days=days_ago)
    test = make_test(make_campaign(project, started_at=at), **same)
    for repeat in (1, 2, 3):
        measure(make_run(test, repeat=repeat), mean_us)
    keep_figures([test.pk])
    finish_campaigns()
    return test


def badge_of(client, test) -> str:
    """The address of a new badge's picture."""
    answer = client.post(reverse("test-badge", args=[test.pk]))
    assert answer["Cache-Control"] == "no-store"
    return re.search(r"\(http://testserver(/s/[^)]+)\)", answer.content.decode())[1]


def words(address: str) -> str:
    answer = Client().get(address)
    assert answer["Content-Type"] == "image/svg+xml"
    assert "max-age=300" in answer["Cache-Control"]
    return ElementTree.fromstring(answer.content)[0].text  # noqa: S314  (our own)


def test_it_follows_the_latest_result_and_its_verdict(as_editor, project, bob):
    old = measured_test(project, 10_000, 3)
    address = badge_of(as_editor, old)
    assert re.fullmatch(r"<Cart> & \[co\]: (9\.\d\d|10\.\d)\u202fms", words(address))
    make_baseline(by=Actor(user=bob), project=project, name="main", tests=[old])
    new = measured_test(project, 12_000, 1, like=old)
    assert re.search(r": 1[12]\.\d\u202fms, slower$", words(address))
    new.campaign.deleted_at = new.campaign.archived_at = timezone.now()
    new.campaign.save()
    assert "slower" not in words(address)


def test_its_link_shows_nothing_else(as_editor, project):
    address = badge_of(as_editor, measured_test(project, 10_000, 1))
    page = address.removesuffix("badge.svg")
    assert [Client().get(f"{page}{tail}").status_code for tail in ("", "stream/")] == [404, 404]
    ShareLink.objects.update(revoked_at=timezone.now())
    assert Client().get(address).status_code == 404


def test_links_of_results_are_no_badges(as_editor, project):
    campaign = measured_test(project, 10_000, 1).campaign
    response = as_editor.post(reverse("campaign-share", args=[campaign.pk]), {"days": 7})
    page = link_in(response)
    assert Client().get(f"{page}badge.svg").status_code == 404


def test_a_test_without_figures_has_no_result(as_editor, project):
    test = make_test(make_campaign(project))
    assert words(badge_of(as_editor, test)).endswith(": no result")
