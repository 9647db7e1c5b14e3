"""Several flows in a plan: read or refused in words, and which flow each session has."""

from collections import Counter
from random import Random

import pytest

from campaigns.domain.plan.estimates import longest_run_s
from campaigns.domain.plan.flows import flow_order, parse_flow, requests_of
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import stored_session
from campaigns.domain.plan.turns import why_not_in_turns
from tests.domain.plan.reading import CLOSED, faults, read

STEPS = [{"path": "/"}, {"path": "/list"}, {"path": "/cart"}, {"path": "/pay"}]
BROWSE = {"name": "browse", "share": 90, "steps": 3}
BUY = {"name": "buy", "share": 10, "steps": 1}
SESSIONS = {"model": "open", "rate_per_s": 10, "requests": 100, "arrival_unit": "session"}
TOKEN = {"name": "token", "from": "body", "pattern": "(x)"}


def flows(*parts, **more):
    return {"steps": STEPS, "flows": list(parts), **more}


SHOP = flows(BROWSE, BUY)


def test_it_survives_being_stored():
    for spec in [
        SHOP,
        SHOP | {"load": SESSIONS},
        SHOP | {"load": {"model": "sequential", "requests": 10}},
        SHOP | {"session": {"cookies": True, "burst_length": 3, "pipeline_depth": 1}},
        SHOP | {"thresholds": [{"metric": "p95", "limit": 300, "unit": "ms", "flow": "browse"}]},
        SHOP | {"thresholds": [{"metric": "session_p95", "limit": 9, "unit": "s", "flow": "buy"}]},
        flows({"name": "all", "share": 0.5, "steps": 4}),
    ]:
        plan = read(**spec)
        assert Plan.from_json(plan.to_json()) == plan


def test_what_makes_no_sense_is_refused_in_words():
    for spec, field in [
        (flows(BROWSE), "flows"),
        (flows(BROWSE, BUY | {"name": "Browse"}), "flows"),
        (flows(BROWSE, BUY | {"share": 0.0001}), "flows"),
        (flows(BROWSE, BUY | {"share": 0}), "flows.1.share"),
        (flows(BROWSE, BUY | {"steps": 0}), "flows.1.steps"),
        (flows(BROWSE, {"name": "buy", "share": 10}), "flows.1.steps"),
        (flows(BROWSE, BUY | {"name": ""}), "flows.1.name"),
        (flows(BROWSE, BUY | {"name": "Step 2"}), "flows.1.name"),
        (flows(BROWSE, BUY | {"name": "timeout"}), "flows.1.name"),
        (flows(BROWSE, BUY | {"name": "p95 < 2"}), "flows.1.name"),
        (flows(BROWSE, BUY | {"name": "list of goods"}), "flows.1.name"),
        (SHOP | {"order": {"kind": "random"}}, "order.kind"),
        (SHOP | {"order": {"kind": "blocks", "block_repeat": 2}}, "order.kind"),
        (SHOP | {"session": {"calls_per_session": 3}}, "session.calls_per_session"),
        (SHOP | {"load": SESSIONS, "session": {"burst_length": 4}}, "session.burst_length"),
        (SHOP | {"load": SESSIONS | {"arrival_unit": "request"}}, "load.arrival_unit"),
        (SHOP | {"load": SESSIONS | {"arrival_unit": "connection"}}, "load.arrival_unit"),
        (SHOP | {"load": {"model": "window", "low": 1, "high": 2, "requests": 9}}, "flows"),
        (SHOP | {"http_version": "2", "streams": 2}, "streams"),
        ({"steps": [], "exchange": {"path": "/"}, "flows": [BUY], "load": CLOSED}, "flows"),
        (
            SHOP | {"thresholds": [{"metric": "p95", "limit": 3, "flow": "brows"}]},
            "thresholds.0.flow",
        ),
        (
            SHOP | {"thresholds": [{"metric": "p95", "limit": 3, "flow": "buy", "step": 4}]},
            "thresholds.0.flow",
        ),
        (
            SHOP | {"steps": [STEPS[0] | {"extract": [TOKEN]}, *STEPS[1:3], {"path": "/${token}"}]},
            "flows.1",
        ),
    ]:
        assert list(faults(**spec)) == [field]


def test_after_any_number_of_sessions_each_flow_has_had_its_share_rounded_down_or_up():
    random = Random(5)
    for seed in range(28):
        weights = tuple(random.choice((1, 2, 3, 7, 20, 90, 133)) for _ in range(seed % 7 + 1))
        whole, had = sum(weights), Counter()
        for n, flow in enumerate(flow_order(weights, seed), 1):
            had[flow] += 1
            for each, weight in enumerate(weights):
                assert n * weight // whole <= had[each] <= -(-n * weight // whole)


def test_no_flow_keeps_to_every_second_session():
    """Or of two injectors one would only browse, and the other only buy."""
    order = flow_order((1, 1), 7)
    of_first = Counter(order[::2])
    assert min(of_first.values()) > 0.4 * len(order) / 2
    assert order != flow_order((1, 1), 8)


def test_requests_are_told_where_no_seed_decides_them():
    for n_sessions, requests in [(100, 280), (10, 28), (15, None), (1005, None)]:
        plan = read(**SHOP, load=SESSIONS | {"requests": n_sessions})
        assert plan.planned_requests == requests == requests_of(plan.flows, n_sessions)
        even = read(**flows(BROWSE | {"steps": 2}, BUY | {"steps": 2}), load=SESSIONS)
        assert even.planned_requests == 200


def test_a_session_may_take_as_long_as_its_longest_flow():
    plan, longer = read(**SHOP, load=SESSIONS), read(**SHOP, load=SESSIONS).to_json()
    session = stored_session(longer["session"], longer["flows"])
    assert session == plan.longest_session
    alone = longest_run_s(plan.load, plan.timeouts, 0, session=plan.session)
    assert longest_run_s(plan.load, plan.timeouts, 0, session=session) == alone + 60


def test_flows_of_arriving_sessions_can_be_cut_into_turns_and_those_of_a_closed_load_cannot():
    assert not why_not_in_turns(read(**SHOP, load=SESSIONS))
    assert "Let sessions arrive" in why_not_in_turns(read(**SHOP))


def test_a_flow_is_written_in_a_line():
    assert parse_flow("browse=90:3") == {"name": "browse", "share": 90.0, "steps": 3}
    for line in ("browse", "browse=90", "browse=x:3", "browse=90:x"):
        with pytest.raises(ValueError, match="as in browse=90:3"):
            parse_flow(line)
