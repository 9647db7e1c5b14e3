"""`manage.py sample --wait`: patient as long as runs end, and no longer; a sample on hold is tried
again by the next start."""

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.management.commands import sample
from campaigns.management.commands.sample import make_sample
from campaigns.models import Campaign, Probe
from campaigns.operations.services.load_control import stop_all_load_from_console
from campaigns.probes.services import probes
from campaigns.probes.services.probes import settle_campaign
from tests.engine.scenes import draft, host, owner_of
from tests.factories import make_campaign, make_run, make_test, make_user

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
def started(project, monkeypatch) -> Campaign:
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


def test_a_slow_machine_has_the_time_that_it_takes(started, monkeypatch):
    def happens(now_s: float) -> None:
        if now_s % 240 == 0:
            started.a_run_ends()
        if now_s == 3600:
            Campaign.objects.filter(pk=started.pk).update(finished_at=timezone.now())

    wait_on(SlowMachine(happens), monkeypatch)


def test_where_no_run_ends_it_says_so_and_what_to_look_at(started, monkeypatch):
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
        tried = Probe.objects.filter(plan_version__plan__project=project)
        assert tried.count() == times


def test_where_load_is_off_it_says_why_and_where_to_allow_it(started, monkeypatch):
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
