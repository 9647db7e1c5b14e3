"""One request for each plan and endpoint before a campaign's first run, and what follows."""

import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.campaigns.queries.campaign_grid import grid_of, proposal
from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import start_campaign, stop_campaign
from campaigns.core.database import db_now
from campaigns.domain.errors import Forbidden, Refused
from campaigns.engine.queries.engine import waiting_reason
from campaigns.engine.services import dispatch
from campaigns.models import Campaign, Probe
from campaigns.probes.queries.first_requests import first_requests_of
from campaigns.probes.services import probes
from campaigns.probes.services.probes import (
    decide_held_campaigns,
    settle_campaign,
    settle_campaigns,
    try_again,
    try_cells,
)
from tests.engine.scenes import at_once, create, draft, host, others_use, owner_of
from tests.factories import make_endpoint, make_plan, make_target
from tests.stuck import stuck_runs
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
OK = {"type": "probe", "status": 200, "reason": "OK", "error": None, "response_us": 1500}
RULE = {"rule": "text: Welcome", "holds": False, "came": "the body is empty", "value": None}
BROKEN = {**OK, "rules": [RULE]}
REFUSED = {"type": "probe", "status": None, "error": "connect_refused"}
BUSY_INJECTOR = {"type": "probe", "error": "client_other", "detail": "Its machine is too busy."}


def begin(project, **fields) -> Campaign:
    host(slots=8)
    campaign = draft(project, **fields)
    start_campaign(by=owner_of(project), campaign=campaign)
    return campaign


def answer(campaign, *results) -> Campaign:
    waiting = campaign.first_requests.filter(finished_at=None).order_by("pk")
    for probe, result in zip(waiting, results, strict=False):
        probes.claim_probe(probe_id=probe.pk)
        probes.finish_probe(probe_id=probe.pk, result=result)
    settle_campaign(campaign_id=campaign.pk)
    campaign.refresh_from_db()
    return campaign


class TestSending:
    def test_each_plan_and_endpoint_gets_one_whatever_the_modes_and_injectors(self, project):
        target = make_target(project)
        http, https = make_endpoint(target), make_endpoint(target, "https", verify_tls=False)
        version = make_plan(project)
        modes = [(http, "new"), (http, "keep-alive"), (https, "new"), (https, "resumed")]
        cells = [CampaignCell(version, *each) for each in modes]
        campaign = create(owner_of(project), project, cells=cells)
        start_campaign(by=owner_of(project), campaign=campaign)
        sent = campaign.first_requests.order_by("pk").values_list("plan_version", "endpoint")
        assert list(sent) == [(version.pk, http.pk), (version.pk, https.pk)]

    def test_the_first_run_waits_for_them(self, project):
        campaign = begin(project)
        assert dispatch.admit_runs() == 0
        assert waiting_reason(campaign)

    def test_all_right_means_on_without_a_click(self, project):
        campaign = answer(begin(project, n_tests=2), OK, OK)
        assert (campaign.is_held, campaign.is_before_first_run) == (False, False)
        assert dispatch.admit_runs() == 1

    def test_the_order_has_the_plan_s_own_limits_and_credentials(self, project):
        campaign = begin(project)
        order = probes.order_of(campaign.first_requests.get())
        version = campaign.tests.get().plan_version.value()
        assert order["timeouts"]["total_s"] == version.timeouts.total_s
        assert order["step"]["path"] == version.steps[0].path


class TestHolding:
    @pytest.mark.parametrize(
        "result", [REFUSED, BROKEN, {**OK, "status": 404, "reason": "Not Found"}]
    )
    def test_one_that_fails_holds_the_campaign(self, project, result):
        campaign = answer(begin(project, n_tests=2), result, OK)
        assert campaign.is_held
        assert dispatch.admit_runs() == 0
        assert first_requests_of(campaign).words == "1 of 2 preflight requests failed"

    def test_one_that_keeps_going_goes_on(self, project):
        answer(begin(project, keeps_going=True), REFUSED)
        assert dispatch.admit_runs() == 1

    def test_somebody_who_may_run_it_can_start_it_anyway(self, project, as_vera):
        campaign = answer(begin(project), REFUSED)
        with pytest.raises(Forbidden):
            start_campaign(by=as_vera, campaign=campaign, anyway=True)
        start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
        campaign.refresh_from_db()
        assert campaign.held_at is None
        assert dispatch.admit_runs() == 1
        with pytest.raises(Refused, match="already been started"):
            start_campaign(by=owner_of(project), campaign=campaign, anyway=True)

    def test_what_the_injector_failed_at_is_tried_again_each_minute_for_an_hour(self, project):
        campaign = answer(begin(project, n_tests=2), BUSY_INJECTOR, OK)
        assert campaign.is_held
        assert decide_held_campaigns() == 0, "its machine is as busy as a moment ago"
        Campaign.objects.filter(pk=campaign.pk).update(held_at=db_now(-61))
        assert decide_held_campaigns() == 1
        assert first_requests_of(campaign).waiting == 1, "what was right is not sent again"
        answer(campaign, OK)
        assert dispatch.admit_runs() == 1

    @pytest.mark.parametrize("results", [[REFUSED, OK], [BUSY_INJECTOR, REFUSED]])
    def test_what_target_or_plan_failed_at_waits_for_somebody(self, project, results):
        campaign = answer(begin(project, n_tests=2), *results)
        Campaign.objects.filter(pk=campaign.pk).update(held_at=db_now(-61))
        assert decide_held_campaigns() == 0

    def test_an_injector_that_keeps_failing_is_not_asked_for_ever(self, project):
        campaign = answer(begin(project), BUSY_INJECTOR)
        long_ago = {"started_at": db_now(-3601), "held_at": db_now(-61)}
        Campaign.objects.filter(pk=campaign.pk).update(**long_ago)
        assert decide_held_campaigns() == 0

    def test_what_nobody_decides_about_for_an_hour_is_stopped(self, project):
        campaign = answer(begin(project), REFUSED)
        assert decide_held_campaigns() == 0
        Campaign.objects.filter(pk=campaign.pk).update(held_at=db_now(-3601))
        assert decide_held_campaigns() == 1
        dispatch.finish_campaigns()
        campaign.refresh_from_db()
        assert campaign.state == "done"
        assert campaign.stop_reason.startswith("Not started. No reply: connection refused (")
        assert campaign.runs.get().outcome == "stopped"
        sentence = "".join(text for text, _ in campaign_answer(campaign).sentence)
        assert sentence.count("Not started") == 1, "a fact is said once"

    def test_why_it_stopped_has_no_query_because_visitors_of_share_links_read_it(self, project):
        spec = plan_spec()
        spec["steps"][0]["path"] = "/item?key=hidden"
        cells = [
            CampaignCell(make_plan(project, spec=spec), make_endpoint(make_target(project)), "new")
        ]
        campaign = create(owner_of(project), project, cells=cells, repeats=1)
        host(slots=8)
        start_campaign(by=owner_of(project), campaign=campaign)
        campaign = answer(campaign, REFUSED)
        Campaign.objects.filter(pk=campaign.pk).update(held_at=db_now(-3601))
        decide_held_campaigns()
        campaign.refresh_from_db()
        assert "(POST /item on http://" in campaign.stop_reason

    def test_an_hour_on_hold_does_not_count_as_waiting_for_the_first_run(self, project):
        campaign = answer(begin(project), REFUSED)
        long_ago = {"started_at": db_now(-3500), "held_at": db_now(-3500)}
        Campaign.objects.filter(pk=campaign.pk).update(**long_ago)
        start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
        assert dispatch.expire_runs() == 0


class TestTryingAgain:
    def test_only_what_failed_is_sent_again_with_the_endpoint_as_it_is_now(self, project):
        campaign = answer(begin(project, n_tests=2), OK, REFUSED)
        endpoint = campaign.tests.first().endpoint
        endpoint.verify_tls = False
        endpoint.save()
        try_again(by=owner_of(project), campaign=campaign)
        assert campaign.first_requests.filter(finished_at=None).count() == 1
        assert campaign.first_requests.count() == 2
        assert not campaign.runs.first().frozen.endpoint.verify_tls
        answer(campaign, OK)
        assert dispatch.admit_runs() == 1


class TestSurviving:
    def test_a_dispatcher_that_died_does_not_block_the_campaign_for_ever(self, project):
        campaign = begin(project)
        probes.claim_probe(probe_id=campaign.first_requests.get().pk)
        assert settle_campaigns() == 0
        campaign.first_requests.update(claimed_at=db_now(-51))
        probes.expire_probes()
        assert settle_campaigns() == 1
        campaign.refresh_from_db()
        assert campaign.is_held

    def test_the_next_dispatcher_settles_what_the_last_one_answered(self, project):
        campaign = begin(project)
        probes.finish_probe(probe_id=campaign.first_requests.get().pk, result=OK)
        assert settle_campaigns() == 1
        assert settle_campaigns() == 0
        assert dispatch.admit_runs() == 1

    def test_stop_takes_back_what_is_not_sent_and_ends_the_campaign(self, project):
        campaign = begin(project, n_tests=3)
        sent = campaign.first_requests.order_by("pk").first()
        probes.claim_probe(probe_id=sent.pk)
        stop_campaign(by=owner_of(project), campaign=campaign)
        assert list(campaign.first_requests.all()) == [sent]
        probes.finish_probe(probe_id=sent.pk, result=OK)
        assert not settle_campaign(campaign_id=campaign.pk)
        dispatch.finish_campaigns()
        campaign.refresh_from_db()
        assert (campaign.state, campaign.opened_at) == ("done", None)
        assert stuck_runs() == []


@pytest.mark.django_db(transaction=True)
def test_two_that_settle_at_once_open_it_once(project):
    campaign = begin(project)
    probes.finish_probe(probe_id=campaign.first_requests.get().pk, result=OK)
    settle = [lambda: settle_campaign(campaign_id=campaign.pk)] * 2
    assert sorted(at_once(*settle)) == [False, True]


class TestCellsOfAForm:
    def test_they_are_tried_without_a_campaign(self, project, as_bob):
        version, endpoint = make_plan(project), make_endpoint(make_target(project))
        try_cells(by=as_bob, cells=[(version, endpoint)])
        probe = Probe.objects.get()
        assert (probe.plan_version, probe.endpoint, probe.campaign) == (version, endpoint, None)

    def test_nobody_tries_a_hundred_at_once(self, project, as_bob):
        endpoint = make_endpoint(make_target(project))
        with pytest.raises(Refused, match="At most 50"):
            try_cells(by=as_bob, cells=[(make_plan(project), endpoint)] * 51)

    def test_what_did_not_answer_is_not_proposed_afterwards(self, project, as_bob):
        target = make_target(project)
        silent, shop = (make_endpoint(target, port=port) for port in (8001, 8002))
        version = make_plan(project)
        assert proposal(grid_of(project)).endpoints == [str(silent.pk)]
        try_cells(by=as_bob, cells=[(version, silent)])
        probes.finish_probe(probe_id=Probe.objects.get().pk, result=REFUSED)
        assert proposal(grid_of(project)).endpoints == [str(shop.pk)]


def test_one_that_was_not_sent_says_nothing_about_the_target(project, as_bob):
    endpoint = make_endpoint(make_target(project))
    version = make_plan(project)
    try_cells(by=as_bob, cells=[(version, endpoint)])
    Probe.objects.update(requested_at=db_now(-130))
    probes.expire_probes()
    assert proposal(grid_of(project)).endpoints == [str(endpoint.pk)]


class TestWaitingForQuiet:
    @pytest.fixture
    def waiting(self, project):
        """Its first requests are answered as expected, and other programs use the only host."""
        campaign = draft(project)
        start_campaign(by=owner_of(project), campaign=campaign, when_quiet=True)
        host(slots=8, use=others_use(0.9))
        return answer(campaign, OK)

    def test_the_first_run_begins_when_the_host_is_quiet(self, waiting):
        assert settle_campaigns() == 0
        assert waiting.opened_at is None
        assert waiting_reason(waiting).startswith("Waiting for a quiet machine, until ")
        host(slots=8, use=others_use(0.4))
        assert settle_campaigns() == 1
        assert dispatch.admit_runs() == 1

    def test_one_busy_host_among_quiet_ones_is_waited_for(self, waiting):
        host(slots=8, name="other", use=others_use(0.1))
        assert settle_campaigns() == 0

    def test_it_begins_by_itself_after_half_an_hour(self, waiting):
        Campaign.objects.filter(pk=waiting.pk).update(quiet_by=db_now(-1))
        assert settle_campaigns() == 1

    def test_a_host_that_does_not_tell_is_not_waited_for(self, waiting):
        host(slots=8)
        assert settle_campaigns() == 1

    def test_a_first_request_that_failed_holds_it_however_busy_the_host(self, project):
        campaign = draft(project)
        start_campaign(by=owner_of(project), campaign=campaign, when_quiet=True)
        host(slots=8, use=others_use(0.9))
        assert answer(campaign, REFUSED).is_held

    def test_somebody_may_start_it_anyway(self, project, waiting):
        start_campaign(by=owner_of(project), campaign=waiting, anyway=True)
        assert dispatch.admit_runs() == 1

    def test_stopping_it_cancels_the_start(self, project, waiting):
        stop_campaign(by=owner_of(project), campaign=waiting)
        host(slots=8, use=others_use(0.1))
        assert settle_campaigns() == 0
        assert dispatch.admit_runs() == 0

    def test_it_is_not_stuck_however_long_it_waits(self, waiting):
        waiting.runs.update(state_at=db_now(-1700))
        assert stuck_runs() == []
        assert dispatch.expire_runs() == 0

    def test_anyway_and_when_quiet_exclude_each_other(self, project):
        with pytest.raises(Refused, match="anyway, or when"):
            start_campaign(
                by=owner_of(project), campaign=draft(project), anyway=True, when_quiet=True
            )
