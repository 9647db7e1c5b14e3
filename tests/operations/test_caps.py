"""What a project may use at most, and what is said when a cap is reached. A limit on how many there
are holds for those who come at the same time, too.
"""

from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns.campaigns.queries.cells import cell_of
from campaigns.campaigns.services.blocks import add_blocks
from campaigns.campaigns.services.campaigns import edit_draft, repeat_campaign, start_campaign
from campaigns.core.database import db_now
from campaigns.core.permissions import Actor
from campaigns.domain.caps import LOAD_HOURS, RUNS, SLOTS, STORED_GB
from campaigns.domain.errors import Forbidden, Refused
from campaigns.engine.queries.engine import waiting_reason
from campaigns.engine.services import dispatch
from campaigns.engine.services.shards import mark_done, record_seconds
from campaigns.machines import services as machines
from campaigns.models import (
    AuditEntry,
    Exporter,
    HostClaim,
    MachineSecond,
    OwnTlsProfile,
    Project,
    Run,
    RunUse,
    ToolOutput,
)
from campaigns.operations.queries import use_of
from campaigns.operations.services.caps import measure_use, set_caps
from campaigns.operations.services.load_control import announce_host
from campaigns.plans.services import create_plan
from campaigns.targets import services as targets
from tests.engine.scenes import (
    draft,
    end,
    finish,
    host,
    machine,
    one_behind_the_other,
    owner_of,
    running,
    second,
    settle,
    started,
)
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
    make_user,
)
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


AN_HOUR = plan_spec(model="open", rate_per_s=1, duration_s=3600)


@pytest.fixture
def with_caps(project):
    """The project with caps of its own."""

    def cap(**caps) -> Project:
        project.caps = caps
        project.save()
        return project

    return cap


def of_an_hour(project, repeats: int = 1):
    campaign = draft(project, repeats=repeats)
    campaign.tests.update(plan_version=make_plan(project, spec=AN_HOUR))
    return campaign


def started_like(original) -> None:
    """Another of its kind at a target of its own, without asking again whether it may start."""
    fields = ("repeats", "order", "pause_s", "started_at", "opened_at")
    campaign = make_campaign(original.project, **{name: getattr(original, name) for name in fields})
    target = make_target(original.project)
    endpoint = make_endpoint(target, host=machine(target.pk))
    make_run(make_test(campaign, original.tests.get().plan_version, endpoint=endpoint))


def use_of_cap(project, cap):
    return next(use for use in use_of(project) if use.cap is cap)


class TestActiveRuns:
    def test_no_more_are_admitted_than_the_cap_and_the_next_says_why(self, with_caps):
        project = with_caps(RUNS=2)
        host(slots=9)
        campaigns = [started(project) for _ in range(3)]
        assert dispatch.admit_runs() == 2
        assert waiting_reason(campaigns[2]).startswith("Payments has 2 of at most 2 active runs.")
        Run.objects.filter(state="preparing").update(stop_requested="user")
        settle(campaigns[0].runs.get())
        assert dispatch.admit_runs() == 1

    def test_the_runs_of_other_projects_begin_meanwhile(self, with_caps, alice):
        host(slots=9)
        full = with_caps(RUNS=1)
        started(full), started(full)
        started(make_project("Shop", owner=alice))
        assert dispatch.admit_runs() == 2


class TestShareOfTheHosts:
    def test_the_runs_of_a_project_leave_the_rest_of_the_slots_to_others(self, with_caps, alice):
        project = with_caps(SLOT_PERCENT=50)
        host(slots=8)
        campaigns = [started(project, injectors=n) for n in (3, 2, 1)]
        assert dispatch.admit_runs() == 1  # the last one would fit, but would keep the second out
        assert waiting_reason(campaigns[1]).startswith(
            "Payments has 3 of at most 4 injector slots (50\u202f% of 8). This would add 2."
        )
        started(make_project("Shop", owner=alice), injectors=5)
        assert dispatch.admit_runs() == 1

    def test_a_run_on_each_core_fills_no_installation_although_its_slots_are_free(self, with_caps):
        project = with_caps(SLOT_PERCENT=50)
        announce_host(name="host 1", slots=12, facts={"usable_cores": 2})
        campaigns = [started(project) for _ in range(2)]
        assert dispatch.admit_runs() == 1
        assert waiting_reason(campaigns[1]).startswith(
            "Payments has 1 of at most 1 active run (50\u202f% of 2 at once)."
        )

    def test_what_needs_more_than_the_share_is_refused_at_its_start(self, with_caps, as_alice):
        project = with_caps(SLOT_PERCENT=50)
        host(slots=8)
        campaign = draft(project, injectors=5)
        with pytest.raises(Refused, match="needs 5 injector slots at once; Payments may have 4"):
            start_campaign(by=as_alice, campaign=campaign)

    def test_a_run_that_no_longer_fits_a_smaller_share_waits_and_blocks_nobody(self, with_caps):
        project = with_caps()
        host(slots=8)
        large, small = started(project, injectors=5), started(project)
        project = with_caps(SLOT_PERCENT=50)
        assert dispatch.admit_runs() == 1
        assert small.runs.get().state == "preparing"
        assert waiting_reason(large).startswith("Each run needs 5 injector slots at once; Payments")

    def test_it_is_a_cap_of_servers_unless_an_administrator_sets_one(self, project, settings):
        host(slots=12)
        assert use_of_cap(project, SLOTS).most is None
        settings.CAPS = {**settings.CAPS, "SLOT_PERCENT": 75}
        assert (use_of_cap(project, SLOTS).most, use_of_cap(project, SLOTS).ceiling.of) == (
            9,
            "75\u202f% of 12",
        )
        assert (use_of_cap(project, RUNS).most, use_of_cap(project, RUNS).ceiling.of) == (8, "")


class TestTurns:
    @pytest.mark.long
    def test_thirty_campaigns_of_one_project_do_not_starve_another(self, project, alice):
        first = started(project)
        for _ in range(29):
            started_like(first)
        few = started(make_project("Shop", owner=alice), n_tests=3)
        order = []
        for _ in range(6):
            host(slots=1)
            dispatch.admit_runs()
            run = Run.objects.get(state="preparing")
            order.append(run.campaign == few)
            Run.objects.filter(pk=run.pk).update(stop_requested="user")
            settle(run)
        assert order == [False, True, False, True, False, True]

    def test_free_slots_are_shared(self, project, alice):
        host(slots=4)
        for _ in range(4):
            started(project)
        shop = make_project("Shop", owner=alice)
        later = [started(shop), started(shop)]
        assert dispatch.admit_runs() == 4
        assert {campaign.runs.get().state for campaign in later} == {"preparing"}

    def test_the_statements_of_an_admission_do_not_grow_with_what_waits(self, project):
        counts = []
        for _ in range(2):
            for _ in range(15):
                started(project)
            host(slots=1)
            Run.objects.filter(state="preparing").update(state="queued")
            with CaptureQueriesContext(connection) as queries:
                assert dispatch.admit_runs() == 1
            counts.append(len(queries))
        assert counts[0] == counts[1] <= 20


class TestLoadHours:
    def test_what_was_used_and_what_is_queued_count_with_what_is_started(self, with_caps, as_alice):
        project = with_caps(LOAD_HOURS=4)
        first = of_an_hour(project, repeats=2)
        start_campaign(by=as_alice, campaign=first, anyway=True)
        run = first.runs.first()
        finish(run, ended_ago_s=60)
        Run.objects.filter(pk=run.pk).update(t0=db_now(-60 - 5400))
        use = use_of_cap(project, LOAD_HOURS)
        assert (round(use.used), use.planned) == (5400, 3600)
        with pytest.raises(Refused, match=r"2\.50 of at most 4\.00 hours .* would add 2\.00"):
            start_campaign(by=as_alice, campaign=of_an_hour(project, repeats=2), anyway=True)
        start_campaign(by=as_alice, campaign=of_an_hour(project), anyway=True)

    def test_what_an_active_run_still_has_to_send_counts(self, with_caps, as_alice):
        project = with_caps(LOAD_HOURS=2)
        campaign = of_an_hour(project)
        start_campaign(by=as_alice, campaign=campaign, anyway=True)
        host(slots=1)
        dispatch.admit_runs()
        campaign.runs.update(t0=db_now(-600))
        use = use_of_cap(project, LOAD_HOURS)
        assert (round(use.used), round(use.planned)) == (600, 3000)

    def test_what_was_sent_more_than_a_day_ago_is_free_again(self, with_caps, as_alice):
        project = with_caps(LOAD_HOURS=1)
        campaign = of_an_hour(project)
        start_campaign(by=as_alice, campaign=campaign, anyway=True)
        finish(campaign.runs.get(), ended_ago_s=24 * 3600 - 600)
        campaign.runs.update(t0=db_now(-25 * 3600))
        assert round(use_of_cap(project, LOAD_HOURS).used) == 600

    def test_one_campaign_sends_at_most_a_day_of_load_a_day(self, project, as_alice):
        start_campaign(by=as_alice, campaign=of_an_hour(project, repeats=50), anyway=True)
        assert use_of_cap(project, LOAD_HOURS).planned == 24 * 3600

    def test_more_blocks_need_room_too(self, with_caps, as_alice):
        project = with_caps(LOAD_HOURS=2)
        campaign = of_an_hour(project)
        start_campaign(by=as_alice, campaign=campaign, anyway=True)
        with pytest.raises(Refused, match=r"This would add 2\.00"):
            add_blocks(by=as_alice, campaign=campaign, after=1, blocks=2)
        campaign.refresh_from_db()
        add_blocks(by=as_alice, campaign=campaign, after=1, blocks=1)


class TestStoredBytes:
    def test_a_start_is_refused_when_its_results_have_no_room(self, with_caps, as_alice):
        project = with_caps(STORED_GB=1)
        done = started(project).runs.get()
        RunUse.objects.filter(run=done).update(seconds_bytes=995_000_000, planned_bytes=0)
        with pytest.raises(Refused, match=r"0\.995 of at most 1\.00 GB .* would add 0\.006"):
            start_campaign(by=as_alice, campaign=of_an_hour(project), anyway=True)

    def test_what_runs_stored_is_measured_when_they_end(self, project):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(number) for number in range(5)])
        mark_done(lease=lease, end=end())
        use = settle(run).use
        assert use.n_seconds == 5
        assert use.seconds_bytes > 5 * 100
        assert use.summary_bytes > 500
        assert use_of_cap(project, STORED_GB).used == use.seconds_bytes + use.summary_bytes
        assert use_of_cap(project, STORED_GB).planned == 0

    def test_the_seconds_of_the_target_s_machine_count_with_those_of_the_injectors(self, project):
        run, _ = running(project)
        did = {"user_s": 0.5, "memory_bytes": 8_000_000_000}
        MachineSecond.objects.bulk_create(
            MachineSecond(run=run, source="shop-1", second=second, lasted_s=1, did=did)
            for second in range(20)
        )
        measure_use(run)
        assert 20 * 60 < run.use.seconds_bytes < 20 * 400


class TestCounts:
    def test_plans(self, with_caps, as_alice):
        project = with_caps(PLANS=1)
        create_plan(by=as_alice, project=project, name="one", spec=plan_spec())
        with pytest.raises(Refused, match=r"1 of at most 1 plan\. Delete plans that no campaign"):
            create_plan(by=as_alice, project=project, name="two", spec=plan_spec())

    def test_campaigns_but_a_draft_can_be_edited(self, with_caps, as_alice):
        project = with_caps(CAMPAIGNS=1)
        only = draft(project)
        with pytest.raises(Refused, match=r"1 of at most 1 campaign\. Delete campaigns"):
            repeat_campaign(by=as_alice, campaign=only)
        with pytest.raises(Refused, match="at most 1 campaign"):
            draft(project)
        test = only.tests.get()
        edit_draft(
            by=as_alice,
            campaign=only,
            name="other",
            cells=[cell_of(test)],
            repeats=2,
            order="listed",
            pause_s=0,
        )


class TestRate:
    def test_no_plan_sends_more_to_an_address_than_the_installation_allows(
        self, project, as_alice, settings
    ):
        settings.CAPS = {**settings.CAPS, "RATE_PER_S": 500}
        campaign = draft(project)
        fast = make_plan(project, "fast", plan_spec(model="open", rate_per_s=501, duration_s=10))
        campaign.tests.update(plan_version=fast)
        with pytest.raises(Refused, match="fast v1 plans 501 of at most 500 requests/s"):
            start_campaign(by=as_alice, campaign=campaign)


def test_an_administrator_sets_a_projects_own_caps_and_nobody_else(project, as_alice, settings):
    adam = Actor(user=make_user("adam", is_superuser=True))
    set_caps(by=adam, project=project, caps={"RUNS": 3, "PLANS": 0, "CAMPAIGNS": None})
    most = {use.cap.name: use.most for use in use_of(Project.objects.get(pk=project.pk))}
    assert (most["RUNS"], most["PLANS"], most["CAMPAIGNS"]) == (3, None, settings.CAPS["CAMPAIGNS"])
    entry = AuditEntry.objects.get()
    assert (entry.deed, entry.who, entry.what) == ("caps_set", "adam", "RUNS 3, PLANS 0")
    with pytest.raises(Forbidden):
        set_caps(by=as_alice, project=project, caps={})


def first_and_second(act: Callable[[str], object]) -> list[str]:
    """What becomes of two, the second asked for before the first is stored."""

    def do(name: str, hold=lambda: None) -> str:
        try:
            with transaction.atomic():
                act(name)
                hold()
        except Refused:
            return "refused"
        return "made"

    return one_behind_the_other(partial(do, "one"), partial(do, "two"))


def exporter(by, project, name):
    url = "127.0.0.1:9100"
    machines.add_exporter(by=by, target=project.targets.get(), url=url, name=name)


def tls_profile(by, project, name):
    targets.create_profile(by=by, project=project, name=name)


def token_for_a_host(by, project, name):
    targets.claim_host(by=by, target=project.targets.get(), host=name)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("service", "most", "make", "model"),
    [
        (machines, "MOST_EXPORTERS", exporter, Exporter),
        (targets, "MOST_PROFILES", tls_profile, OwnTlsProfile),
        (targets, "MOST_CLAIMS", token_for_a_host, HostClaim),
    ],
    ids=["exporters", "TLS profiles", "hosts"],
)
def test_of_two_only_the_last_that_there_may_be_is_made(
    project, monkeypatch, settings, service, most, make, model
):
    settings.PROOF_DAYS = 90
    monkeypatch.setattr(service, most, 1)
    target, by = make_target(project), owner_of(project)
    for name in ("one", "two"):
        make_endpoint(target, host=name)
    assert first_and_second(lambda name: make(by, project, name)) == ["made", "refused"]
    assert model.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_outputs_a_run_takes_the_last_it_may_have(project, run, monkeypatch):
    monkeypatch.setattr(machines, "MOST_OUTPUTS", 1)
    by = owner_of(project)
    acts = first_and_second(
        lambda _: machines.add_output(by=by, run=run, tool="vmstat", text="r b")
    )
    assert (acts, ToolOutput.objects.count()) == (["made", "refused"], 1)


@pytest.mark.django_db(transaction=True)
def test_of_two_hosts_a_project_has_the_last_checked_that_it_may_in_a_minute(project, monkeypatch):
    monkeypatch.setattr(targets, "MOST_CHECKS_PER_MIN", 1)
    by = owner_of(project)
    claims = {
        name: HostClaim.objects.create(project=project, host=name, token=name)
        for name in ("one", "two")
    }
    acts = first_and_second(lambda name: targets.check_host(by=by, claim=claims[name]))
    n_asked = HostClaim.objects.filter(asked_at__lte=timezone.now()).count()
    assert (acts, n_asked) == (["made", "refused"], 1)
