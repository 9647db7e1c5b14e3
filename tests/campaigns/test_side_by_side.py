"""Arms that take turns: their runs move together, and answer while they are measured."""

import random
import re

import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.campaigns.queries.cells import CampaignCell, cell_of, estimate_cells
from campaigns.campaigns.services.campaigns import create_campaign, start_campaign
from campaigns.campaigns.views.campaign_page import badge_of
from campaigns.campaigns.views.campaign_tiles import progress_of
from campaigns.compare.queries import side_by_side
from campaigns.compare.queries.arm_pairs import ArmPair, measured_tests
from campaigns.compare.queries.overheads import compare
from campaigns.compare.queries.side_by_side import passes_of
from campaigns.core.database import db_now
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.errors import Refused
from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.domain.plan.sweep import INJECTORS, Sweep
from campaigns.domain.plan.turns import ALONE_S
from campaigns.domain.presentation.sentences import plain_text
from campaigns.engine.queries.injector_hosts import taken_slots
from campaigns.engine.services import dispatch, endings
from campaigns.engine.services.rounds import begin_of_rounds
from campaigns.engine.services.shards import (
    claim_shard,
    look,
    mark_done,
    mark_lost,
    mark_ready,
    mark_running,
    record_rounds,
    record_seconds,
)
from campaigns.history.queries.baselines import may_be_baseline
from campaigns.history.services import make_baseline
from campaigns.machines.queries.target_costs import target_costs
from campaigns.models import Campaign, Exporter, Round, Run, Shard, TestFigures
from campaigns.runs.queries.measurements import measured_runs
from campaigns.runs.queries.runs import share_over
from tests.engine.scenes import host, owner_of
from tests.factories import make_endpoint, make_plan, make_target
from tests.machines.test_target_costs import tell
from tests.measured import measure
from tests.stuck import stuck_runs
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db
RATE = {"model": "open", "rate_per_s": 200, "duration_s": 30}
PACE = {"type": "pace", "slice_s": 0.1, "gap_s": 0.0, "rate_per_s": 200.0, "asked_per_s": 200.0}


def cells_of_schemes(project, plan) -> list[CampaignCell]:
    """HTTP and HTTPS of one target."""
    target = make_target(project)
    return [CampaignCell(plan, make_endpoint(target, each), "new") for each in ("http", "https")]


def cells_of_servers(project, names) -> list[CampaignCell]:
    plan = make_plan(project, spec=plan_spec(**RATE))
    return [CampaignCell(plan, make_endpoint(make_target(project, each)), "new") for each in names]


def make_draft(project, load=RATE, cells=None, **fields) -> Campaign:
    if cells is None:
        cells = cells_of_schemes(project, make_plan(project, spec=plan_spec(**load)))
    values = {"by": owner_of(project), "project": project, "name": "x", "cells": cells, **fields}
    return create_campaign(**values)


def line(number: int, times_us, failed=(0, 0)) -> dict:
    arms, noise = [], random.Random(number)
    for time_us, n_failed in zip(times_us, failed, strict=True):
        middle_us = time_us * (1 + noise.uniform(-0.02, 0.02))
        times = {"p50_us": middle_us + 30, "mean_us": middle_us + 90, "own_us": 30.0}
        times |= {"p50_undelayed_us": middle_us, "mean_undelayed_us": middle_us + 60}
        times["parts_us"] = {"wait": middle_us, "receive": 60.0}
        arms.append({"n": 20 - n_failed, "failed": n_failed, "spilled": 0, **times})
    began_us = number * 200_000
    return {"type": "round", "round": number, "began_us": began_us, "order": [1, 0], "arms": arms}


def wild_lines(numbers, least: float, most: float) -> list[dict]:
    """Rounds of two arms, each of which took between so many ms."""
    wild = random.Random(3)
    return [line(n, [1000 * wild.uniform(least, most) for _ in range(2)]) for n in numbers]


@pytest.fixture
def sending(project):
    """(campaign, lease) of two arms that have taken so many turns."""

    def send(n_rounds: int, times_us=(1000, 1000), failed=(0, 0), **fields):
        host(slots=1)
        campaign = make_draft(project, **fields)
        start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
        lease = begin_pass()
        lines = [line(number, times_us, failed) for number in range(n_rounds)]
        record_rounds(lease=lease, lines=[PACE, *lines])
        return campaign, lease

    return send


def begin_pass():
    """The lease of the next one, under way."""
    assert dispatch.admit_runs() == 1
    lease = claim_shard(worker="w", host="host 1")
    assert claim_shard(worker="w2", host="host 1") is None
    mark_ready(lease=lease)
    dispatch.move_runs()
    Run.objects.filter(pk=lease.run_id).update(t0=db_now(-60))
    assert mark_running(lease=lease)
    dispatch.move_runs()
    return lease


def end(campaign: Campaign, *leases, times_us=(1000, 1000)) -> None:
    for lease in leases:
        end_turns(lease, times_us)
    dispatch.finish_campaigns()
    campaign.refresh_from_db()
    assert campaign.state == "done"


def second_of(arm: int, second: int, times_us: list[int], step: int = 0) -> dict:
    """Its line, as an injector of several arms tells it."""
    return make_second(second, times_us, step).to_json() | {"type": "second", "arm": arm}


def end_turns(lease, times_us=(1000, 1000)) -> None:
    n_requests = 20 * Round.objects.filter(run=lease.run_id).count()
    rows = [
        second_of(arm, second, [time_us] * min(200, n_requests - 200 * second))
        for arm, time_us in enumerate(times_us)
        for second in range(-(-n_requests // 200))
    ]
    record_seconds(lease=lease, seconds=rows)
    done = InjectorEnd(outcome="complete", duration_us=1_000_000)
    mark_done(lease=lease, end=done, others=[done] * (len(times_us) - 1))
    dispatch.move_runs()
    endings.finalise_runs()


def sentence(campaign: Campaign) -> str:
    return plain_text(campaign_answer(Campaign.objects.get(pk=campaign.pk)).sentence)


def states(model) -> list[str]:
    return list(model.objects.order_by("pk").values_list("state", flat=True))


def test_the_time_goes_where_the_rounds_say_whatever_stalls_the_seconds_have(sending):
    campaign, lease = sending(16, (1000, 2000))
    end(campaign, lease, times_us=(7000, 9000))
    [overhead] = campaign_answer(campaign).overheads
    assert overhead.split.is_typical
    for row, wait_ms in zip(overhead.split.rows, (1, 2), strict=True):
        assert row["parts"]["wait"] == pytest.approx(wait_ms, rel=0.02)
        assert row["parts"]["receive"] == 0.06
        assert row["total_ms"] == pytest.approx(wait_ms + 0.06, rel=0.02)


def test_arms_in_turns_have_a_word_for_each_flow(sending, project):
    flows = [{"name": "browse", "share": 9, "steps": 1}, {"name": "buy", "share": 1, "steps": 1}]
    load = {**RATE, "arrival_unit": "session"}
    spec = {"steps": [{"path": "/"}, {"path": "/pay"}], "load": load, "flows": flows}
    campaign, lease = sending(40, cells=cells_of_schemes(project, make_plan(project, spec=spec)))
    rows = []
    for arm, pay_us in enumerate((2000, 3000)):
        for second in range(20):
            rows.append(second_of(arm, second, [1000] * 90))
            rows.append(second_of(arm, second, [pay_us] * 10, step=1))
    record_seconds(lease=lease, seconds=rows)
    end(campaign, lease)
    answer = campaign_answer(campaign)
    (ground,) = [each for each in answer.grounds if "flow" in each]
    assert ground.replace("\u202f", " ").startswith("The flow buy is 50 % slower (")
    (overhead,) = answer.overheads
    rows = {row.label: row for row in overhead.table.rows if row.kind == "flow"}
    ratios = {label: (row.cells[3].value, row.cells[-1].value) for label, row in rows.items()}
    typical = "median without the injector's part"
    assert ratios == {
        f"browse, {typical}": (1.0, "no practical difference"),
        "browse, p95": (1.0, "no practical difference"),
        f"buy, {typical}": (pytest.approx(1.5, rel=0.02), "slower"),
        "buy, p95": (pytest.approx(1.5, rel=0.02), None),
    }


def test_the_runs_of_all_arms_take_one_slot_and_go_the_same_way(sending):
    campaign, lease = sending(3)
    assert states(Run) == ["running"] * 2
    assert states(Shard) == ["running"] * 2
    assert taken_slots() == 1
    starts = set(Run.objects.values_list("t0", flat=True))
    assert len(starts) == 1
    assert None not in starts
    assert stuck_runs() == []
    end(campaign, lease)
    assert states(Shard) == ["done"] * 2
    assert set(campaign.runs.values_list("outcome", "n")) == {("complete", 60)}


def test_what_is_stored_twice_counts_once(sending):
    campaign, lease = sending(20)
    record_rounds(lease=lease, lines=[PACE, *(line(number, (5, 9)) for number in range(20))])
    assert Round.objects.count() == 20
    end(campaign, lease)
    assert campaign.runs.first().frozen.pace["measured_s"] == 2.0


def test_a_pass_whose_launcher_is_lost_ends_as_a_whole(sending):
    campaign, lease = sending(5)
    Shard.objects.filter(run=lease.run_id).update(lease_until=db_now(-1))
    dispatch.reap_shards()
    dispatch.move_runs()
    dispatch.move_runs()
    assert states(Shard) == ["lost"] * 2
    assert set(states(Run)) == {"finalizing"}
    endings.finalise_runs()
    assert set(campaign.runs.values_list("outcome", flat=True)) == {"failed"}


@pytest.mark.parametrize(
    ("times_us", "words"),
    [
        ((1000, 1300), "HTTPS is at least 29 % slower on new connections"),
        ((1300, 1000), "HTTPS is at least 22 % faster on new connections"),
        ((1000, 1000), "HTTPS makes no practical difference on new connections"),
    ],
)
def test_the_answer_is_there_while_they_take_turns(sending, times_us, words):
    campaign, _ = sending(40, times_us)
    assert sentence(campaign).replace("\u202f", " ").startswith(f"So far {words} (")


def test_servers_are_compared_while_they_take_turns_and_have_a_matrix_at_the_end(project, sending):
    cells, times_us = cells_of_servers(project, ("apache", "nginx", "caddy")), (1300, 1000, 1600)
    campaign, lease = sending(40, times_us, failed=(0, 0, 0), cells=cells)
    answer = campaign_answer(campaign)
    assert answer.matrix is None
    assert "nginx" in sentence(campaign)
    assert "faster" in sentence(campaign)
    assert [bool(each.narrowing) for each in answer.overheads] == [True, True]
    end(campaign, lease, times_us=times_us)
    answer = campaign_answer(Campaign.objects.get(pk=campaign.pk))
    assert not answer.overheads
    assert sentence(campaign).startswith("nginx is the fastest, then apache, then caddy at ")
    apache, nginx, _ = answer.matrix.rows[0].cells
    # One follows from the other and the difference beside them.
    ratio = nginx.against.interval.ratio
    assert nginx.mean.mean == pytest.approx(apache.mean.mean * ratio)
    assert nginx.against.candidate == pytest.approx(nginx.mean.mean)


def test_many_servers_narrow_look_by_look_and_have_an_order_at_the_end(project, sending):
    """As many as may take turns."""
    cells = cells_of_servers(project, [f"web {n}" for n in range(16)])
    times_us = [*[1000] * 8, *range(1200, 2800, 200)]
    campaign, lease = sending(26, times_us, failed=[0] * 16, cells=cells)
    overheads = campaign_answer(campaign).overheads
    assert [each.word for each in overheads] == ["no practical difference"] * 7 + ["slower"] * 8
    assert sentence(campaign).startswith("So far web 8 is"), "what is clear comes first"
    assert {tuple(look["rounds"] for look in each.narrowing) for each in overheads} == {(16, 24)}
    end(campaign, lease, times_us=times_us)
    assert "are the fastest of 16 at " in sentence(campaign)


def test_rounds_that_were_looked_at_are_not_worked_out_again(sending, monkeypatch):
    campaign, lease = sending(40)
    campaign_answer(campaign)
    calls = []
    monkeypatch.setattr(side_by_side, "compare", lambda rounds, *_, **__: calls.append(len(rounds)))
    record_rounds(lease=lease, lines=[line(40, (1000, 1000))])
    campaign_answer(Campaign.objects.get(pk=campaign.pk))
    assert not calls


def test_arms_in_turns_are_all_as_far_as_the_one_that_is_watched(sending):
    campaign, lease = sending(3)
    leader = Run.objects.get(pk=lease.run_id)
    assert progress_of(campaign, leader).share == pytest.approx(share_over(leader), abs=0.01)


@pytest.mark.parametrize(
    ("spread", "rounds", "words"),
    [
        (1.02, 40, "Settled in 8 s"),
        (3, 40, "Ended after 40 rounds"),
        (9, 296, "Ended at its limit"),
    ],
)
def test_an_end_says_whether_it_was_settled(sending, spread, rounds, words):
    campaign, lease = sending(0)
    record_rounds(lease=lease, lines=wild_lines(range(rounds), 1 / spread, spread))
    end(campaign, lease)
    answer = campaign_answer(Campaign.objects.get(pk=campaign.pk))
    assert badge_of(campaign, answer).word.startswith(words)


def test_servers_are_compared_at_each_of_several_plans(project, sending):
    servers = [make_endpoint(make_target(project, name)) for name in ("apache", "nginx")]
    plans = [make_plan(project, name, spec=plan_spec(**RATE)) for name in "abc"]
    cells = [CampaignCell(plan, each, "new") for plan in plans for each in servers]
    times_us = (1000, 2000) * 3
    campaign, lease = sending(40, times_us, failed=[0] * 6, cells=cells)
    assert [each.word for each in campaign_answer(campaign).overheads] == ["slower"] * 3
    end(campaign, lease, times_us=times_us)
    assert sentence(campaign).startswith("apache is faster than nginx at all 3 plans, by 0.97")


def test_of_two_servers_the_answer_is_how_they_compare(project, sending):
    campaign, lease = sending(40, cells=cells_of_servers(project, ("apache", "nginx")))
    end(campaign, lease)
    words = (
        "nginx shows no practical difference from apache on new connections (−0.5 to +1.1\u202f%)."
    )
    assert sentence(campaign) == words


def test_before_there_are_enough_rounds_no_word_is_said(sending):
    campaign, lease = sending(6, (1000, 4000))
    assert sentence(campaign) == "The arms take turns. The first answer comes after 16 rounds."
    end(campaign, lease)
    assert "HTTPS is about 4.0\u202f× slower" in sentence(campaign)


def test_times_of_an_arm_that_fails_are_not_compared(sending):
    campaign, _ = sending(40, (1000, 500), failed=(0, 5))
    (overhead,) = campaign_answer(campaign).overheads
    assert overhead.word == ""
    assert "More than a tenth of the requests to HTTPS failed" in overhead.word_reason
    assert overhead.word_reason in sentence(campaign)


def test_what_varies_too_much_says_how_long_it_would_take(sending):
    campaign, lease = sending(0)
    record_rounds(lease=lease, lines=wild_lines(range(24), 0.5, 2))
    (overhead,) = campaign_answer(campaign).overheads
    assert overhead.word == Word.OPEN
    assert overhead.word_reason.startswith("About ")
    assert overhead.word_reason.endswith(" more would settle it.")
    assert [each["rounds"] for each in overhead.narrowing] == [16, 24]


def test_what_will_settle_within_its_limit_says_when_before_anything_else(sending):
    campaign, lease = sending(0, limit_s=60)
    record_rounds(lease=lease, lines=wild_lines(range(24), 0.9, 1.12))
    assert re.match(r"Settles in about [0-9]+ s\. So far ", sentence(campaign))
    record_rounds(lease=lease, lines=wild_lines(range(24, 36), 0.3, 3))
    assert sentence(campaign).startswith("So far "), "its limit comes first"


def test_what_is_open_at_the_end_is_settled_by_as_many_seconds_more_as_its_page_says(
    sending, project, client
):
    campaign, lease = sending(0, pause_s=0)
    record_rounds(lease=lease, lines=wild_lines(range(24), 0.9, 1.12))
    end(campaign, lease)
    client.force_login(owner_of(project).user)
    step = client.get(f"/campaigns/{campaign.pk}/").context["next_step"]
    assert step.label.startswith("Measure ")
    tables = client.get(f"/api/v1/campaigns/{campaign.pk}/tables/").json()
    assert tables["overheads"][0]["more_s"] == step.more_s
    fields = {"blocks": step.blocks, "after": campaign.repeats, "more_s": int(step.more_s)}
    client.post(f"/campaigns/{campaign.pk}/blocks/", fields)
    more = begin_pass()
    turns = Run.objects.get(pk=more.run_id).frozen.turns
    assert (turns.limit_s, turns.until_settled) == (step.more_s, False)
    lines = [line(number, (1000, 1000)) for number in range(100)]
    record_rounds(lease=more, lines=[PACE, *lines])
    campaign = Campaign.objects.get(pk=campaign.pk)
    end(campaign, more)
    assert (campaign.limit_s, campaign.until_settled) == (None, True), "for later passes"
    (overhead,) = campaign_answer(campaign).overheads
    assert (overhead.word, overhead.narrowing[-1]["rounds"]) == (Word.SAME, 124)
    assert badge_of(campaign, campaign_answer(campaign)).word.startswith("Settled in ")


def test_the_ratio_of_the_means_is_that_of_the_means_beside_it(sending):
    campaign, lease = sending(40, (1000, 2000))
    # What came after the last look is in the means, and in no round.
    end(campaign, lease, times_us=(1000, 2600))
    (overhead,) = campaign_answer(campaign).overheads
    (row,) = [each for each in overhead.table.rows if each.kind == "mean"]
    before, after, _, ratio, low, high = [each.value for each in row.cells[:6]]
    assert ratio == pytest.approx(after / before) == pytest.approx(2.6, rel=0.01)
    assert low < ratio < high


def test_an_unequal_pair_is_told_with_the_bounds_of_all_percentiles_that_have_any(sending):
    campaign, lease = sending(40, (1000, 2000))
    end(campaign, lease, times_us=(1000, 2000))
    (overhead,) = campaign_answer(campaign).overheads
    bounds = {row["metric"]: (row["low"], row["high"]) for row in overhead.forest}
    assert list(bounds) == ["median without the injector's part", "average", "measured p50"]
    assert all(1.88 < low < high < 2.05 for low, high in bounds.values())
    assert overhead.confidence == 0.99


def test_two_campaigns_of_one_pass_are_compared_by_stretches_of_their_rounds(sending, project):
    first, lease = sending(40, (1000, 1000))
    end(first, lease)
    cells = [cell_of(test) for test in first.tests.order_by("position")]
    second, lease = sending(40, (1200, 1000), cells=cells)
    end(second, lease)
    sides = [
        measured_tests(list(each.tests.order_by("position")), measured_runs(each.runs.all()))
        for each in (first, second)
    ]
    pairs = [compare(second, ArmPair(*pair, is_chosen=True)) for pair in zip(*sides, strict=True)]
    assert [each.judged.word for each in pairs] == [Word.SLOWER, Word.SAME]


def test_a_pass_is_enough_for_a_baseline_that_the_next_one_is_held_against(sending, project):
    campaign, lease = sending(40, (1000, 1000))
    end(campaign, lease)
    assert may_be_baseline(campaign)
    tests = list(campaign.tests.all())
    make_baseline(by=owner_of(project), project=project, name="1.0", tests=tests)
    cells = [cell_of(test) for test in campaign.tests.order_by("position")]
    later, lease = sending(40, (1500, 1000), cells=cells)
    end(later, lease)
    against = TestFigures.objects.filter(campaign=later).order_by("test__position")
    assert [each.against["word"] for each in against] == [Word.SLOWER, Word.SAME]


def test_stages_are_measured_side_by_side_to_their_end(project):
    stages = [{"duration_s": 8, "from_per_s": rate} for rate in (50, 100, 50)]
    campaign = make_draft(project, {"model": "open", "stages": stages}, limit_s=10)
    assert campaign.order == "side_by_side"
    host(slots=1)
    start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
    for run in campaign.runs.all():
        assert run.frozen.turns.limit_s == 2 * 2 * 24, "with pauses as long as the turns"
        assert [each.from_per_s for each in run.frozen.plan.load.stages] == [50, 100, 50]


def test_the_rungs_of_a_ladder_take_turns(sending, project):
    plan = make_plan(project, spec=plan_spec(**RATE))
    http2 = make_plan(
        project, "the same over HTTP/2", spec=plan_spec(**RATE) | {"http_version": "2"}
    )
    target = make_target(project)
    plain, https = make_endpoint(target), make_endpoint(target, scheme="https")
    tls12 = make_endpoint(target, scheme="https", port=8445, tls={"profile": "tls12"})
    arms = (
        (plan, plain, "new"),
        (plan, tls12, "new"),
        (plan, https, "new"),
        (http2, https, "resumed"),
    )
    times_us = 1000, 4000, 3000, 3000
    cells = [CampaignCell(*arm) for arm in arms]
    campaign, lease = sending(40, times_us, failed=(0,) * 4, cells=cells)
    assert re.match(
        "So far on a new connection HTTPS/1.1, TLS 1.2 is 4.0\\d?\u202f× slower", sentence(campaign)
    )
    end(campaign, lease, times_us=times_us)
    ladder = campaign_answer(campaign).ladder
    assert (ladder.metric, ladder.in_turns) == ("typical", True)
    steps = [rung.before for rung in ladder.rungs[1:]]
    assert [step.word for step in steps] == [Word.SLOWER, Word.FASTER, Word.SAME]
    for step in [*steps, *(rung.plain for rung in ladder.rungs[1:])]:
        low, high = step.row.ends
        assert low <= step.ratio <= high, "percentages follow from the times beside them"
    assert re.search("TLS 1.2 is 4.0\\d?\u202f× slower than HTTP \\(", sentence(campaign))
    by_mean = campaign_answer(campaign, metric="mean").ladder
    assert [rung.plain.word for rung in by_mean.rungs[1:]] == [Word.SLOWER] * 3
    # What forbids a word by medians forbids one by any metric.
    first = campaign.runs.order_by("position").first()
    first.shards.update(host="another host")
    for metric in ("", "mean"):
        unlike = campaign_answer(Campaign.objects.get(pk=campaign.pk), metric=metric).ladder
        assert [rung.plain.word for rung in unlike.rungs[1:]] == [""] * 3


@pytest.fixture
def machine_cells(project):
    """The cells of HTTP and HTTPS on a machine of which an agent tells."""
    rule = {"metric": "target_cpu", "limit": 80, "unit": "%"}
    slow = {"metric": "p95", "limit": 500}
    plan = make_plan(project, spec=plan_spec(**RATE) | {"thresholds": [rule, slow]})
    cells = cells_of_schemes(project, plan)
    target = cells[0].endpoint.target
    Exporter.objects.create(target=target, name="shop-1", url="http://127.0.0.1:9800/metrics")
    return cells


def test_arms_on_a_watched_machine_are_sent_alone_after_their_turns(project, machine_cells):
    campaign = make_draft(project, cells=machine_cells)
    assert campaign.order == "side_by_side"
    host(slots=1)
    start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
    runs = list(campaign.runs.order_by("position"))
    assert [run.is_alone for run in runs] == [False] * 2 + [True] * 6
    assert all(run.frozen.turns is None and run.leader is None for run in runs[2:])
    assert {run.frozen.plan.load.duration_s for run in runs[2:]} == {ALONE_S}
    rules = [{rule.metric for rule in run.frozen.plan.thresholds} for run in runs]
    assert rules == [{"p95"}] * 2 + [{"target_cpu"}] * 6, "each rule where it can be told"
    estimate = estimate_cells(
        machine_cells, in_turns=True, limit_s=None, until_settled=True, repeats=1, pause_s=0
    )
    assert estimate.n_runs == 8


def test_what_a_machine_did_is_compared_by_the_runs_of_single_arms(sending, machine_cells):
    campaign, lease = sending(40, (1000, 2000), cells=machine_cells)
    end_turns(lease)
    for run in campaign.runs.filter(is_alone=True):
        tell([measure(run, 9_000, n=1200, seconds=6)], {"http": [5.0] * 3, "https": [7.0] * 3})
    answer = campaign_answer(campaign)
    (overhead,) = answer.overheads
    assert (overhead.word, overhead.is_paired) == (Word.SLOWER, True)
    cpu = target_costs(campaign, answer).cpu
    assert [row.cells[0].text for row in cpu.tables[0].rows] == ["5.00", "7.00"]


def test_a_load_that_cannot_take_turns_is_measured_in_blocks(project):
    for load, why in [
        ({"model": "window", "low": 1, "high": 2, "requests": 5}, "A window"),
        ({"model": "open", "rate_per_s": 1, "duration_s": 30}, "A round takes 20 s"),
        ({"model": "over", "requests": 100, "over_s": 100}, "A round takes 20 s"),
        (
            {"model": "open", "stages": [{"duration_s": 9, "from_per_s": 10, "to_per_s": 90}]},
            "A load that only rises",
        ),
        ({"model": "open", "stages": [{"duration_s": 1000, "from_per_s": 50}]}, "The stages of 2"),
        ({"model": "open", "stages": [{"duration_s": 1, "from_per_s": 50}]}, "A round takes 0.4 s"),
    ]:
        campaign = make_draft(project, load)
        assert (campaign.order, campaign.repeats) == ("blocks", 5)
        with pytest.raises(Refused, match=f"{why}.* Choose counterbalanced blocks."):
            make_draft(project, load, order="side_by_side")


def test_one_arm_alone_and_a_sweep_over_processes_are_measured_in_blocks(project):
    campaign = make_draft(project)
    assert (campaign.order, campaign.repeats) == ("side_by_side", 1)
    cells = [cell_of(test) for test in campaign.tests.all()]
    assert make_draft(project, cells=cells[:1]).order == "blocks"
    assert make_draft(project, cells=cells, injectors=2).order == "side_by_side"
    assert make_draft(project, cells=cells, sweep=Sweep(INJECTORS, (1, 2))).order == "blocks"


@pytest.fixture
def two_processes(project):
    """(campaign, leases) of two arms in two injector processes, whose trial is over."""

    def send(hosts=("host 1", "host 1"), **fields):
        for name in set(hosts):
            host(slots=2, name=name)
        campaign = make_draft(project, injectors=2, **fields)
        start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
        assert dispatch.admit_runs() == 1
        assert taken_slots() == 2
        leases = [claim_shard(worker=f"w {n}", host=name) for n, name in enumerate(hosts)]
        assert [lease.order["shard"] for lease in leases] == [
            {"index": index, "count": 2} for index in range(2)
        ]
        assert leases[0].order["turns"] == leases[1].order["turns"], "the same order of turns"
        assert all(mark_ready(lease=lease) for lease in leases)
        dispatch.move_runs()
        Run.objects.filter(pk=leases[0].run_id).update(t0=db_now(-60))
        assert all(mark_running(lease=lease) for lease in leases)
        dispatch.move_runs()
        return campaign, leases

    return send


def pace(**fields) -> dict:
    common = {"keeps_up": True, "connections": [4, 4], "clock_error_us": 4000}
    return PACE | common | fields


def begin_all(leases) -> None:
    for lease in leases:
        record_rounds(lease=lease, lines=[pace()])
        begin_of_rounds(lease=lease)


def test_all_processes_begin_at_one_instant_at_the_pace_of_the_slowest(two_processes):
    campaign, leases = two_processes()
    record_rounds(lease=leases[0], lines=[pace(rate_per_s=100.0)])
    assert begin_of_rounds(lease=leases[0]) is None, "the other is still trying"
    record_rounds(lease=leases[1], lines=[pace(slice_s=0.2)])
    begins = [begin_of_rounds(lease=lease) for lease in leases]
    assert begins[0] == begins[1] == begin_of_rounds(lease=leases[0])
    assert begins[0].after_start_s > 60, "in the future"
    for run in campaign.runs.all():
        run_pace = run.frozen.pace
        assert (run_pace["slice_s"], run_pace["rate_per_s"], run_pace["connections"]) == (
            0.2,
            100,
            [8, 8],
        )
        assert run.frozen.plan.load.rate_per_s == 100


def test_processes_of_several_hosts_have_long_turns_with_a_pause(two_processes):
    _, leases = two_processes(hosts=("host 1", "host 2"))
    for lease in leases:
        record_rounds(lease=lease, lines=[pace()])
    begin = begin_of_rounds(lease=leases[1])
    assert (begin.pace["slice_s"], begin.pace["gap_s"]) == (0.5, 0.01)


def test_what_all_processes_saw_together_settles_it_once(two_processes):
    campaign, leases = two_processes()
    begin_all(leases)
    for n, lease in enumerate(leases):
        lines = [line(number, (1000, 1300 + n)) for number in range(20)]
        record_rounds(lease=lease, lines=[each for each in lines if each["round"] != 3 + n])
        pulse = look(lease=leases[0])
        dispatch.move_runs()
        assert not pulse.is_settled
    assert all(look(lease=lease).is_settled for lease in leases)
    # What came meanwhile might open it again.
    for lease in leases:
        record_rounds(lease=lease, lines=[line(number, (1000, 10)) for number in range(20, 25)])
    end(campaign, *leases)
    assert set(campaign.runs.values_list("outcome", flat=True)) == {"complete"}
    (overhead,) = campaign_answer(Campaign.objects.get(pk=campaign.pk)).overheads
    assert overhead.word == Word.SLOWER
    (each,) = passes_of(Campaign.objects.get(pk=campaign.pk))
    assert [each.number for each in each.rounds] == [n for n in range(20) if n not in (3, 4)]
    assert campaign.runs.first().frozen.pace["measured_s"] == 2.5, "with those after the look"


def test_rounds_that_settle_nothing_go_on_to_the_last_look(two_processes):
    _, leases = two_processes()
    begin_all(leases)
    lines = wild_lines(range(402), 0.3, 3)
    for since, until, is_over in [(0, 16, False), (16, 24, False), (24, 402, True)]:
        for lease in leases:
            record_rounds(lease=lease, lines=lines[since:until])
        dispatch.move_runs()
        assert look(lease=leases[0]).is_settled == is_over


def test_a_lost_process_stops_the_others_and_what_was_measured_is_kept(two_processes):
    campaign, leases = two_processes()
    begin_all(leases)
    for lease in leases:
        record_rounds(lease=lease, lines=[line(number, (1000, 1500)) for number in range(16)])
    assert mark_lost(lease=leases[1], reason="The injector was killed by SIGKILL.")
    dispatch.move_runs()
    assert look(lease=leases[0]).stop_requested == "shard_lost"
    dispatch.move_runs()
    end(campaign, leases[0])
    for run in campaign.runs.all():
        assert run.outcome == "partial"
        assert run.reason == "Injector process 2 of 2: The injector was killed by SIGKILL."
    (each,) = passes_of(Campaign.objects.get(pk=campaign.pk))
    assert len(each.rounds) == 16
    answer = campaign_answer(Campaign.objects.get(pk=campaign.pk))
    words = plain_text(answer.sentence).replace("\u202f", " ")
    assert words.startswith("HTTPS is at least 48 % slower on new connections")
    assert not answer.has_no_answer
    assert "did not finish" in answer.grounds[-1]
