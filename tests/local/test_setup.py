"""The set-up does each thing once, on any Python that is new enough."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from local import setup, testing
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


def test_a_step_that_fails_shows_the_end_of_its_output(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHSITE_VAR", str(tmp_path))
    with pytest.raises(LocalError, match="no such package"):
        run_logged([sys.executable, "-c", "raise SystemExit('no such package')"], "setup")


def test_what_the_machine_refuses_is_no_traceback_but_a_fault_of_the_program_is(monkeypatch):
    def refuse(number):
        def fails(*_):
            raise OSError(number, os.strerror(number), "run.lock")

        monkeypatch.setattr(setup, "ensure_venv", fails)
        return setup.run_command("run", [])

    for number in (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EEXIST, errno.ENOTDIR):
        assert refuse(number) == 1
    with pytest.raises(FileNotFoundError):
        refuse(errno.ENOENT)


@pytest.fixture
def own_venv(tmp_path, monkeypatch):
    """Stands in the place of .venv and of pip's list of its settings; with what was run in it."""
    ran, settings = [], []
    monkeypatch.setattr(setup, "VENV", tmp_path)
    monkeypatch.setattr(setup, "VENV_PYTHON", Path(sys.executable))
    monkeypatch.setattr(setup, "_UV", tmp_path / "uv")
    monkeypatch.setattr(setup, "run_logged", lambda command, *more: ran.append((command, *more)))

    def list_installed(*_command, **_options):
        return subprocess.CompletedProcess([], 0, "\n".join(settings))

    monkeypatch.setattr(setup.subprocess, "run", list_installed)
    return SimpleNamespace(folder=tmp_path, ran=ran, settings=settings)


def test_packages_are_installed_once_and_those_of_the_tests_have_all_others(own_venv):
    for requirements in ("requirements-dev.txt", "requirements-dev.txt", "requirements.txt"):
        setup.ensure_packages(requirements)
    assert [command[-1] for command, *_ in own_venv.ran] == ["requirements-dev.txt"]


def test_an_environment_that_was_only_half_made_is_made_anew(own_venv, monkeypatch):
    """As by Ctrl-C in the middle of it."""
    monkeypatch.setattr(setup.shutil, "rmtree", lambda *_, **__: None)
    for _ in range(2):
        setup.ensure_venv()
    n_commands = len(own_venv.ran)
    assert own_venv.ran[0][0][1:3] == ["-m", "venv"]
    (own_venv.folder / ".benchsite-whole").unlink()
    setup.ensure_venv()
    assert len(own_venv.ran) == 2 * n_commands


def test_pip_is_that_of_the_environment_or_its_wheel_or_the_machine_s(own_venv):
    setup.pip_install("numpy")
    (own_venv.folder / "lib/python3.11/site-packages/pip").mkdir(parents=True)
    setup.pip_install("numpy")
    (own_venv.folder / PIP_WHEEL).touch()
    setup.pip_install("numpy")
    machine_s, own, wheel = (command for command, *_ in own_venv.ran)
    assert "--python" in machine_s
    assert own[1:4] == ["-m", "pip", "install"]
    assert wheel[1].endswith(f"{PIP_WHEEL}/pip")


def test_uv_asks_the_index_that_pip_would_ask_or_is_not_used(own_venv):
    (own_venv.folder / "uv").touch()
    own_venv.settings.append("global.index-url='https://packages.example.org/simple'")
    setup.pip_install("numpy")
    own_venv.settings.append("install.no-index='true'")
    setup.pip_install("numpy")
    (by_uv, _, env), (by_pip, _) = own_venv.ran
    assert by_uv[0] == str(own_venv.folder / "uv")
    assert env["UV_DEFAULT_INDEX"] == "https://packages.example.org/simple"
    assert "pip" in by_pip


def test_pip_installs_what_uv_cannot(own_venv, monkeypatch):
    (own_venv.folder / "uv").touch()

    def refuse_uv(command, *_):
        own_venv.ran.append(command)
        if command[0].endswith("uv"):
            raise LocalError("no such wheel")

    monkeypatch.setattr(setup, "run_logged", refuse_uv)
    setup.pip_install("numpy")
    assert [command[0].endswith("uv") for command in own_venv.ran] == [True, False]


@pytest.mark.parametrize("lists_it", [True, False])
def test_a_wheel_of_pip_that_is_not_the_pinned_one_is_refused(tmp_path, monkeypatch, lists_it):
    (tmp_path / PIP_WHEEL).write_bytes(b"another")
    index = f'<a href="{tmp_path.as_uri()}/{PIP_WHEEL}#sha256=00">{PIP_WHEEL}</a>'
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "index").write_text(index if lists_it else "<html></html>")
    real = setup.urllib.request.urlopen
    monkeypatch.setattr(
        setup.urllib.request,
        "urlopen",
        lambda url, **_: real(f"{url}index" if url.endswith("/") else url),
    )
    monkeypatch.setenv("PIP_INDEX_URL", tmp_path.as_uri())
    with pytest.raises(LocalError, match="not the pinned" if lists_it else "cannot be downloaded"):
        setup._download_pip()


def test_an_old_node_is_not_taken(tmp_path, monkeypatch):
    def refuse(*_):
        raise LocalError("no such wheel")

    for name in ("node", "npm"):
        (tmp_path / name).write_text("#!/bin/sh\necho v18.20.1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(setup, "VENV", tmp_path / "venv")
    monkeypatch.setattr(setup, "pip_install", refuse)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LocalError, match=r"no such wheel\n.*install Node"):
        setup.node_dir()


def test_the_set_up_needs_nothing_but_the_standard_library():
    """-I and -S leave out site-packages: what a bare machine has."""
    code = "import sys; sys.path.insert(0, '.'); import local.__main__, local.setup"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=ROOT, check=True)


def test_each_command_of_make_is_one():
    makefile = (ROOT / "Makefile").read_text()
    for command, module in setup.COMMANDS.items():
        assert f"-m local {command}" in makefile
        assert not module or command.replace("-", "_") in (ROOT / f"local/{module}.py").read_text()
    wrong = subprocess.run([sys.executable, "-m", "local", "fly"], cwd=ROOT, capture_output=True)
    assert wrong.returncode == 2


@pytest.mark.parametrize(("lines", "files", "holds"), [(3, 2, True), (2, 2, False), (3, 1, False)])
def test_more_lines_or_files_than_the_budget_fail(tmp_path, lines, files, holds):
    (tmp_path / "pyproject.toml").write_text(
        "[tool.benchsite.budget]\n"
        f'product = {{ paths = ["site/*.py", ":!site/old"], lines = {lines}, files = {files} }}\n'
    )
    for name, text in (("a.py", "1\n2\n"), ("deep/b.py", "3\n"), ("old/c.py", "4\n")):
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in (("init", "--quiet"), ("add", "site")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert testing.is_within_budget(tmp_path) is holds


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine with apt-get alone, and what that was asked for."""
    commands = []

    def which(name, path=None):
        return str(tmp_path / name) if (tmp_path / name).exists() else None

    def run(command, *_):
        commands.append((command[-1], (tmp_path / "policy-rc.d").exists()))
        names = {package: name for name, package in testing.PROGRAMS.items()}
        (tmp_path / names.get(command[-1], command[-1])).touch()

    monkeypatch.setattr(testing.shutil, "which", which)
    monkeypatch.setattr(testing, "run_logged", run)
    monkeypatch.setattr(testing, "_POLICY", tmp_path / "policy-rc.d")
    (tmp_path / "apt-get").touch()
    return tmp_path, commands


def test_root_installs_what_tests_need_once_and_no_service_starts(bare, monkeypatch):
    folder, commands = bare
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (folder / "nginx").touch()
    for _ in range(2):
        assert testing.ensure_programs()
    packages = ("chromium-headless-shell", "apache2-bin", "apache2-utils", "httperf", "jq")
    assert commands == [("update", True), *((package, True) for package in packages)]
    assert not (folder / "policy-rc.d").exists()
    (folder / "policy-rc.d").touch()  # the machine's own stays
    (folder / "nginx").unlink()
    testing.ensure_programs()
    assert (folder / "policy-rc.d").exists()


def test_who_cannot_install_is_told_what_is_skipped(bare, monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not testing.ensure_programs()
    output = capsys.readouterr().out
    for package in ("chromium-headless-shell", "nginx", "apache2-bin"):
        assert f"Install {package} " in output
