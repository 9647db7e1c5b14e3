"""`manage.py sample --wait` and what it stores, and `manage.py stop_load`."""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.queries.answers import answer_of
from campaigns.campaigns.services.blocks import add_blocks
from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import Trust
from campaigns.domain.presentation.sentences import plain_text
from campaigns.items.queries.items import SAMPLE_CAMPAIGN, is_first_visit, stored_sample
from campaigns.management.commands import sample
from campaigns.management.commands.sample import FILE, load_sample, make_sample
from campaigns.models import Campaign, Probe, Project
from campaigns.operations.queries import why_load_is_off
from campaigns.operations.services.load_control import stop_all_load_from_console
from campaigns.probes.services import probes
from campaigns.probes.services.probes import settle_campaign
from campaigns.projects.services import create_project
from tests.engine.scenes import draft, host, owner_of
from tests.factories import make_campaign, make_run, make_test, make_user
from tests.pages import text_of

pytestmark = pytest.mark.django_db


class SlowMachine:
    """Its clock, on which each look at the campaign takes a minute, and what happens meanwhile."""

    def __init__(self, happens):
        self.now_s = 0.0
        self.happens = happens

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, _seconds: float) -> None:
        self.now_s += 60.0
        self.happens(self.now_s)


@pytest.fixture
def running_sample(project, monkeypatch) -> Campaign:
    make_user("root", is_superuser=True)
    campaign = make_campaign(project, started_at=timezone.now())
    test = make_test(campaign)
    monkeypatch.setattr(sample, "latest_sample", lambda _by: campaign)
    monkeypatch.setattr(sample.Command, "_print_answer", lambda *_: None)
    campaign.a_run_ends = lambda: make_run(
        test, campaign.runs.count() + 1, state="done", outcome="complete"
    )
    return campaign


def wait_on(machine: SlowMachine, monkeypatch) -> None:
    monkeypatch.setattr(sample, "time", machine)
    call_command("sample", "--wait", "--unless-done", "--timeout", "300")


def test_a_slow_machine_has_the_time_that_it_takes(running_sample, monkeypatch):
    def happens(now_s: float) -> None:
        if now_s % 240 == 0:
            running_sample.a_run_ends()
        if now_s == 3600:
            Campaign.objects.filter(pk=running_sample.pk).update(finished_at=timezone.now())

    wait_on(SlowMachine(happens), monkeypatch)


def test_where_no_run_ends_it_says_so_and_what_to_look_at(running_sample, monkeypatch):
    with pytest.raises(CommandError, match=r"No run .* for 300 s .*launcher and a dispatcher"):
        wait_on(SlowMachine(lambda _now_s: None), monkeypatch)


def test_a_sample_on_hold_says_what_to_do_and_the_next_start_tries_again(project, monkeypatch):
    monkeypatch.setattr(sample, "_owner", lambda _name: owner_of(project))
    host(slots=8)
    campaign = draft(project)
    start_campaign(by=owner_of(project), campaign=campaign)
    monkeypatch.setattr(sample, "latest_sample", lambda _by: Campaign.objects.get(pk=campaign.pk))

    def is_answered(_now_s: float) -> None:
        failure = {"type": "probe", "error": "client_other", "detail": "Its machine is too busy."}
        for request in campaign.first_requests.filter(finished_at=None):
            probes.claim_probe(probe_id=request.pk)
            probes.finish_probe(probe_id=request.pk, result=failure)
        settle_campaign(campaign_id=campaign.pk)

    for times in (1, 2):
        with pytest.raises(CommandError, match=r"is on hold: .*\. Its machine is too busy\.$"):
            wait_on(SlowMachine(is_answered), monkeypatch)
        tries = Probe.objects.filter(plan_version__plan__project=project)
        assert tries.count() == times


def test_where_load_is_off_it_says_why_and_where_to_allow_it(running_sample, monkeypatch):
    stop_all_load_from_console()
    with pytest.raises(CommandError, match=r"load is off\. .*\. Allow load at http://.*/load/$"):
        wait_on(SlowMachine(lambda _now_s: None), monkeypatch)


def test_the_sample_measures_new_resumed_and_kept_connections_side_by_side(as_alice):
    campaign = make_sample(as_alice, 8081, 8444)
    tests = list(campaign.tests.all())
    assert [(test.endpoint.scheme, test.connection_mode) for test in tests] == [
        ("http", "new"),
        ("http", "keep-alive"),
        ("https", "new"),
        ("https", "resumed"),
        ("https", "keep-alive"),
    ]
    assert campaign.order == "side_by_side"


def test_a_second_sample_reuses_project_target_and_plan(as_alice):
    first, second = (make_sample(as_alice, 8081, 8444) for _ in range(2))
    assert first.project == second.project
    rows = [
        [(test.plan_version_id, test.endpoint_id) for test in each.tests.all()]
        for each in (first, second)
    ]
    assert rows[0] == rows[1]


@pytest.fixture
def sample_campaign(as_alice) -> Campaign:
    return load_sample(as_alice)


def test_its_answer_is_made_of_its_rows(sample_campaign):
    answer = answer_of(sample_campaign)
    assert plain_text(answer.sentence).startswith("HTTPS is ")
    assert len(answer.overheads) == 3
    assert {run.trust for run in sample_campaign.runs.all()} == {Trust.TRUSTED}
    assert sample_campaign.finished_at < timezone.now()


def test_it_is_loaded_once_and_small(sample_campaign, as_alice):
    assert load_sample(as_alice) == sample_campaign
    assert Campaign.objects.count() == 1
    assert FILE.stat().st_size < 300_000


def test_its_pages_work_and_measure_nothing_more(sample_campaign, as_alice, client, alice):
    client.force_login(alice)
    pages = [reverse("campaign-detail", args=[sample_campaign.pk])]
    pages += [reverse("run-detail", args=[run.pk]) for run in sample_campaign.runs.all()]
    pages += [
        reverse("campaign-new", args=[sample_campaign.project_id]) + f"?again={sample_campaign.pk}"
    ]
    assert [client.get(page).status_code for page in pages] == [200] * 7
    address = reverse("campaign-list", args=[sample_campaign.project_id])
    assert sample_campaign.name in text_of(client.get(f"{address}?view="))
    with pytest.raises(Refused, match="archived"):
        add_blocks(by=as_alice, campaign=sample_campaign, after=sample_campaign.repeats)


def test_a_stranger_does_not_see_it(sample_campaign, as_charlie):
    assert stored_sample(as_charlie) is None


def test_a_first_visit_ends_with_the_first_campaign_that_is_no_sample(
    sample_campaign, as_alice, client
):
    client.force_login(as_alice.user)
    project = create_project(by=as_alice, name="Shop")
    address = reverse("campaign-list", args=[project.pk])
    page = client.get(address)
    assert page.context["stored"] == sample_campaign
    assert len(page.context["cards"]) == 3
    make_campaign(Project.objects.get(pk=sample_campaign.project_id), SAMPLE_CAMPAIGN)
    assert is_first_visit(sample_campaign.project)
    make_campaign(project, "Nightly", started_at=timezone.now())
    assert "Nightly" in text_of(client.get(address))


def test_what_contradicts_itself_changes_nothing():
    call_command("stop_load", "--drain", verbosity=0)
    off = why_load_is_off()
    with pytest.raises(CommandError, match="not allowed with argument --drain"):
        call_command("stop_load", "--drain", "--undo", verbosity=0)
    assert off == why_load_is_off() != ""
