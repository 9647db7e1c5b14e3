"""What a ladder's rungs send, and how long they take."""

import pytest

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.rungs import AT_ONCE_S, RUNGS, estimate_ladder, spec_of_rung
from tests.values import plan_spec

PLAN = Plan.from_json(plan_spec(model="over", requests=100, over_s=8))


@pytest.mark.parametrize("key", ["new-http", "new-resumed", "kept-tls12", "new-rsa"])
def test_a_rung_of_http_1_1_sends_the_plan_as_it_is(key):
    assert spec_of_rung(PLAN, RUNGS[key])[0] == PLAN.to_json()


def test_a_rung_of_http_2_sends_the_same_over_http_2():
    spec, name = spec_of_rung(PLAN, RUNGS["new-http2"])
    assert (spec["http_version"], spec["load"], name) == ("2", PLAN.to_json()["load"], "HTTP/2")


def test_many_at_once_is_a_load_of_its_own():
    spec, name = spec_of_rung(PLAN, RUNGS["many-streams"])
    load = Plan.from_json(spec).load
    assert (load.connections, load.duration_s, spec["streams"]) == (1, AT_ONCE_S, 32)
    assert name == "HTTP/2, 1 × 32 at once"


def test_an_estimate_has_every_rung_that_can_send_the_plan():
    rungs = [RUNGS[key] for key in ("new-http", "new-http2", "many-http1")]
    found = estimate_ladder(PLAN, rungs, repeats=3, pause_s=0)
    assert (found.n_tests, found.n_runs) == (3, 9)
    assert found.duration_s == 3 * (8 + 8 + AT_ONCE_S) + 9 * 2


def test_a_rung_that_cannot_send_it_takes_nothing():
    closed = plan_spec(model="closed", connections=1, requests=10)
    plan = Plan.from_json(
        closed | {"connection_mode": "keep-alive", "session": {"pipeline_depth": 4},
                  "steps": [{"method": "GET", "path": "/"}]}
    )  # fmt: skip
    rungs = [RUNGS["kept-http"], RUNGS["kept-http2"]]
    assert estimate_ladder(plan, rungs, repeats=1, pause_s=0).n_tests == 1
