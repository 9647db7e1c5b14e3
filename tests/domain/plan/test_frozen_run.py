"""What a run keeps of plan, endpoint and target, as it was when the run was queued."""

import pytest

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.frozen_run import FrozenRun
from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.tls_options import TlsOptions

STORED = {
    "plan": {"steps": [{"path": "/"}], "load": {"model": "sequential", "requests": 3}},
    "plan_name": "checkout",
    "plan_number": 3,
    "endpoint": {
        "scheme": "https",
        "host": "::1",
        "port": 8443,
        "verify_tls": False,
        "tls": {"max_version": "1.2"},
    },
    "connection_mode": "keep-alive",
    "target": "shop",
    "environment": [["CPU", "4 cores"]],
    "seed": 7,
    "policy": {"allow": ["127.0.0.0/8"]},
}


def test_it_is_read_back_as_it_was_stored():
    assert FrozenRun.from_json(STORED).to_json() == STORED


def test_it_says_what_was_sent_where():
    frozen = FrozenRun.from_json(STORED)
    assert (frozen.plan_label, frozen.arm_label) == ("checkout v3", "HTTPS keep-alive")
    assert frozen.endpoint == Origin("https", "::1", 8443, False, TlsOptions(max_version="1.2"))
    assert str(frozen.endpoint) == "https://[::1]:8443"
    assert (frozen.endpoint.is_tls, frozen.endpoint.is_websocket) == (True, False)


def test_its_plan_is_read_once_and_only_where_it_is_asked_for():
    frozen = FrozenRun.from_json(STORED)
    assert frozen.plan is frozen.plan
    assert (frozen.plan.load.requests, frozen.is_exchange) == (3, False)
    unreadable = FrozenRun.from_json(STORED | {"plan": {"load": {}}})
    assert unreadable.plan_label == "checkout v3"
    with pytest.raises(InvalidPlan):
        assert unreadable.plan
