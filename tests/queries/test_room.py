"""What the injectors that answer may run short of, and how much is stored."""

from types import SimpleNamespace

import pytest

from campaigns.domain.plan.estimates import LOCAL_PORTS, estimate_campaign
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.queries.resource_limits import Room, room_checks, room_of

AMPLE = Room(ports=60_000, open_files=20_000, reuses_ports=False)


def host(is_alive=True, **facts):
    return SimpleNamespace(is_alive=is_alive, facts=facts)


def texts(room=AMPLE, repeats=1, mode=ConnectionMode.NEW, **load):
    usual = {"model": "open", "rate_per_s": 500, "duration_s": 60}
    plan = Plan.from_json({"steps": [{"method": "GET", "path": "/"}], "load": usual | load})
    estimate = estimate_campaign([(plan, mode, 1)], repeats=repeats, pause_s=0)
    return [check.text for check in room_checks(estimate, room)]


def test_the_least_of_the_hosts_that_answer_counts():
    hosts = [
        host(local_ports="32768 60999", open_files=1024, time_wait_reuse="1"),
        host(local_ports="1024\t65535", open_files=20_000, time_wait_reuse="1"),
        host(is_alive=False, local_ports="1 2", open_files=3, time_wait_reuse="0"),
    ]
    assert room_of(hosts) == Room(28_232, 1024, reuses_ports=True)


@pytest.mark.parametrize("facts", [{}, {"local_ports": "", "open_files": -1}, {"local_ports": "x"}])
def test_a_host_that_says_nothing_has_what_is_usual(facts):
    assert room_of([host(**facts)]) == Room(LOCAL_PORTS, None, reuses_ports=False)


def test_what_fits_is_no_check():
    assert texts() == []


def test_too_many_new_connections_for_the_ports_of_a_minute():
    (text,) = texts(Room(20_000, None, reuses_ports=False))
    assert "30,000 local ports" in text
    assert "has 20,000" in text
    assert "2 times as many injector hosts" in text


@pytest.mark.parametrize(
    ("room", "mode"),
    [
        (Room(20_000, None, reuses_ports=True), ConnectionMode.NEW),
        (Room(20_000, None, reuses_ports=False), ConnectionMode.KEEP_ALIVE),
    ],
)
def test_ports_that_are_used_again_suffice(room, mode):
    assert texts(room, mode=mode) == []


def test_too_many_open_files():
    (text,) = texts(Room(60_000, 4096, reuses_ports=False))
    assert "10,064 open files, but its limit is 4,096" in text


def test_more_rows_than_pages_can_bear():
    (text,) = texts(repeats=30, rate_per_s=1, duration_s=40_000)
    assert "1,200,000 rows, about 2 GB" in text
