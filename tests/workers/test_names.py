"""The dispatcher's look-up of host names, and the addresses of its own machine."""

import socket
import threading

import pytest

from campaigns.models import Run
from tests.factories import make_endpoint, make_target
from tests.services.engine import host, started
from tests.waiting import eventually
from tests.workers.test_dispatcher import Running
from workers import side_threads
from workers.dialling import addresses_of, own_addresses
from workers.side_threads import NamesThread


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """The names that were asked for; all stand for one machine with two addresses."""
    asked = []
    monkeypatch.setattr(
        side_threads,
        "addresses_of",
        lambda host, port: asked.append(host) or ["10.0.0.5", "fd00::5"],
    )
    return asked


def on(project, name: str):
    return started(project, endpoint=make_endpoint(make_target(project), host=name))


def test_a_name_is_asked_for_once_in_a_while(db, project, asked):
    run = on(project, "shop.example").runs.get()
    on(project, "10.0.0.9")
    thread = NamesThread(threading.Event(), is_active=lambda: True)
    thread.act()
    thread.act()
    run.refresh_from_db()
    assert asked == ["shop.example"]
    assert run.machines == ["10.0.0.5", "fd00::5"]


def test_a_name_is_asked_for_again_while_its_run_waits(db, project, asked, monkeypatch):
    on(project, "shop.example")
    monkeypatch.setattr(side_threads, "NAMES_AGAIN_AFTER_S", 0.0)
    thread = NamesThread(threading.Event(), is_active=lambda: True)
    thread.act()
    thread.act()
    assert asked == ["shop.example"] * 2


@pytest.mark.django_db(transaction=True)
def test_two_names_of_one_machine_are_measured_one_after_the_other(project, asked):
    host(slots=4)
    on(project, "shop.example"), on(project, "www.example")
    with Running():
        admitted = Run.objects.filter(state="preparing")
        eventually(admitted.exists, 5, "a run is admitted")
        eventually(lambda: len(asked) == 2, 5, "both names are looked up")
        assert admitted.count() == 1


def test_an_unknown_name_has_no_address(monkeypatch):
    def unknown(*_args, **_kwargs):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert addresses_of("nowhere.invalid", 80) == []


def test_a_name_has_all_of_its_addresses(monkeypatch):
    found = [(2, 1, 6, "", ("10.0.0.5", 80)), (10, 1, 6, "", ("fd00::5", 80, 0, 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_kwargs: found)
    assert addresses_of("shop.example", 80) == ["10.0.0.5", "fd00::5"]


TRIE = """Local:
  +-- 0.0.0.0/0 3 0 5
     |-- 10.0.0.0
        /24 link UNICAST
     |-- 10.0.0.7
        /32 host LOCAL
     |-- 10.0.0.255
        /32 link BROADCAST
     |-- 127.0.0.1
        /32 host LOCAL
"""


def test_it_reads_the_addresses_that_the_kernel_calls_local(tmp_path):
    ipv4, ipv6 = tmp_path / "fib_trie", tmp_path / "if_inet6"
    ipv4.write_text(TRIE)
    ipv6.write_text("fd000000000000000000000000000007 02 40 00 80 eth0\n")
    assert own_addresses(ipv4, ipv6) == ["10.0.0.7", "127.0.0.1", "fd00::7"]


def test_a_machine_that_tells_nothing_has_no_known_address(tmp_path):
    assert own_addresses(tmp_path / "none", tmp_path / "none") == []


def test_this_machine_has_a_loopback_address():
    assert "127.0.0.1" in own_addresses()
