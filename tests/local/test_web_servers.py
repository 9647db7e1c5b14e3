"""nginx and Apache for the tests: found, installed without a service, or named as missing."""

import os

import pytest

from local import browsers

SHIM = "#!/bin/sh\n"


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without either, and a folder for its programs; what apt-get was asked for."""
    asked = []
    monkeypatch.setattr(browsers.shutil, "which", lambda name, path=None: found(name))
    monkeypatch.setattr(browsers, "run_logged", lambda command, *_: run(command))
    monkeypatch.setattr(browsers, "_POLICY", tmp_path / "policy-rc.d")

    def found(name):
        return str(tmp_path / name) if (tmp_path / name).exists() else None

    def run(command):
        asked.append(command)
        if "install" in command:
            asked.append((tmp_path / "policy-rc.d").exists())
            for name, package in browsers.PACKAGES.items():
                if package in command:
                    (tmp_path / name).write_text(SHIM)

    return tmp_path, asked


def test_what_is_there_is_not_installed(bare, capsys):
    folder, asked = bare
    for name in browsers.PACKAGES:
        (folder / name).write_text(SHIM)
    browsers.ensure_web_servers()
    assert (asked, capsys.readouterr().out) == ([], "")


def test_root_installs_what_is_missing_and_no_service_starts(bare, monkeypatch, capsys):
    folder, asked = bare
    (folder / "apt-get").write_text(SHIM)
    (folder / "nginx").write_text(SHIM)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    browsers.ensure_web_servers()
    assert asked[0] == ["apt-get", "update"]
    assert asked[1][-1] == "apache2-bin"
    assert "nginx" not in asked[1]
    assert asked[2], "services were kept from starting"
    assert browsers.missing_servers() == []
    assert "SKIPPED" not in capsys.readouterr().out


def test_a_policy_that_is_there_stays(tmp_path):
    policy = tmp_path / "policy-rc.d"
    policy.write_text("mine")
    with browsers._services_stay_down(policy):
        assert policy.read_text() == "mine"
    assert policy.read_text() == "mine"


def test_without_one_services_are_kept_down_only_meanwhile(tmp_path):
    policy = tmp_path / "policy-rc.d"
    with browsers._services_stay_down(policy):
        assert "exit 101" in policy.read_text()
        assert os.access(policy, os.X_OK)
    assert not policy.exists()


def test_who_cannot_install_is_told_what_is_skipped(bare, monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    browsers.ensure_web_servers()
    said = capsys.readouterr().out
    assert "TESTS AGAINST NGINX AND APACHE2 SKIPPED" in said
    assert "Install nginx apache2-bin" in said
