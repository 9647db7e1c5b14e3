"""One installation a checkout, ports that are said, a secret key of one's own."""

import socket
import stat

import pytest

from local.base import LocalError
from local.run import demo_target, greet, only_one
from local.site import (
    NETWORKS,
    VARIABLES,
    Ports,
    Site,
    confirm_networks,
    free_ports,
    own_networks,
    ports_for,
    run_or_fail,
    secret_key_file,
)
from local.supervisor import Program

FREE = free_ports()


@pytest.fixture(autouse=True)
def _ports(monkeypatch):
    for name, variable in VARIABLES.items():
        monkeypatch.setenv(variable, str(getattr(FREE, name)))


def test_one_start_at_a_time_in_a_checkout(tmp_path):
    for _ in range(2):
        with (
            only_one(tmp_path),
            pytest.raises(LocalError, match=r"already running .*process \d+"),
            only_one(tmp_path),
        ):
            pass


def test_other_accounts_cannot_list_the_folder_of_the_installation(tmp_path):
    var = tmp_path / "var"
    with only_one(var):
        assert var.stat().st_mode & 0o777 == 0o711


def test_each_port_can_be_chosen(monkeypatch):
    assert ports_for("make run") == FREE
    for variable in VARIABLES.values():
        monkeypatch.delenv(variable)
    monkeypatch.setattr("local.site.is_free", bool)
    assert ports_for("make run") == Ports(8000, 8081, 8444)


def test_a_port_that_is_taken_is_told_with_the_way_out(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        monkeypatch.setenv("BENCHSITE_PORT", str(port))
        with pytest.raises(LocalError, match=rf"Port {port} .* BENCHSITE_PORT=\d+ make run"):
            ports_for("make run")
        monkeypatch.setenv("BENCHSITE_DEMO_HTTP_PORT", str(port))
        with pytest.raises(LocalError, match=r"BENCHSITE_DEMO_HTTP_PORT=\d+ make demo-target"):
            demo_target()


def test_a_port_that_is_given_twice_is_refused(monkeypatch):
    """Else the demo target would answer in the place of the site."""
    monkeypatch.setenv("BENCHSITE_DEMO_HTTPS_PORT", str(FREE.web))
    with pytest.raises(LocalError, match=rf"{FREE.web} .* BENCHSITE_DEMO_HTTPS_PORT="):
        ports_for("make run")


@pytest.mark.parametrize("value", ["http", "0", "70000", "-1"])
def test_a_wrong_port_names_its_variable(monkeypatch, value):
    monkeypatch.setenv("BENCHSITE_PORT", value)
    with pytest.raises(LocalError, match=r"BENCHSITE_PORT=.* is not a port"):
        ports_for("make run")


def test_all_ports_stand_below_those_of_outgoing_connections():
    assert max(*vars(Ports()).values(), *vars(free_ports()).values()) < 32_768


def test_a_password_is_told_where_it_was_made_and_not_where_it_was_given(monkeypatch, capsys):
    monkeypatch.delenv("BENCHSITE_ADMIN_PASSWORD", raising=False)
    greet("http://127.0.0.1:8000", "admin", "s3cret")
    assert "s3cret" in capsys.readouterr().out
    monkeypatch.setenv("BENCHSITE_ADMIN_PASSWORD", "s3cret")
    greet("http://127.0.0.1:8000", "admin", "s3cret")
    assert "s3cret" not in capsys.readouterr().out


@pytest.mark.parametrize("left_empty", [False, True])
def test_the_secret_key_is_made_once_and_only_its_owner_reads_it(tmp_path, left_empty):
    """A full disk may have left an empty one at the first start."""
    if left_empty:
        (tmp_path / "secret_key").touch()
    path = secret_key_file(tmp_path)
    first = path.read_text()
    assert len(first) >= 50
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret_key_file(tmp_path).read_text() == first
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("log", "first_line"),
    [
        ("BENCHSITE_MODE='x'\n", "BENCHSITE_MODE='x'"),
        ("A warning\nFull.\n", "migrate failed: Full."),
    ],
)
def test_the_first_line_of_a_failure_says_what_is_wrong(tmp_path, monkeypatch, log, first_line):
    supervisor = Site(tmp_path, FREE).supervisor

    def fails(jobs):
        jobs[0][1].write_text(log)
        return [1]

    monkeypatch.setattr(supervisor, "run_together", fails)
    with pytest.raises(LocalError) as failure:
        run_or_fail(supervisor, Program("migrate", ()))
    assert str(failure.value).splitlines()[0] == first_line


HEAD = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
ROUTES = HEAD + (
    "eth0 00000000 0101A8C0 0003 0 0 0 00000000 0 0 0\n"  # the default route
    "eth0 0001A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
    "tun0 0000020A 00000000 0001 0 0 0 0000FFFF 0 0 0\n"
    "eth0 0000000A 0101A8C0 0003 0 0 0 000000FF 0 0 0\n"  # behind a router
    "eth1 00020408 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"  # public
    "eth2 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"  # 192.0.2.0/24, for documentation
    "eth3 0000FEA9 00000000 0001 0 0 0 0000FFFF 0 0 0\n"  # 169.254.0.0/16, link-local
)


@pytest.fixture
def routes(tmp_path, monkeypatch):
    monkeypatch.delenv(NETWORKS, raising=False)
    path = tmp_path / "route"
    path.write_text(ROUTES)
    return path


def never(question: str) -> str:
    raise AssertionError(question)


def allowed_networks(var) -> str:
    file = var / "networks"
    return file.read_text().strip() if file.exists() else ""


def test_its_own_networks_are_the_private_ones_that_need_no_router(routes, tmp_path):
    assert own_networks(routes) == ["10.2.0.0/16", "192.168.1.0/24"]
    assert own_networks(tmp_path / "missing") == []


@pytest.mark.parametrize(
    ("answer", "networks"),
    [
        ("y", "127.0.0.0/8 ::1/128 10.2.0.0/16 192.168.1.0/24"),
        ("no", "127.0.0.0/8 ::1/128"),
        ("", "127.0.0.0/8 ::1/128"),
    ],
)
def test_somebody_at_a_terminal_is_asked_once(routes, tmp_path, answer, networks):
    questions = []
    confirm_networks(tmp_path, lambda question: questions.append(question) or answer, routes)
    confirm_networks(tmp_path, never, routes)
    assert "10.2.0.0/16 192.168.1.0/24" in questions[0]
    assert allowed_networks(tmp_path) == networks


def test_without_a_terminal_nobody_is_asked_and_told_how(routes, tmp_path, capsys):
    confirm_networks(tmp_path, routes=routes)
    assert allowed_networks(tmp_path) == ""
    assert f"{NETWORKS}=" in capsys.readouterr().out


def test_who_has_set_the_networks_is_not_asked(routes, tmp_path, monkeypatch):
    monkeypatch.setenv(NETWORKS, "10.0.0.0/8")
    confirm_networks(tmp_path, never, routes)
    assert allowed_networks(tmp_path) == ""
