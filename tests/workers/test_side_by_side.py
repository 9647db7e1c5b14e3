"""A campaign whose arms take turns in one injector, from its start to its answer."""

import re
import time
from functools import partial

import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import create_campaign, start_campaign
from campaigns.compare.queries.side_by_side import passes_of
from campaigns.domain.metrics.injector_end import ArmsRound
from campaigns.domain.presentation.sentences import plain_text
from campaigns.engine.services.endings import stop_run
from campaigns.models import Campaign, Round, Shard
from tests.engine.scenes import host, owner_of
from tests.factories import make_endpoint, make_plan, make_target
from tests.injector.http2.h2_server import h2_server, ok
from tests.injector.servers import after, scripted
from tests.injector.websocket.peers import echo
from tests.values import plan_spec
from tests.waiting import eventually
from tests.workers.launching import in_thread, is_done, work_until
from workers import launcher

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("spool_folder")]


@pytest.fixture(autouse=True)
def _loopback(settings):
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]


LOAD = {"model": "open", "rate_per_s": 100, "duration_s": 30}


def start(project, *ports, spec=None, scheme="http", mode="keep-alive", **fields) -> Campaign:
    host(slots=4)
    plan = make_plan(project, spec=spec or plan_spec(**LOAD))
    target = make_target(project)
    ends = [make_endpoint(target, port=port, scheme=scheme) for port in ports]
    cells = [CampaignCell(plan, end, mode) for end in ends]
    by = owner_of(project)
    campaign = create_campaign(by=by, project=project, name="A and B", cells=cells, **fields)
    start_campaign(by=by, campaign=campaign, anyway=True)
    return campaign


def test_one_injector_measures_a_run_for_each_arm_and_says_which_is_slower(project, dispatcher):
    with scripted(after(0.002)) as quick, scripted(after(0.005)) as slow:
        campaign = start(project, quick.port, slow.port, limit_s=6)
        work_until(lambda: is_done(campaign))
        servers = {quick.port: quick.n_requests, slow.port: slow.n_requests}
        servers_us = {quick.port: 2000, slow.port: 5000}
    assert (campaign.order, campaign.repeats) == ("side_by_side", 1)
    leader, follower = campaign.runs.order_by("position")
    assert follower.leader == leader
    for run in (leader, follower):
        assert (run.outcome, run.reason) == ("complete", "")
        shard = run.shards.get()
        assert (shard.state, shard.host, shard.epoch) == ("done", "host 1", 1)
        assert shard.injector_end.is_complete
        warm_up = sum(row.value().counters["started"] for row in run.seconds.filter(second__lt=0))
        assert warm_up + run.n == servers[run.test.endpoint.port]
        assert run.frozen.pace["rate_per_s"] == 100
        requests = run.kept_requests.get().value()
        assert (requests.is_all, len(requests.rows)) == (True, run.n)
        assert all(row.response_us >= servers_us[run.test.endpoint.port] for row in requests.rows)
    rounds = [ArmsRound.from_json(row.line) for row in Round.objects.filter(run=leader)]
    assert [each.number for each in rounds] == list(range(len(rounds)))
    # The rounds under way at the look that settled it are in the seconds only.
    of_rounds, of_a_round = sum(each.arms[1].n for each in rounds), rounds[0].arms[1].n
    assert 0 <= follower.n - of_rounds <= 3 * of_a_round
    assert leader.seconds.filter(second__gte=0).count() < 6, "an arm's time stands still"
    sentence = plain_text(campaign_answer(campaign).sentence)
    assert re.search(r"[0-9.]+\u202f[%×] slower", sentence), sentence


def launchers(*hosts):
    """One on each host that has claimed a shard."""
    names = {f"w {n}": host for n, host in enumerate(hosts)}
    return [
        in_thread(partial(launcher.launch_one, worker=worker, host=host))
        for worker, host in names.items()
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("hosts", "least_s"), [(("host 1", "host 1"), 0.1), (("host 1", "host 2"), 0.5)]
)
def test_several_injectors_have_the_same_turns_and_settle_together(
    project, dispatcher, hosts, least_s
):
    with scripted(after(0.002)) as quick, scripted(after(0.006)) as slow:
        campaign = start(project, quick.port, slow.port, limit_s=60, injectors=2)
        when_admitted(campaign)
        for thread in launchers(*hosts):
            thread.join(60)
        eventually(lambda: is_done(campaign), 20, "the campaign was to come to its end")
    leader, follower = campaign.runs.order_by("position")
    assert {(run.outcome, run.reason) for run in (leader, follower)} == {("complete", "")}
    pace = leader.frozen.pace
    assert pace["slice_s"] >= least_s
    assert (pace["gap_s"] > 0) >= (least_s > 0.1), "the clocks of two hosts are apart"
    (each,) = passes_of(campaign)
    assert len(each.rounds) >= 16
    assert each.measured_s < 50, "it ends when it is settled"
    for number in (0, 5, 10):
        lines = Round.objects.filter(run=leader, number=number).order_by("shard")
        here, there = (ArmsRound.from_json(row.line) for row in lines)
        assert here.order == there.order
        assert here.began_us == there.began_us
    for run in (leader, follower):
        assert [shard.injector_end.is_complete for shard in run.shards.all()] == [True, True]
        sent = sum(row.value().counters["started"] for row in run.seconds.filter(second__gte=0))
        assert run.n == sent
    sentence = plain_text(campaign_answer(campaign).sentence)
    assert re.search(r"[0-9.]+\u202f[%×] slower", sentence), sentence


def when_admitted(campaign: Campaign) -> None:
    preparing = campaign.runs.filter(state="preparing")
    eventually(lambda: preparing.count() == 2, 20, "the campaign was to be admitted")


def slow_streams(headers, body):
    time.sleep(0.003)
    return ok(headers, body)


@pytest.mark.long
@pytest.mark.parametrize(
    ("quick", "slow", "fields"),
    [
        (lambda: h2_server(ok), lambda: h2_server(slow_streams),
         {"spec": plan_spec(**LOAD) | {"http_version": "2", "streams": 4}}),
        (lambda: scripted(echo()), lambda: scripted(echo(delay_s=0.01)),
         {"spec": {"exchange": {"messages": 2}, "load": LOAD}, "scheme": "ws", "mode": "new"}),
        (lambda: scripted(after(0.002)), lambda: scripted(after(0.005)),
         {"spec": plan_spec(model="open", stages=[{"duration_s": 3, "from_per_s": 150},
                                                  {"duration_s": 3, "from_per_s": 75}])}),
    ],
    ids=["HTTP/2", "WebSocket", "stages"],
)  # fmt: skip
def test_streams_websockets_and_stages_are_told_apart(project, dispatcher, quick, slow, fields):
    with quick() as one, slow() as other:
        ports = [(each[0] if isinstance(each, tuple) else each).port for each in (one, other)]
        campaign = start(project, *ports, limit_s=30, **fields)
        work_until(lambda: is_done(campaign))
    assert campaign.order == "side_by_side"
    assert set(campaign.runs.values_list("outcome", flat=True)) == {"complete"}
    sentence = plain_text(campaign_answer(campaign).sentence)
    assert re.search(r"[0-9.]+\u202f[%×] slower than ", sentence), sentence


@pytest.mark.long
def test_runs_and_comparisons_of_messages_count_messages(project, dispatcher):
    """Not the connections, which stay open for seconds."""
    load = {"model": "closed", "connections": 2, "duration_s": 30}
    spec = {"exchange": {"messages": 1_000_000}, "load": load}
    with scripted(echo(delay_s=0.002)) as one, scripted(echo(delay_s=0.01)) as other:
        ports = one.port, other.port
        campaign = start(project, *ports, limit_s=30, spec=spec, scheme="ws", mode="new")
        work_until(lambda: is_done(campaign))
    assert campaign.order == "side_by_side"
    for run in campaign.runs.all():
        assert (run.outcome, run.frozen.nouns, run.errors) == ("complete", "messages", 0)
        assert run.n > 100
        assert 2_000 < run.lows_us["p50"] <= run.p50_us < 500_000
    answer = campaign_answer(campaign)
    assert " per message" in plain_text(answer.sentence)
    assert all(2 < test.curve[0]["ms"] < 500 for test in answer.tests)
    [pair] = answer.overheads
    assert pair.split is None, "a message has no parts"
    rows = {row.kind: [cell.value for cell in row.cells[:2]] for row in pair.table.rows}
    assert {"typical", "mean", "p50", "p90"} <= rows.keys()
    assert all(2 < ms < 500 for both in rows.values() for ms in both)
    assert rows["typical"][0] < rows["typical"][1]


@pytest.mark.long
def test_who_stops_one_of_them_stops_all_that_take_turns(project, dispatcher):
    with scripted(after(0.002)) as one, scripted(after(0.002)) as other:
        campaign = start(project, one.port, other.port, limit_s=60, until_settled=False)
        leader, follower = campaign.runs.order_by("position")
        thread = in_thread(lambda: work_until(lambda: is_done(campaign)))
        eventually(Round.objects.filter(run=leader).exists, 20, "the first round")
        stop_run(by=owner_of(project), run=follower)
        thread.join(20)
    assert set(campaign.runs.values_list("outcome", "stop_requested")) == {("stopped", "user")}
    assert set(Shard.objects.values_list("state", flat=True)) == {"done"}
