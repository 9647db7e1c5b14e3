"""What is said before the first packet of what this machine may run short of."""

import pytest

from tests.injector.servers import OK_REPLY, always, make_order, scripted
from workers.injector import machine, preflight
from workers.injector.local_run import run_here
from workers.injector.order import Order
from workers.injector.preflight import find_capacity

pytestmark = pytest.mark.pure

FAR, LOCAL = ["10.0.0.5"], ["127.0.0.1"]


@pytest.fixture(autouse=True)
def machine_of(monkeypatch):
    """A machine of 28,232 ports that reuses none, and a process of 1,024 files."""

    def set_up(ports=28_232, reuse=0, files=1024, clock="tsc"):
        monkeypatch.setattr(machine, "count_ephemeral_ports", lambda: ports)
        monkeypatch.setattr(machine, "time_wait_reuse", lambda: reuse)
        monkeypatch.setattr(machine, "clock_source", lambda: clock)
        monkeypatch.setattr(preflight, "raise_descriptor_limit", lambda: files)

    set_up()
    return set_up


def warnings(addresses=FAR, **given):
    return find_capacity(Order.from_json(make_order(80, **given)), addresses).warnings


def opened(rate_per_s=500, duration_s=300, **more):
    return {"model": "open", "rate_per_s": rate_per_s, "duration_s": duration_s, **more}


def short(**more):
    return opened(max_in_flight=100, **more)


def test_more_new_connections_than_a_minute_has_ports_are_a_warning_with_the_numbers():
    (text,) = warnings(mode="new", load=short())
    for number in ("500 new connections per second", "30,000 ports", "28,232", "471 per second"):
        assert number in text


@pytest.mark.parametrize(
    "given",
    [
        {"mode": "new", "load": short(rate_per_s=470)},
        {"mode": "new", "load": short(duration_s=50)},
        {"mode": "keep-alive", "load": short()},
        {"mode": "new", "load": short(), "shard": {"index": 0, "count": 2}},
        {"mode": "new", "load": {"model": "closed", "connections": 50, "requests": 100_000}},
    ],
)
def test_what_fits_is_not_warned_of(given):
    assert warnings(**given) == ()


def test_connections_that_arrive_are_new_ones_however_they_are_kept():
    load = short(arrival_unit="connection")
    assert len(warnings(mode="keep-alive", load=load)) == 1


@pytest.mark.parametrize(
    ("reuse", "addresses", "n_warnings"),
    [(1, FAR, 0), (2, FAR, 1), (2, LOCAL, 0), (0, LOCAL, 1), (2, [*LOCAL, *FAR], 1)],
)
def test_a_kernel_that_reuses_ports_needs_fewer(machine_of, reuse, addresses, n_warnings):
    machine_of(reuse=reuse)
    assert len(warnings(addresses, mode="new", load=short())) == n_warnings


def test_reused_ports_run_out_as_well(machine_of):
    machine_of(reuse=1)
    (text,) = warnings(mode="new", load=short(rate_per_s=30_000))
    assert "stays in use for 1 s" in text


def test_more_in_flight_than_open_files_are_a_warning_with_the_numbers():
    (text,) = warnings(load=opened(max_in_flight=10_000))
    for number in ("1,000 requests in flight", "1,064 open files", "1,024", "beyond 960"):
        assert number in text


@pytest.mark.parametrize(
    ("clock", "n_warnings"), [("tsc", 0), ("kvm-clock", 0), ("", 0), ("acpi_pm", 1), ("hpet", 1)]
)
def test_a_clock_that_is_slow_to_read_is_a_warning(machine_of, clock, n_warnings):
    machine_of(clock=clock)
    found = warnings(load=short(rate_per_s=10, duration_s=1))
    assert len(found) == n_warnings
    assert all(clock in text for text in found)


def test_what_can_never_be_in_flight_needs_no_files():
    assert warnings(load=opened(rate_per_s=400, max_in_flight=10_000)) == ()


@pytest.mark.sockets
def test_the_warnings_are_in_the_end_line_and_in_front_of_the_verdict(machine_of, capsys):
    machine_of(ports=20)
    load = {"model": "open", "rate_per_s": 50, "requests": 50, "max_in_flight": 5}
    with scripted(always(OK_REPLY)) as server:
        order = make_order(server.port, mode="new", load=load)
        result = run_here(order, lambda second: None)
    (text,) = result.ends[0].warnings
    assert "This machine has 20" in text
    assert text in capsys.readouterr().err
    assert result.to_json()["warnings"] == [text]
    report = result.report("plain", order)
    assert report.index(text) < report.index("Measurement:")


def test_sessions_need_the_ports_of_all_their_connections():
    load = short(rate_per_s=200, arrival_unit="session")
    session = {"calls_per_session": 6, "burst_length": 3, "connections_per_session": 3}
    (text,) = warnings(mode="keep-alive", load=load, plan={"session": session})
    assert "600 new connections per second" in text
    assert warnings(mode="keep-alive", load=load, plan={"session": {"calls_per_session": 6}}) == ()
