"""The set-up does each thing once, on any Python that is new enough."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from local import commands, setup
from local.base import LocalError
from local.setup import PIP_WHEEL, digest_of, is_stamped, run_logged

ROOT = Path(__file__).resolve().parent.parent.parent


def test_a_stamp_holds_until_a_file_changes(tmp_path):
    lock, stamp = tmp_path / "lock", tmp_path / "stamp"
    lock.write_text("one")
    assert not is_stamped(stamp, digest_of(lock))
    stamp.write_text(digest_of(lock))
    assert is_stamped(stamp, digest_of(lock))
    lock.write_text("two")
    assert not is_stamped(stamp, digest_of(lock))


def test_the_stamp_of_the_tests_packages_covers_the_file_that_they_include():
    names = [path.name for path in setup._files_of("requirements-dev.txt")]
    assert names == ["requirements-dev.txt", "requirements.txt"]


def test_a_step_that_fails_shows_the_end_of_its_output(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHSITE_VAR", str(tmp_path))
    with pytest.raises(LocalError, match="no such package"):
        run_logged([sys.executable, "-c", "raise SystemExit('no such package')"], "setup")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space left on device. Make room"),
        (errno.EACCES, "Permission denied. Run make as the user"),
        (errno.EROFS, "Read-only file system. Run make as the user"),
        (errno.EEXIST, "File exists. This has to be a folder"),
        (errno.ENOTDIR, "Not a directory. This has to be a folder"),
    ],
)
def test_what_the_machine_refuses_is_said_in_words(number, words, monkeypatch, capsys, tmp_path):
    def refused(*_):
        raise OSError(number, os.strerror(number), str(tmp_path / "run.lock"))

    monkeypatch.setattr(commands, "set_up", refused)
    assert commands.run_command("run", []) == 1
    assert f"{tmp_path / 'run.lock'}: {words}" in capsys.readouterr().err


def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch):
    def broken(*_):
        raise FileNotFoundError(errno.ENOENT, "No such file", "lost")

    monkeypatch.setattr(commands, "set_up", broken)
    with pytest.raises(FileNotFoundError):
        commands.run_command("run", [])


@pytest.fixture
def machines_pip(tmp_path, monkeypatch):
    """Stands in the place of pip's list of its settings."""

    def configured(listed: str) -> dict[str, str] | None:
        (tmp_path / "listed").write_text(listed)
        monkeypatch.setattr(setup, "_PIP", ["sh", "-c", f"cat {tmp_path}/listed"])
        return setup._uv_env()

    return configured


def test_uv_asks_the_index_that_pip_would_ask(machines_pip):
    env = machines_pip("global.index-url='https://packages.example.org/simple'\n")
    assert env["UV_DEFAULT_INDEX"] == "https://packages.example.org/simple"


def test_uv_is_not_used_where_it_would_not_obey_a_setting_of_pip(machines_pip):
    assert machines_pip("install.no-index='true'\n") is None


def test_pip_installs_what_uv_cannot(tmp_path, monkeypatch):
    (tmp_path / "uv").touch()
    commands_run = []

    def refuse_uv(command, *_):
        commands_run.append(command)
        if command[0] == str(tmp_path / "uv"):
            raise LocalError("no such wheel")

    monkeypatch.setattr(setup, "_UV", tmp_path / "uv")
    monkeypatch.setattr(setup, "run_logged", refuse_uv)
    monkeypatch.setattr(setup, "_install_pip", lambda: None)
    monkeypatch.setattr(setup, "_uv_env", dict)
    setup.pip_install("numpy")
    assert commands_run[-1][1:4] == ["-m", "pip", "install"]
    assert commands_run[-1][-1] == "numpy"


def test_an_environment_that_was_only_half_made_is_made_anew(tmp_path, monkeypatch):
    """As by Ctrl-C while pip was written into it."""
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    for folder in ("pip", "pip-26.3.dist-info"):
        (packages / folder).mkdir(parents=True)
    monkeypatch.setattr(setup, "VENV", tmp_path)
    monkeypatch.setattr(setup, "VENV_PYTHON", Path(sys.executable))
    (packages / "pip-26.3.dist-info" / "RECORD").touch()  # as the wheel has it
    assert not setup._venv_works()
    (packages / "pip-26.3.dist-info" / "INSTALLER").touch()
    assert setup._venv_works()


def test_the_wheel_of_pip_is_found_on_an_index_page():
    page = f'<a href="../../packages/ab/{PIP_WHEEL}#sha256=00">{PIP_WHEEL}</a>'
    assert setup._wheel_link(page) == f"../../packages/ab/{PIP_WHEEL}"


def test_an_index_without_that_wheel_is_said():
    with pytest.raises(LocalError, match=r"does not list pip-"):
        setup._wheel_link("<html></html>")


def test_an_old_node_is_not_taken(tmp_path, monkeypatch):
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\necho v18.20.1\n")
    old.chmod(0o755)
    assert setup._major(str(old)) == 18


def test_without_node_and_its_wheel_the_way_out_is_named(tmp_path, monkeypatch):
    def refused(*_):
        raise LocalError("`python -m pip install …` failed.")

    monkeypatch.setattr(setup, "VENV", tmp_path)
    monkeypatch.setattr(setup, "pip_install", refused)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LocalError, match=r"pip install …. failed.*\n.*install Node.js 20 or newer"):
        setup.node_dir()


def test_the_set_up_needs_nothing_but_the_standard_library():
    """-I and -S leave out site-packages: what a bare machine has."""
    code = "import sys; sys.path.insert(0, '.'); import local.__main__, local.commands, local.setup"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=ROOT, check=True)


def test_a_wrong_command_is_answered_with_the_right_ones():
    done = subprocess.run(
        [sys.executable, "-m", "local", "fly"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "setup|run|test|test-fast|check" in done.stderr


def test_make_without_a_target_says_what_there_is():
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("run", "test", "check", "demo-target", "benchmark"):
        assert f"make {target} " in done.stdout


def test_without_pip_and_without_an_index_the_ways_out_are_named(monkeypatch):
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    with pytest.raises(LocalError, match="apt-get install python3-venv"):
        setup._download_pip()
