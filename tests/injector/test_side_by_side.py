"""Arms measured side by side on real sockets: equal ledgers, equal pools, words that are true."""

import itertools
import json
import os
import signal
import threading
import time
from statistics import median

import pytest

from campaigns.domain.analysis.ratio import Word
from campaigns.domain.analysis.side_by_side import LOOKS, compare
from campaigns.domain.metrics.injector_end import ArmsEnd, ArmsRound
from campaigns.domain.metrics.snapshot import Second, total_of
from tests.injector.forked import FORKED
from tests.injector.servers import OK_REPLY, after, always, scripted
from tests.injector.test_cli import run
from tests.injector.test_contract import fault, whole_order
from workers.injector import rounds
from workers.injector.arms_run import run_arms
from workers.injector.rounds import Rounds

OPEN = {"model": "open", "rate_per_s": 100, "duration_s": 60}


def arms_order(*ports, load=None, limit_s=2, modes=(), plan=(), **turns):
    orders = [whole_order(port, load=load or OPEN, plan=dict(plan)) for port in ports]
    names = ("plan", "endpoint", "connection_mode", "secrets")
    arms = [{name: order[name] for name in names if name in order} for order in orders]
    for arm, mode in zip(arms, modes, strict=False):
        arm["connection_mode"] = mode
    common = {name: orders[0][name] for name in ("run", "policy", "seed") if name in orders[0]}
    turns = {"limit_s": limit_s, "until_settled": False, **turns}
    return {"protocol": 2, **common, "arms": arms, "turns": turns}


def play(order, program):
    """The lines by type."""
    assert fault(order, "arms_order") is None
    injector = program(order, FORKED)
    ready = injector.start()
    lines, status = injector.rest()
    assert status == 0
    assert [fault(line, "out") for line in (ready, *lines)] == [None] * (1 + len(lines))
    by_type = {}
    for line in lines:
        by_type.setdefault(line["type"], []).append(line)
    return ready, by_type


UNIFORM = {"distribution": "uniform", "uniform_min_s": 0.002, "uniform_max_s": 0.018}


@pytest.mark.parametrize(
    "load",
    [
        OPEN,
        pytest.param(OPEN | {"distribution": "exponential"}, marks=pytest.mark.long),
        {"model": "closed", "connections": 3, "duration_s": 60},
        pytest.param({"model": "over", "requests": 60, "over_s": 0.6}, marks=pytest.mark.long),
        pytest.param({"model": "open", "requests": 6000} | UNIFORM, marks=pytest.mark.long),
    ],
    ids=["open", "random", "closed", "over", "uniform"],
)
def test_each_arm_has_a_ledger_that_adds_up_and_is_that_of_its_server(program, load):
    # A trial on a busy machine would choose longer turns, of which few are over in time.
    turns = {"slice_s": 0.1, "may_lower_rate": False, "limit_s": 3}
    with scripted(after(0.002)) as one, scripted(after(0.006)) as other:
        ready, lines = play(arms_order(one.port, other.port, load=load, **turns), program)
    assert ready["protocol"] == 2
    [line] = lines["end"]
    end = ArmsEnd.from_json(line)
    assert (end.outcome, end.reason) == ("complete", "")
    arms_rounds = [ArmsRound.from_json(each) for each in lines["round"]]
    for number, server in enumerate((one, other)):
        seconds = [Second.from_json(each) for each in lines["second"] if each["arm"] == number]
        assert [each.second for each in seconds] == list(range(-1, len(seconds) - 1))
        total = total_of(seconds)
        assert total.counters == end.arms[number].totals
        assert total.count("started") == total.count("ok") == server.n_requests
        total_measured = total_of(each for each in seconds if each.second >= 0)
        assert sum(each.arms[number].n for each in arms_rounds) <= total_measured.count("ok")
        if load["model"] != "over":
            assert sum(each.arms[number].n for each in arms_rounds) == total_measured.count("ok")
    assert [each.number for each in arms_rounds] == list(range(len(arms_rounds)))
    assert end.rounds == len(arms_rounds) >= 2
    assert compare(arms_rounds, 1).p50.ratio > 1, "each figure is of its own arm"


def test_a_reply_that_comes_after_the_last_turn_is_the_tail_of_its_arm(program):
    slow = threading.Event()

    def script(sock, server):
        while server.read_request(sock) is not None:
            if slow.is_set():
                slow.clear()
                time.sleep(4)
            sock.sendall(OK_REPLY)

    with scripted(script) as one, scripted(always(OK_REPLY)) as other:
        order = arms_order(one.port, other.port, slice_s=0.1, may_lower_rate=False, limit_s=2)
        injector = program(order, FORKED)
        injector.start()
        # It is the first of the measurement: two seconds are over before its reply.
        while injector.hear()["type"] != "pace":
            pass
        slow.set()
        lines, _ = injector.rest()
    late, prompt = ArmsEnd.from_json(lines[-1]).arms
    assert late.totals["late_ok"] == 1
    assert late.tail_us > 1_000_000
    assert late.measured_us <= 2_000_000
    assert prompt.tail_us < 500_000


@pytest.mark.long
def test_the_order_of_turns_follows_from_the_seed_and_not_from_the_trial(monkeypatch):
    orders = []
    with scripted(always(OK_REPLY)) as server:
        for seed, trial_s in ((2, 0.5), (2, 1.0), (3, 0.5)):
            monkeypatch.setattr(rounds, "TRIAL_S", trial_s)
            monkeypatch.setattr(rounds, "_STAGE_S", trial_s)
            run = arms_run(server.port, server.port, seed=seed, slice_s=0.1, limit_s=3)
            orders.append([each.order for each in run.rounds])
    n = min(map(len, orders))
    assert orders[0][:n] == orders[1][:n]
    assert [some[:2] for some in orders] == [[(0, 1), (1, 0)]] * 2 + [[(1, 0), (0, 1)]]


def test_the_answer_is_that_of_the_look_that_settled_it(short_trial, monkeypatch):
    looks = []
    is_settled = Rounds._is_settled

    def look(self):
        looks.append(len(self._rounds))
        return is_settled(self)

    monkeypatch.setattr(Rounds, "_is_settled", look)
    with scripted(after(0.002)) as one, scripted(after(0.02)) as other:
        run = arms_run(one.port, other.port, until_settled=True, limit_s=20, slice_s=0.1)
    *_, settled_at, at_the_end = looks
    assert run.end.settled
    assert run.end.rounds == len(run.rounds) == settled_at == at_the_end
    assert sum(each.arms[0].n for each in run.rounds) < run.end.arms[0].totals["ok"]


def processes(program, n, order, begin_in_s=0.3, **pace):
    """So many that share an order, told to begin their rounds together at the first one's pace."""
    injectors = [program(order | {"shard": {"index": k, "count": n}}, FORKED) for k in range(n)]
    for injector in injectors:
        injector.start()
    paces = [injector.hear() for injector in injectors]
    assert [fault(line, "pace") for line in paces] == [None] * n
    agreed = {name: paces[0][name] for name in ("slice_s", "gap_s", "rate_per_s", "keeps_up")}
    begin_at_ns = time.monotonic_ns() + int(begin_in_s * 1e9)
    begin = {"begin_at_ns": begin_at_ns, "pace": agreed | pace}
    assert fault(begin, "begin") is None
    for injector in injectors:
        injector.say(begin)
    return injectors


def told_by(lines):
    return [ArmsRound.from_json(line) for line in lines if line["type"] == "round"]


@pytest.mark.long
@pytest.mark.parametrize(
    "load",
    [
        OPEN,
        OPEN | {"distribution": "exponential"},
        {"model": "closed", "connections": 3, "duration_s": 60},
    ],
    ids=["open", "random", "closed"],
)
def test_processes_have_the_same_turns_at_the_same_time_and_share_the_load(program, load):
    with scripted(after(0.002)) as one, scripted(after(0.002)) as other:
        order = arms_order(one.port, other.port, load=load, slice_s=0.2, limit_s=4)
        injectors = processes(program, 2, order, gap_s=0.05, rate_per_s=load.get("rate_per_s"))
        (first, _), (second, _) = (injector.rest() for injector in injectors)
    rounds = [told_by(lines) for lines in (first, second)]
    assert len(rounds[0]) >= 1
    for here, there in zip(*rounds, strict=False):
        assert here.number == there.number
        assert here.order == there.order
        assert here.began_us == there.began_us == here.number * 2 * 250_000, "with a pause each"
    ends = [ArmsEnd.from_json(lines[-1]) for lines in (first, second)]
    assert [end.outcome for end in ends] == ["complete"] * 2
    assert not any(end.settled for end in ends), "what others saw, none of them can know"
    if load["model"] == "open":
        # 100 a second, of which the one has the even and the other the odd ones.
        n = [sum(each.arms[0].n for each in some) / len(some) for some in rounds]
        assert sum(n) == pytest.approx(20, rel=0.4 if "distribution" in load else 0.01)
        assert max(n) < 15


def test_a_process_that_comes_late_leaves_rounds_out_and_moves_none(program):
    with scripted(after(0.002)) as server:
        order = arms_order(server.port, server.port, slice_s=0.1, may_lower_rate=False)
        prompt, late = processes(program, 2, order, gap_s=0.0)
        time.sleep(1)
        os.kill(late.process.pid, signal.SIGSTOP)
        time.sleep(0.7)
        os.kill(late.process.pid, signal.SIGCONT)
        rounds = [told_by(injector.rest()[0]) for injector in (prompt, late)]
    orders = {each.number: each.order for each in rounds[0]}
    numbers = {each.number for each in rounds[1]}
    assert 2 <= len({*range(max(numbers))} - numbers) <= 6
    assert max(numbers) == max(orders), "it goes on with the others"
    for each in rounds[1]:
        assert each.began_us == each.number * 200_000
        assert each.order == orders[each.number]


def test_a_stop_ends_it_and_what_was_seen_is_told(program):
    with scripted(after(0.002)) as server:
        injector = program(arms_order(server.port, server.port, limit_s=60), FORKED)
        injector.start()
        while injector.hear()["type"] != "round":
            pass
        injector.say({"stop": "user"})
        lines, status = injector.rest()
    end = ArmsEnd.from_json(lines[-1])
    assert (status, end.outcome, end.reason) == (0, "stopped", "user")
    assert end.measured_us >= 200_000, "the round that was told"
    assert end.arms[0].totals["started"] + end.arms[1].totals["started"] == server.n_requests


def arms_run(*ports, **more):
    order = arms_order(*ports, **more)
    return run_arms(order, [str(port) for port in ports], lambda second, arm: None)


@pytest.mark.long
def test_a_target_that_is_slow_at_its_first_connections_is_so_in_the_trial(short_trial):
    def slow_at_first(sock, server):
        time.sleep(0.3)
        after(0.003)(sock, server)

    with scripted(after(0.003)) as usual, scripted(slow_at_first) as late:
        run = arms_run(usual.port, late.port, limit_s=3)
    [answer] = run.comparisons
    assert answer.word not in {Word.SLOWER, Word.FASTER}
    assert run.to_json()["comparisons"][0]["ratios"]["mean"]["value"] < 5


def test_what_arms_share_is_warmed_by_each_of_them(short_trial):
    """A cold cache behind both is warm for the second to ask: turns cannot show what it costs."""
    warm_until = [0.0]

    def script(sock, server):
        while server.read_request(sock) is not None:
            is_warm = time.monotonic() < warm_until[0]
            warm_until[0] = time.monotonic() + 0.5
            time.sleep(0.003 if is_warm else 0.1)
            sock.sendall(OK_REPLY)

    with scripted(script) as server:
        [answer] = arms_run(server.port, server.port, limit_s=3).comparisons
    assert answer.word not in {Word.SLOWER, Word.FASTER}
    assert answer.p50.ratio < 2, "neither waits for a cold cache in its turns"


def test_a_cache_that_one_arm_warms_for_the_other_makes_neither_slower(short_trial):
    """It is cold for the first turn of each round: with a fixed order always for the same arm. Of
    the orders with this seed each arm is first about as often."""
    numbers = itertools.count()

    def script(sock, server):
        while server.read_request(sock) is not None:
            is_cold = next(numbers) % 20 < 10  # ten requests of each arm are a round
            time.sleep(0.012 if is_cold else 0.002)
            sock.sendall(OK_REPLY)

    with scripted(script) as server:
        [answer] = arms_run(server.port, server.port, limit_s=4, slice_s=0.1, seed=3).comparisons
    assert answer.word not in {Word.SLOWER, Word.FASTER}


def test_connections_that_one_arm_opens_in_a_stall_are_opened_for_all(short_trial, pools):
    """Else the arm that stalled would go on with another number of connections than its peer."""
    may_go = threading.Event()
    may_go.set()

    def script(sock, server):
        while server.read_request(sock) is not None:
            time.sleep(0.002)
            may_go.wait(2)
            sock.sendall(OK_REPLY)

    stall = threading.Timer(1.2, may_go.clear), threading.Timer(1.8, may_go.set)
    with scripted(after(0.002)) as steady, scripted(script) as stalling:
        for timer in stall:
            timer.start()
        arms_run(steady.port, stalling.port, limit_s=3)
    # 20 are opened before the first turn, and some 20 more in the stall.
    assert min(pools[-1]) > 30


@pytest.mark.parametrize("rate", [100, 400])
def test_equal_pools_are_opened_before_the_first_turn(short_trial, pools, rate):
    with scripted(after(0.002)) as one, scripted(after(0.002)) as other:
        arms_run(one.port, other.port, load=OPEN | {"rate_per_s": rate}, limit_s=1)
    assert min(pools[2]) >= min(40, rate // 5), "the last of the first round has had its turn"
    assert any(first == second for first, second in pools[1:])


@pytest.mark.parametrize(
    "load",
    [{"model": "closed", "connections": 2, "duration_s": 1}, OPEN | {"duration_s": 1}],
    ids=["closed", "open"],
)
def test_the_duration_of_a_plan_is_the_most_for_each_arm(short_trial, load):
    with scripted(after(0.002)) as one, scripted(after(0.002)) as other:
        run = arms_run(one.port, other.port, load=load, limit_s=20)
    assert run.end.outcome == "complete"
    for arm in run.end.arms:
        assert 700_000 < arm.duration_us <= 1_500_000, "of its own clock, in whole turns"


def test_connections_are_new_for_each_request_where_an_arm_wants_that(short_trial):
    with scripted(always(OK_REPLY)) as same, scripted(always(OK_REPLY)) as new:
        run = arms_run(same.port, new.port, modes=("keep-alive", "new"), limit_s=1)
    assert same.n_connections < same.n_requests
    assert new.n_connections == new.n_requests
    assert run.end.arms[1].totals["connections_opened"] == new.n_requests


def test_the_parts_of_a_round_are_those_of_its_usual_requests(short_trial):
    """One of ten that takes 30 ms would move their mean, and tell of no usual request."""

    def stalling(sock, server):
        while server.read_request(sock) is not None:
            time.sleep(0.002 if server.n_requests % 10 else 0.03)
            sock.sendall(OK_REPLY)

    with scripted(stalling) as same, scripted(after(0.002)) as new:
        run = arms_run(same.port, new.port, modes=("keep-alive", "new"), limit_s=2)
    arms = [arm for each in run.rounds for arm in each.arms if arm.p50_undelayed_us]
    shares = [sum(arm.parts_us.values()) / arm.p50_undelayed_us for arm in arms]
    assert median(shares) == pytest.approx(1, rel=0.3)
    assert all(arm.parts_us["wait"] > 1900 for arm in arms)
    kept_parts, new_parts = (
        set().union(*(each.arms[n].parts_us for each in run.rounds)) for n in (0, 1)
    )
    assert "connect" in new_parts - kept_parts


@pytest.mark.long
def test_all_arms_of_a_round_are_at_the_same_stage_and_go_on_to_the_last(short_trial):
    """Also where it is settled long before."""
    stages = [{"duration_s": 0.6, "from_per_s": rate, "to_per_s": rate} for rate in (100, 200, 100)]
    more = {"load": {"model": "open", "stages": stages}, "slice_s": 0.1, "may_lower_rate": False}
    with scripted(after(0.001)) as one, scripted(after(0.02)) as other:
        run = arms_run(one.port, other.port, limit_s=20, until_settled=True, **more)
    assert run.comparisons[0].is_settled
    sent = [tuple(arm.n for arm in each.arms) for each in run.rounds]
    assert sent == [(10, 10)] * 6 + [(20, 20)] * 6 + [(10, 10)] * 6


def test_connections_that_arrive_are_new_for_each_request(short_trial):
    load = OPEN | {"arrival_unit": "connection"}
    with scripted(always(OK_REPLY)) as one, scripted(always(OK_REPLY)) as other:
        run = arms_run(one.port, other.port, load=load, limit_s=1)
    for arm, server in zip(run.end.arms, (one, other), strict=True):
        assert arm.totals["ok"] == server.n_requests == server.n_connections


def test_users_of_each_arm_have_their_own_rows_and_cookies(short_trial):
    """As alone: a session keeps its row, and hears nothing of what another arm's server says."""
    plan = {"session": {"cookies": True}, "variables": {"csv": "id\n1\n2\n3\n4\n"}}
    plan["steps"] = [{"method": "GET", "path": "/${id}"}]

    def naming(name):
        set_cookie = b"\r\nSet-Cookie: at=%s\r\n\r\n" % name
        return after(0.005, OK_REPLY.replace(b"\r\n\r\n", set_cookie))

    load = {"model": "closed", "connections": 2, "duration_s": 60}
    with scripted(naming(b"one")) as one, scripted(naming(b"other")) as other:
        run = arms_run(one.port, other.port, load=load, plan=plan, slice_s=0.1)
    assert run.end.rounds > 0
    for name, server in ((b"one", one), (b"other", other)):
        assert {each.split()[1] for each in server.requests} == {b"/1", b"/2"}
        without = [each for each in server.requests if b"Cookie: at=%s\r\n" % name not in each]
        assert len(without) == 2, "the first request of each user"


def test_failures_are_told_of_their_round_and_their_arm(short_trial):
    def failing(sock, server):
        while server.read_request(sock) is not None:
            if server.n_requests % 4 == 0:
                return
            sock.sendall(OK_REPLY)

    with scripted(always(OK_REPLY)) as one, scripted(failing) as other:
        run = arms_run(one.port, other.port, limit_s=2)
    [answer] = run.comparisons
    assert (answer.word, answer.failing) == (None, [1])
    assert run.has_learnt
    assert "More than a tenth of the requests" in run.report()
    [row] = run.failures[1]
    assert f"{other.port}: {row.count:,} × " in run.report()


def test_slow_replies_are_waited_for_between_turns(short_trial):
    with scripted(after(0.06)) as one, scripted(after(0.06)) as other:
        run = arms_run(one.port, other.port, limit_s=3)
    pace = run.to_json()["pace"]
    assert pace["gap_s"] > 0.06
    assert [arm.spilled for each in run.rounds for arm in each.arms].count(0) > 0


def test_the_command_line_says_which_is_slower_first():
    with scripted(after(0.002)) as one, scripted(after(0.03)) as other:
        urls = [f"http://127.0.0.1:{server.port}/" for server in (one, other)]
        done = run(urls[0], "--against", urls[1], "--rate", 100, "--at-most", "10s")
        as_json = run(urls[0], "--against", urls[1], "--connections", 2, "--exactly", 6, "--json")
    assert done.returncode == 0
    first, *others = done.stdout.splitlines()
    assert first.startswith(f"{urls[1]} is ")
    assert f"× slower than {urls[0]}" in first
    assert any(line.startswith("p99 between") for line in others)
    answer = json.loads(as_json.stdout)
    assert answer["comparisons"][0]["word"] == "slower"
    assert answer["comparisons"][0]["ratios"]["p50"]["low"] > 2
    assert 4 < answer["measured_s"] <= 6.1


@pytest.mark.long
def test_processes_of_the_command_line_share_the_load_and_look_together():
    with scripted(after(0.001)) as one, scripted(after(0.02)) as other:
        urls = [f"http://127.0.0.1:{server.port}/" for server in (one, other)]
        load = ("--rate", 200, "--at-most", 30, "--processes", 2)
        done = run(urls[0], "--against", urls[1], *load, "--json")
        answer = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert (answer["outcome"], answer["comparisons"][0]["word"]) == ("complete", "slower")
    assert answer["settled"]
    assert answer["rounds"] in LOOKS
    assert answer["comparisons"][0]["rounds"] == answer["rounds"]
    assert answer["measured_s"] < 10
    assert answer["pace"]["rate_per_s"] == 200
    for arm, server in zip(answer["arms"], (one, other), strict=True):
        assert arm["failed"] == 0
        n_rounds_s = answer["rounds"] * answer["pace"]["slice_s"]
        assert 0.8 * 200 * n_rounds_s < arm["n"] < server.n_requests


def test_what_cannot_be_compared_is_refused_in_words_of_the_keyboard():
    for options, words in [
        ("--exactly 3", "--exactly needs --against"),
        ("--against http://127.0.0.1:1/ --report ab", "--report is for one address"),
        ("--against http://127.0.0.1:1/ --threshold p95<3ms", "--threshold is for one address"),
        ("--against http://127.0.0.1:1/ --exactly 3 --at-most 4", "exclude each other"),
        ("--against http://127.0.0.1:1/ --stages 5:2-9", "--against: A load that only rises"),
        ("--against http://127.0.0.1:1/ --stages 5:2 --at-most 9", "The stages say when it ends"),
        ("--against http://127.0.0.1:1/ --exactly 0.2", "--exactly: write 1 to 3,600 seconds"),
        ("--against 127.0.0.1", "is not an address"),
        ("--against http://127.0.0.1:1/ --processes 2", "--processes: The load has 1 connection"),
    ]:
        done = run("http://127.0.0.1:1/", *options.split())
        assert done.returncode == 2
        assert words in done.stderr


def test_where_nothing_was_learnt_the_status_says_so():
    """Nobody listens there: not one reply."""
    with scripted(always(OK_REPLY)) as server:
        port = server.port
    url = f"http://127.0.0.1:{port}/"
    done = run(url, "--against", url, "--rate", 20, "--exactly", 1)
    assert done.returncode == 0, "that all failed is an answer"
    assert "failed" in done.stdout


@pytest.mark.parametrize("word", ["user", None])
def test_a_stop_in_the_trial_ends_it_at_once(program, word):
    with scripted(always(OK_REPLY)) as server:
        injector = program(arms_order(server.port, server.port), FORKED)
        injector.start()
        time.sleep(0.3)
        injector.say({"stop": word}) if word else injector.process.stdin.close()
        lines, status = injector.rest()
        complaints = injector.process.stderr.read()
    end = ArmsEnd.from_json(lines[-1])
    assert (status, end.outcome, end.reason) == (0, "stopped", word or "parent_gone")
    assert (end.rounds, end.arms[0].duration_us) == (0, 0)
    assert "Traceback" not in complaints
