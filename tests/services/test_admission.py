"""Which runs may start now, and why the others wait."""

import pytest

from campaigns.models import Campaign, Run
from campaigns.models.dbtime import db_now
from campaigns.permissions import NOBODY, Actor
from campaigns.queries.engine import stuck_runs, waiting_reason
from campaigns.services import dispatch
from campaigns.services.load_control import announce_host
from tests.factories import make_endpoint, make_target
from tests.services.engine import at_once, finish, host, owner_of, settled, started, states


class TestAdmission:
    def test_nothing_is_admitted_without_an_injector(self, project):
        campaign = started(project)
        assert dispatch.admit_runs() == 0
        assert states(campaign) == ["queued"]

    def test_all_shards_are_admitted_or_none(self, project):
        campaign = started(project, injectors=4)
        host(slots=3)
        assert dispatch.admit_runs() == 0
        host(slots=1, name="host 2")
        assert dispatch.admit_runs() == 1
        assert states(campaign) == ["preparing"]

    def test_a_queued_run_loses_the_networks_that_are_no_longer_allowed(self, project, settings):
        settings.ALLOWED_NETWORKS = ["10.0.0.0/8", "127.0.0.0/8"]
        campaign = started(project)
        settings.ALLOWED_NETWORKS = ["127.0.0.0/8", "192.168.0.0/16"]
        host(slots=1)
        assert dispatch.admit_runs() == 1
        assert campaign.runs.get().frozen.allowed_networks == ("127.0.0.0/8",)

    def test_slots_that_others_were_promised_are_not_free(self, project):
        host(slots=3)
        first, second_ = started(project, injectors=2), started(project, injectors=2)
        assert dispatch.admit_runs() == 1
        assert (states(first), states(second_)) == (["preparing"], ["queued"])

    def test_a_campaign_makes_one_run_at_a_time_in_its_order(self, project):
        host(slots=9)
        campaign = started(project, n_tests=3)
        dispatch.admit_runs()
        dispatch.admit_runs()
        assert states(campaign) == ["preparing", "queued", "queued"]

    def test_a_target_is_measured_by_one_run_at_a_time(self, project):
        host(slots=9)
        target = make_target(project)
        endpoints = [make_endpoint(target, scheme) for scheme in ("http", "https")]
        campaigns = [started(project, endpoint=endpoint) for endpoint in endpoints]
        assert dispatch.admit_runs() == 1
        assert [states(campaign) for campaign in campaigns] == [["preparing"], ["queued"]]

    def test_different_targets_are_measured_side_by_side(self, project):
        host(slots=2)
        started(project), started(project)
        assert dispatch.admit_runs() == 2

    @pytest.mark.parametrize(
        ("first", "second_"),
        [("10.0.0.5", "10.0.0.5"), ("127.0.0.1", "::1"), ("::ffff:10.0.0.5", "10.0.0.5")],
    )
    def test_two_targets_on_one_machine_are_measured_one_after_the_other(
        self, project, first, second_
    ):
        host(slots=9)
        campaigns = [campaign_on(project, each) for each in (first, second_)]
        assert dispatch.admit_runs() == 1
        assert [states(campaign) for campaign in campaigns] == [["preparing"], ["queued"]]
        withdraw(Run.objects.get(state="preparing"))
        assert dispatch.admit_runs() == 1
        assert [states(campaign) for campaign in campaigns] == [["done"], ["preparing"]]

    def test_the_injector_hosts_own_address_is_the_loopback_of_its_targets(self, project):
        announce_host(name="host 1", slots=9, facts={"addresses": "127.0.0.1 192.168.7.2"})
        campaign_on(project, "127.0.0.1"), campaign_on(project, "192.168.7.2")
        assert dispatch.admit_runs() == 1

    def test_a_name_holds_each_of_its_addresses(self, project):
        host(slots=9)
        named = campaign_on(project, "shop.example")
        assert dispatch.admit_runs() == 0
        assert waiting_reason(named) == "Looking up the addresses of shop.example."
        run = named.runs.get()
        assert dispatch.note_machines(run_id=run.pk, addresses=["10.0.0.5", "fd00::5"])
        assert dispatch.admit_runs() == 1
        campaign_on(project, "10.0.0.5"), campaign_on(project, "fd00::5")
        campaign_on(project, "10.0.0.6")
        assert dispatch.admit_runs() == 1
        assert not dispatch.note_machines(run_id=run.pk, addresses=[])

    def test_a_name_without_an_address_is_left_to_the_injector_to_refuse(self, project):
        host(slots=9)
        run = campaign_on(project, "nowhere.invalid").runs.get()
        dispatch.note_machines(run_id=run.pk, addresses=[])
        assert dispatch.admit_runs() == 1

    def test_the_pause_counts_from_the_end_of_the_run_before(self, project):
        host(slots=1)
        campaign = started(project, n_tests=2, pause_s=60)
        first = campaign.runs.first()
        finish(first, ended_ago_s=50)
        assert dispatch.admit_runs() == 0
        Run.objects.filter(pk=first.pk).update(ended_at=db_now(-61))
        assert dispatch.admit_runs() == 1

    def test_campaigns_take_turns(self, project):
        host(slots=1)
        endpoint = make_endpoint(make_target(project))
        many = started(project, n_tests=3, endpoint=endpoint)
        few = started(project, n_tests=1, endpoint=endpoint)
        order = []
        for _ in range(4):
            dispatch.admit_runs()
            run = Run.objects.get(state="preparing")
            order.append(run.campaign)
            withdraw(run)
        assert order == [many, few, many, many]

    def test_a_large_run_is_not_overtaken_for_ever_by_small_ones(self, project):
        host(slots=2)
        started(project, injectors=1)
        assert dispatch.admit_runs() == 1
        large = started(project, injectors=2)
        small = started(project, injectors=1)
        assert dispatch.admit_runs() == 0
        withdraw(Run.objects.get(state="preparing"))
        dispatch.admit_runs()
        assert (states(large), states(small)) == (["preparing"], ["queued"])

    def test_no_more_runs_at_once_than_the_hosts_have_cores(self, project):
        announce_host(name="host 1", slots=12, facts={"usable_cores": 2})
        campaigns = [started(project) for _ in range(3)]
        assert dispatch.admit_runs() == 2
        assert "leave too few cores" in waiting_reason(campaigns[2])
        withdraw(Run.objects.filter(state="preparing").first())
        assert dispatch.admit_runs() == 1

    def test_one_run_may_have_more_injectors_than_cores(self, project):
        announce_host(name="host 1", slots=12, facts={"usable_cores": 2})
        campaign = started(project, injectors=12)
        dispatch.admit_runs()
        assert states(campaign) == ["preparing"]

    @pytest.mark.parametrize(("first", "second"), [(6, 1), (1, 2), (2, 1)])
    def test_beside_another_run_each_injector_has_a_core(self, project, first, second):
        announce_host(name="host 1", slots=12, facts={"usable_cores": 2})
        active, waits = started(project, injectors=first), started(project, injectors=second)
        assert dispatch.admit_runs() == 1
        assert (states(active), states(waits)) == (["preparing"], ["queued"])
        assert "leave too few cores" in waiting_reason(waits)
        withdraw(Run.objects.get(state="preparing"))
        assert dispatch.admit_runs() == 1

    def test_a_run_that_no_host_could_hold_keeps_nobody_waiting(self, project):
        too_large = started(project, injectors=5)
        host(slots=1)
        small = started(project)
        dispatch.admit_runs()
        assert (states(too_large), states(small)) == (["queued"], ["preparing"])

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("n_targets", [1, 5], ids=["of a target", "of a machine"])
    def test_ten_dispatchers_at_once_admit_one_run(self, project, n_targets):
        host(slots=20)
        endpoints = [make_endpoint(make_target(project), host="10.0.0.5") for _ in range(n_targets)]
        for number in range(5):
            started(project, endpoint=endpoints[number % n_targets])
        assert sum(at_once(*[dispatch.admit_runs] * 10)) == 1
        assert Run.objects.filter(state="preparing").count() == 1

    def test_a_run_that_was_next_for_an_hour_expires_and_says_why(self, project):
        campaign = started(project, n_tests=2)
        Campaign.objects.update(started_at=db_now(-3700), opened_at=db_now(-3700))
        Run.objects.update(state_at=db_now(-3700))
        assert stuck_runs()
        assert dispatch.expire_runs() == 1
        first, next_ = campaign.runs.all()
        assert (first.state, first.outcome, next_.state) == ("done", "expired", "queued")
        assert first.reason.startswith(
            "Could not start within an hour. No injector host is online."
        )
        assert not stuck_runs()


def campaign_on(project, address: str) -> Campaign:
    """A started campaign on a target of its own at this address."""
    return started(project, endpoint=make_endpoint(make_target(project), host=address))


def withdraw(run) -> None:
    """End an admitted run."""
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    settled(run)


def test_it_says_which_run_has_the_target(project):
    host(slots=4)
    target = make_target(project)
    endpoint = make_endpoint(target)
    first = started(project, endpoint=endpoint)
    second = started(project, endpoint=endpoint)
    dispatch.admit_runs()
    assert waiting_reason(second, owner_of(project)) == (
        "Waits for run 1 of \u201cstudy\u201d on 127.0.0.1."
    )
    assert waiting_reason(first) == ""


def test_it_names_no_campaign_that_the_reader_may_not_see(project, charlie):
    host(slots=4)
    endpoint = make_endpoint(make_target(project))
    started(project, endpoint=endpoint)
    second = started(project, endpoint=endpoint)
    dispatch.admit_runs()
    for stranger in (Actor(user=charlie), NOBODY):
        assert waiting_reason(second, stranger) == (
            "Waits for another campaign's run on 127.0.0.1."
        )
