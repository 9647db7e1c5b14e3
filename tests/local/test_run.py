"""One installation a checkout, ports that are said, a secret key of one's own."""

import socket
import stat

import pytest

from local.base import LocalError
from local.run import demo_target, greet, only_one
from local.site import VARIABLES, Ports, Site, free_ports, ports_for, run_or_fail, secret_key_file
from local.supervisor import Program

FREE = free_ports()


@pytest.fixture(autouse=True)
def chosen(monkeypatch):
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
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
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
