"""Users of several flows: what each session sends on the wire, and what its seconds count."""

from collections import Counter, defaultdict

from campaigns.domain.plan.flows import flow_order
from tests.injector.servers import OK_REPLY, after, against, always, closed, scripted
from tests.injector.test_loads import is_conserved
from tests.injector.test_sessions import counting_visits, visits_of
from tests.injector.test_side_by_side import arms_order, play
from tests.injector.visits import ERROR_REPLY, OPEN, answering_pipelined, measure, think

STEPS = [{"path": "/", "label": "home"}, {"path": "/list"}, {"path": "/cart"}, {"path": "/pay"}]
FLOWS = [{"name": "browse", "share": 80, "steps": 2}, {"name": "buy", "share": 20, "steps": 2}]
SHOP = {"flows": FLOWS}
BROWSE, BUY = ["/", "/list"], ["/cart", "/pay"]


class Sessions:
    """A server that notes the paths of each connection, which has one session."""

    def __init__(self, reply=OK_REPLY):
        self.paths: list[list[str]] = []
        self._reply = reply

    def __call__(self, sock, server):
        mine: list[str] = []
        self.paths.append(mine)
        while (request := server.read_request(sock)) is not None:
            mine.append(request.split()[1].decode())
            sock.sendall(self._reply)


def test_each_session_of_a_closed_load_sends_the_steps_of_one_flow_and_starts_over():
    sessions = Sessions()
    result, _ = against(sessions, steps=STEPS, load=closed(200, 4), plan=SHOP)
    firsts, whole = (
        Counter(paths[0] for paths in sessions.paths),
        Counter(map(tuple, sessions.paths)),
    )
    assert abs(firsts["/cart"] - len(sessions.paths) / 5) < 1
    # Of four users up to three are in the middle of a session when all requests are sent.
    assert sum(whole[tuple(flow)] for flow in (BROWSE, BUY)) == result.total.count("sessions_ok")
    assert result.total.count("sessions_ok") >= 98


def test_a_new_session_has_no_cookies_of_the_one_before():
    plan = SHOP | {"session": {"cookies": True}}
    _, server = against(counting_visits, steps=STEPS, load=closed(20), plan=plan)
    assert visits_of(server) == [0, 1] * 10


def test_measured_sessions_have_their_shares_though_a_warm_up_came_before():
    sessions = Sessions()
    plan = SHOP | {"session": {"think_time": think(0.09)}}
    result, _ = against(sessions, steps=STEPS, load=closed(40), plan=plan, warm_up_s=1)
    steps = result.measurement.steps
    n_begun = [steps[first].count("sessions_started") for first in (0, 2)]
    assert sum(n_begun) in {20, 21}
    assert abs(n_begun[1] - sum(n_begun) / 5) <= 1


def paths_by_number(**fields):
    """What each session that arrives sends, by the number of its arrival, which the path says."""
    rows = "id\n" + "\n".join(map(str, range(50)))
    steps = [{"path": f"{step['path']}?${{id}}"} for step in STEPS]
    plan = SHOP | {"variables": {"csv": rows}}
    with scripted(always(OK_REPLY)) as server:
        measure(server.port, steps=steps, load=OPEN | {"requests": 50}, plan=plan, seed=7, **fields)
    sent = defaultdict(list)
    for request in server.requests:
        path, _, number = request.split()[1].decode().partition("?")
        sent[int(number)].append(path)
    return sent


def test_arriving_sessions_have_the_flow_of_their_number_whichever_shard_sends_them():
    parts = [paths_by_number(shard={"index": i, "count": 3}) for i in range(3)]
    order = flow_order((4, 1), 7)
    assert parts[0] | parts[1] | parts[2] == {k: (BROWSE, BUY)[order[k]] for k in range(50)}


def test_bursts_pauses_and_retries_of_a_flow_are_those_of_a_session():
    for session, script in [
        ({"burst_length": 2, "connections_per_session": 2}, always(OK_REPLY)),
        ({"burst_length": 2, "pipeline_depth": 2, "first_call_alone": False}, answering_pipelined),
        ({"calls_per_connection": 1, "think_time": think(0.02)}, always(OK_REPLY)),
        ({"retry_on_failure": True, "cookies": True}, counting_visits),
    ]:
        plan = SHOP | {"session": session}
        result, server = against(script, steps=STEPS, load=OPEN, plan=plan)
        sent = Counter(request.split()[1].decode() for request in server.requests)
        assert sent == {"/": 16, "/list": 16, "/cart": 4, "/pay": 4}
        assert result.total.count("sessions_ok") == 20
        assert is_conserved(result)


def test_sessions_count_at_the_first_step_of_their_flow():
    def refusing_to_pay(sock, server):
        while (request := server.read_request(sock)) is not None:
            sock.sendall(ERROR_REPLY if b" /cart" in request else OK_REPLY)

    result, _ = against(refusing_to_pay, steps=STEPS, load=OPEN, plan=SHOP)
    names = ("sessions_started", "sessions_ok", "sessions_failed", "calls_skipped")
    counts = [[step.count(name) for name in names] for step in result.measurement.steps]
    assert counts == [[16, 16, 0, 0], [0] * 4, [4, 0, 4, 4], [0] * 4]
    assert [step.timing("session").n for step in result.measurement.steps] == [16, 0, 0, 0]
    assert result.ends[0].sessions_in_flight == 0


def test_what_was_never_sent_is_of_the_flow_that_was_due():
    for when in ["queue", "drop"]:
        load = OPEN | {"max_in_flight": 1, "when_saturated": when}
        limits = {"total_s": 0.3}
        result, _ = against(after(5), steps=STEPS, load=load, plan=SHOP, timeouts=limits, seed=3)
        n_dropped = [step.count("dropped") for step in result.measurement.steps]
        never = [step.count("sessions_dropped") for step in result.measurement.steps]
        n_begun = [step.count("sessions_started") for step in result.measurement.steps]
        assert n_dropped == never
        assert n_begun == [16, 0, 4, 0]
        assert n_dropped[2] > 0
        assert is_conserved(result)


def test_a_value_is_asked_for_again_in_its_own_flow():
    """Both flows sign in; the reply that lacks the token fails, and the next session asks again."""
    token = {"name": "token", "from": "body", "pattern": "(o)k"}
    steps = [
        {"path": "/in", "extract": [token]},
        {"path": "/list/${token}"},
        {"path": "/in-to-buy", "extract": [token]},
        {"path": "/pay/${token}"},
    ]
    with scripted(always(OK_REPLY)) as server:
        measure(server.port, steps=steps, load=closed(20), plan=SHOP)
    paths = [request.split()[1].decode() for request in server.requests]
    assert Counter(paths) == {"/in": 8, "/list/o": 8, "/in-to-buy": 2, "/pay/o": 2}


def test_a_value_that_only_another_flow_needs_may_be_missing():
    token = {"name": "token", "from": "body", "pattern": "(none)"}
    steps = [
        {"path": "/", "extract": [token]},
        {"path": "/list"},
        {"path": "/in", "extract": [token]},
        {"path": "/pay/${token}"},
    ]
    result, _ = against(always(OK_REPLY), steps=steps, load=OPEN, plan=SHOP)
    failed = [step.count("failed") for step in result.measurement.steps]
    assert failed == [0, 0, 4, 0]


def test_arms_that_take_turns_send_the_same_flows(program):
    load = OPEN | {"rate_per_s": 50, "duration_s": 60, "requests": None}
    turns = {"slice_s": 0.2, "may_lower_rate": False, "limit_s": 3}
    one, other = Sessions(), Sessions()
    with scripted(one) as first, scripted(other) as second:
        order = arms_order(
            first.port, second.port, load=load, plan=SHOP | {"steps": STEPS}, **turns
        )
        _, lines = play(order, program)
    assert {tuple(paths) for paths in one.paths + other.paths} == {tuple(BROWSE), tuple(BUY)}
    seconds = [each for each in lines["second"] if each["second"] >= 0]
    for arm in (0, 1):
        counts = Counter()
        for each in seconds:
            if each["arm"] == arm:
                counts[each["step"]] += each["counters"].get("sessions_started", 0)
        assert abs(counts[2] - (counts[0] + counts[2]) / 5) <= 1
