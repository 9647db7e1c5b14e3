"""The order of steps as a server sees it."""

from collections import Counter

from campaigns.domain.plan.step_order import OrderKind, StepOrder
from tests.injector.servers import OK_REPLY, always, closed, measure, scripted

STEPS = [{"path": f"/{name}"} for name in "abc"]


def paths(load, order, **given) -> list[str]:
    plan = {"order": order, "session": given.pop("session", {})}
    with scripted(always(OK_REPLY)) as server:
        measure(server.port, steps=STEPS, load=load, plan=plan, **given)
    return [request.split()[1].decode() for request in server.requests]


def test_file_sets_are_sent_in_blocks():
    sent = paths(closed(9), {"kind": "blocks", "block_repeat": 3})
    assert sent == [*["/a"] * 3, *["/b"] * 3, *["/c"] * 3]


def test_two_injectors_send_together_what_one_would_have_sent():
    order = {"kind": "random"}
    alone = Counter(paths(closed(60), order, seed=5))
    load = closed(60, 2)
    halves = [
        Counter(paths(load, order, seed=5, shard={"index": index, "count": 2})) for index in (0, 1)
    ]
    assert halves[0] + halves[1] == alone


def test_the_connection_that_begins_first_plays_the_first_user():
    load = {**closed(6, 2), "ramp_up_s": 2}
    sent = paths(load, {"kind": "random"}, session={"calls_per_session": 6}, seed=7)
    order = StepOrder(OrderKind.RANDOM)
    assert sent == [STEPS[order.step_at(k, 3, 7)]["path"] for k in range(6)]
    assert sent != [STEPS[order.step_at(k, 3, 8)]["path"] for k in range(6)]
