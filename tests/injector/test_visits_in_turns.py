"""Sessions and connections that arrive in turns: whole visits, and rounds that have all of them."""

import pytest

from campaigns.domain.analysis.ratio import Word
from campaigns.domain.metrics.injector_end import ArmsEnd, ArmsRound
from campaigns.domain.metrics.snapshot import Second, total_of
from tests.injector.servers import OK_REPLY, after, scripted
from tests.injector.test_side_by_side import arms_order, arms_run, play

pytestmark = pytest.mark.long

LOAD = {"model": "open", "rate_per_s": 50, "duration_s": 60}
SESSIONS = {"load": LOAD | {"arrival_unit": "session"},
            "plan": {"session": {"calls_per_session": 3}}}  # fmt: skip
CONNECTIONS = {"load": LOAD | {"arrival_unit": "connection"},
               "plan": {"session": {"calls_per_connection": 3}}}  # fmt: skip


@pytest.mark.parametrize("visits", [SESSIONS, CONNECTIONS], ids=["sessions", "connections"])
def test_each_arm_has_a_ledger_of_whole_visits(program, visits):
    turns = {"slice_s": 0.2, "may_lower_rate": False, "limit_s": 3}
    with scripted(after(0.002)) as one, scripted(after(0.006)) as other:
        _, lines = play(arms_order(one.port, other.port, **visits, **turns), program)
    [line] = lines["end"]
    end = ArmsEnd.from_json(line)
    rounds = [ArmsRound.from_json(each) for each in lines["round"]]
    assert [each.number for each in rounds] == list(range(end.rounds))
    for number, server in enumerate((one, other)):
        seconds = [Second.from_json(each) for each in lines["second"] if each["arm"] == number]
        total, in_time = total_of(seconds), total_of(each for each in seconds if each.second >= 0)
        assert total.counters == end.arms[number].totals
        assert total.count("ok") == server.n_requests == 3 * server.n_connections
        assert sum(each.arms[number].n for each in rounds) == in_time.count("ok")
        if visits is SESSIONS:
            n_sessions = server.n_connections
            assert total.count("sessions_started") == total.count("sessions_ok") == n_sessions
            assert total.timing("session").n == n_sessions
            assert end.arms[number].sessions_in_flight == 0


def test_equal_servers_are_not_told_apart_and_a_slower_one_is():
    with scripted(after(0.003)) as one, scripted(after(0.003)) as other:
        [answer] = arms_run(one.port, other.port, limit_s=5, **SESSIONS).comparisons
    with scripted(after(0.003)) as one, scripted(after(0.006)) as other:
        # Until it is settled: as long as a busy machine takes.
        run = arms_run(one.port, other.port, limit_s=60, until_settled=True, **SESSIONS)
    assert answer.word not in {Word.SLOWER, Word.FASTER}
    assert run.comparisons[0].word == Word.SLOWER


def test_a_visit_that_is_cut_short_does_not_hold_its_round_up(short_trial):
    """The calls after a failure are never made, so nobody can wait for their number."""

    def refusing(sock, server):
        while server.read_request(sock) is not None:
            is_refused = server.n_requests % 20 == 0
            sock.sendall(OK_REPLY.replace(b"200", b"503") if is_refused else OK_REPLY)

    with scripted(refusing) as one, scripted(refusing) as other:
        run = arms_run(one.port, other.port, limit_s=3, slice_s=0.2, **SESSIONS)
    n_skipped = [arm.totals["calls_skipped"] for arm in run.end.arms]
    assert min(n_skipped) > 0
    assert [each.number for each in run.rounds] == list(range(7)), "0.4 s each"
