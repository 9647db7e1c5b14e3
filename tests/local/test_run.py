"""One installation a checkout, ports that are said, a secret key of one's own."""

import re
import socket
import stat
from types import SimpleNamespace

import pytest

from local.base import LocalError
from local.network import Ports, free_ports, ports_from_environment, refuse_taken
from local.run import demo_target, greet, only_one
from local.site import Account, Site, secret_key_file


def test_a_second_start_in_the_same_checkout_says_that_one_is_running(tmp_path):
    with (
        only_one(tmp_path),
        pytest.raises(LocalError, match=r"already running .*process \d+"),
        only_one(tmp_path),
    ):
        pass


def test_after_the_end_another_start_is_welcome(tmp_path):
    for _ in range(2):
        with only_one(tmp_path):
            pass


def test_other_accounts_cannot_list_the_folder_of_the_installation(tmp_path):
    var = tmp_path / "var"
    with only_one(var):
        assert var.stat().st_mode & 0o777 == 0o711


def test_a_port_that_is_taken_is_told_with_the_way_out():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LocalError, match=rf"Port {port} .* BENCHSITE_PORT=\d+ make run"):
            refuse_taken(Ports(port, *free_ports_for_demo()), "make run")


def test_a_taken_port_of_the_demo_target_is_told_with_the_command_that_starts_it(
    monkeypatch, capsys
):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("BENCHSITE_DEMO_HTTP_PORT", str(port))
        assert demo_target() == 1
    told = capsys.readouterr().err
    assert re.search(r"BENCHSITE_DEMO_HTTP_PORT=\d+ make demo-target", told)


def test_a_port_that_is_given_twice_is_told_by_both_names():
    """Else the demo target would answer in the place of the site."""
    port, other = free_ports_for_demo()
    with pytest.raises(LocalError, match=rf"BENCHSITE_PORT and BENCHSITE_DEMO_.* both {port}"):
        refuse_taken(Ports(port, port, other), "make run")


def test_each_port_can_be_chosen(monkeypatch):
    monkeypatch.setenv("BENCHSITE_PORT", "8010")
    monkeypatch.setenv("BENCHSITE_DEMO_HTTPS_PORT", "9444")
    assert ports_from_environment() == Ports(8010, 8081, 9444)


@pytest.mark.parametrize("value", ["http", "0", "70000", "-1"])
def test_a_wrong_port_names_its_variable(monkeypatch, value):
    monkeypatch.setenv("BENCHSITE_PORT", value)
    with pytest.raises(LocalError, match=r"BENCHSITE_PORT=.* is not a port"):
        ports_from_environment()


def test_all_ports_stand_below_those_of_outgoing_connections():
    ports = [*vars(Ports()).values(), *vars(free_ports()).values()]
    assert max(ports) < 32_768


def test_a_password_is_told_where_it_was_made_and_not_where_it_was_given(monkeypatch, capsys):
    site, account = SimpleNamespace(url="http://127.0.0.1:8000"), Account("admin", "s3cret")
    monkeypatch.delenv("BENCHSITE_ADMIN_PASSWORD", raising=False)
    greet(site, account)
    assert "s3cret" in capsys.readouterr().out
    monkeypatch.setenv("BENCHSITE_ADMIN_PASSWORD", "s3cret")
    greet(site, account)
    assert "s3cret" not in capsys.readouterr().out


def test_the_secret_key_is_made_once_and_only_its_owner_reads_it(tmp_path):
    path = secret_key_file(tmp_path)
    first = path.read_text()
    assert len(first) >= 50
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret_key_file(tmp_path).read_text() == first


def test_an_empty_secret_key_is_made_anew(tmp_path):
    """As a full disk left it at the first start."""
    (tmp_path / "secret_key").touch()
    path = secret_key_file(tmp_path)
    assert len(path.read_text()) > 50
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("BENCHSITE_MODE='x': write local.\n", "BENCHSITE_MODE='x': write local."),
        ("A warning\nIt is full.\n", "`manage.py migrate` failed: It is full.\n    A warning\n"),
    ],
)
def test_the_first_line_of_a_failure_says_what_is_wrong(tmp_path, monkeypatch, log, words):
    site = Site(tmp_path, free_ports())

    def fails(jobs):
        jobs[0][1].write_text(log)
        return [1]

    monkeypatch.setattr(site.supervisor, "run_together", fails)
    with pytest.raises(LocalError) as failure:
        site._manage(["migrate"], env={})
    assert str(failure.value).startswith(words)


def free_ports_for_demo() -> tuple[int, int]:
    ports = free_ports()
    return ports.demo_http, ports.demo_https
