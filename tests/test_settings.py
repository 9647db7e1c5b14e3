"""The settings, .env.example and what reads the environment agree; a wrong value is named."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.apps import apps

from benchsite.env import WrongSetting

ROOT = Path(__file__).resolve().parent.parent
READERS = ("benchsite", "local", "campaigns", "workers")
NAME = re.compile(r'"(BENCHSITE_[A-Z_]+|DATABASE_URL|REDIS_URL)"')
# Compose itself reads these two, for the servers that it starts.
ONLY_COMPOSE = {"POSTGRES_PASSWORD", "REDIS_PASSWORD"}
SERVER = {
    "BENCHSITE_MODE": "server",
    "BENCHSITE_HOSTS": "bench.example.org",
    "BENCHSITE_URL": "https://bench.example.org",
    "BENCHSITE_SECRET_KEY": "k4Jx0q-9mZp_3vTn7LwYc2RbD8sHfUeAg5iKo1XyWt6QzMrNjP",
}


def names_read() -> set[str]:
    files = [path for folder in READERS for path in (ROOT / folder).rglob("*.py")]
    names = {name for path in files for name in NAME.findall(path.read_text())}
    # A secret's file is the secret's other spelling.
    return {name.removesuffix("_FILE") for name in names}


def names_documented() -> set[str]:
    text = (ROOT / ".env.example").read_text()
    of_site = set(re.findall(r"^([A-Z_]+)=", text, re.MULTILINE)) - ONLY_COMPOSE
    return of_site | set(re.findall(r"`(BENCHSITE_[A-Z_]+)`", (ROOT / "docs/agent.md").read_text()))


def with_these(environment: dict[str, str]) -> dict[str, str]:
    """The environment with these variables of ours and no others."""
    others = {
        name: value for name, value in os.environ.items() if not name.startswith("BENCHSITE_")
    }
    return {**others, "BENCHSITE_SECRET_KEY": "of-this-test", **environment}


def settings(**environment: str) -> dict[str, Any]:
    """All settings by name, read in this environment as at a start, but in this process."""
    with mock.patch.dict(os.environ, with_these(environment), clear=True):
        return runpy.run_path(str(ROOT / "benchsite" / "settings.py"))


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """A Python of its own with these arguments, after its end."""
    command = [sys.executable, *arguments]
    env = with_these(environment)
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_every_variable_that_is_read_is_documented():
    assert names_read() - names_documented() == set()


def test_every_variable_that_is_documented_is_read():
    assert names_documented() - names_read() == set()


def test_a_wrong_value_is_answered_with_the_name_of_its_variable():
    for name, value in [
        ("BENCHSITE_MODE", "production"),
        ("BENCHSITE_DB_POOL", "many"),
        ("BENCHSITE_DB_ANSWER_S", "0"),
        ("BENCHSITE_DB_POOL", "0"),
        ("BENCHSITE_INJECTOR_SLOTS", "2.5"),
        ("BENCHSITE_INJECTOR_SLOTS", "0"),
        ("BENCHSITE_WEB_WORKERS", "0"),
        ("BENCHSITE_KEEP_SECONDS_DAYS", "-5"),
        ("BENCHSITE_KEEP_SECONDS_DAYS", "1000000"),
        ("BENCHSITE_PROOF_DAYS", "-1"),
        ("BENCHSITE_CAP_RUNS", "-1"),
        ("BENCHSITE_CAP_SLOT_PERCENT", "200"),
        ("BENCHSITE_BIND", "8000"),
        ("BENCHSITE_HOSTS", "https://bench.example.org"),
        ("BENCHSITE_HOSTS", "localhost bench.example.org:8443"),
        ("BENCHSITE_URL", "bench.example.org"),
        ("BENCHSITE_URL", "https://bench.example.org/path"),
        ("BENCHSITE_ALLOWED_NETWORKS", "10.0.0.0/8 300.0.0.0/8"),
        ("BENCHSITE_ALLOWED_NETWORKS", "10.0.0.0/8:0"),
        ("BENCHSITE_ALLOWED_NETWORKS", "10.0.0.0/8:90-80"),
        ("BENCHSITE_ALLOWED_NETWORKS", "10.0.0.0/8:http"),
        ("BENCHSITE_NOTIFY_NETWORKS", "intranet"),
        ("BENCHSITE_OIDC_ISSUER", "sso.example.org"),
        ("BENCHSITE_OIDC_ISSUER", "https://sso.example.org"),  # without what it gives a client
        ("BENCHSITE_SMTP", "mail.example.org"),
        ("BENCHSITE_SMTP", "http://mail.example.org"),
        ("BENCHSITE_SMTP", "smtps://:secret@"),
        ("BENCHSITE_REFERENCE_TARGET", "127.0.0.1:8081"),
        ("BENCHSITE_REFERENCE_TARGET", "http://127.0.0.1:8081/path"),
        ("BENCHSITE_LOG_LEVEL", "loud"),
        ("BENCHSITE_JUDGEMENT_LIMITS", "cpu: 0.7"),
        ("BENCHSITE_JUDGEMENT_LIMITS", '{"cpu": 0.7}'),
        ("BENCHSITE_JUDGEMENT_LIMITS", '{"cpu": ["0.7", "0.9"]}'),
        ("BENCHSITE_SECRET_KEY_FILE", "/nowhere/key"),
        ("DATABASE_URL", "nonsense"),
        ("DATABASE_URL", "mysql://benchsite@127.0.0.1/benchsite"),
        ("DATABASE_URL", ""),
        ("REDIS_URL", ""),
        ("REDIS_URL", "nonsense"),
        ("REDIS_URL", "redis://localhost:port"),
        ("BENCHSITE_SECRET_KEY", ""),
    ]:
        with pytest.raises(WrongSetting, match=rf"^{name}\b"):
            settings(**{name: value})


@pytest.mark.parametrize(
    "process",
    [
        "manage.py migrate",
        pytest.param("-m celery -A benchsite worker", marks=pytest.mark.long),
        pytest.param("-m gunicorn -c benchsite/gunicorn.py benchsite.wsgi", marks=pytest.mark.long),
        pytest.param("-m workers.dispatcher", marks=pytest.mark.long),
    ],
)
def test_a_process_ends_at_a_wrong_value_and_says_only_what_to_write(process):
    done = run_python(*process.split(), BENCHSITE_MODE="production")
    assert done.returncode == 1
    assert done.stderr == "BENCHSITE_MODE='production': write one of local, server.\n"


def test_a_server_does_not_start_with_a_guessable_secret_or_without_a_border():
    for name, value, words in [
        ("BENCHSITE_SECRET_KEY", "x", "is too weak for a server"),
        ("BENCHSITE_SECRET_KEY", "x" * 50, "is too weak for a server"),
        ("BENCHSITE_TOKEN_PEPPER", "pepper", "is too weak for a server"),
        ("BENCHSITE_VAULT_KEYS", "one two", "is too weak for a server"),
        ("BENCHSITE_ALLOWED_NETWORKS", "10.0.0.0/8 0.0.0.0/0", "0.0.0.0/0 allows load to every"),
        ("BENCHSITE_ALLOWED_NETWORKS", "::/0", "::/0 allows load to every"),
        ("BENCHSITE_ALLOWED_NETWORKS", "0.0.0.0/0:443", "0.0.0.0/0:443 allows load to every"),
    ]:
        with pytest.raises(WrongSetting, match=rf"^{name}\b.*{re.escape(words)}"):
            settings(**SERVER | {name: value})


def test_a_command_without_postgresql_ends_with_a_sentence():
    done = run_python("manage.py", "migrate", DATABASE_URL="postgres://x@127.0.0.1:1/y")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(
        "PostgreSQL did not answer or refused, see DATABASE_URL"
    )


def test_a_limit_of_no_criterion_is_answered_at_the_start(settings):
    settings.JUDGEMENT_LIMITS = {"gpu": (0.7, 0.9)}
    with pytest.raises(SystemExit, match="BENCHSITE_JUDGEMENT_LIMITS has unknown codes: gpu"):
        apps.get_app_config("campaigns").ready()


def test_a_server_binds_its_own_name_to_https_and_no_other_until_told_to():
    names = ("SECURE_HSTS_SECONDS", "SECURE_HSTS_INCLUDE_SUBDOMAINS", "SECURE_HSTS_PRELOAD")
    values = settings(**SERVER)
    assert [values[name] for name in names] == [31_536_000, False, False]
    choice = {"BENCHSITE_HSTS_S": "0", "BENCHSITE_HSTS_SUBDOMAINS": "1"}
    values = settings(**SERVER, **choice, BENCHSITE_HSTS_PRELOAD="1")
    assert [values[name] for name in names] == [0, True, True]
    assert settings()["SECURE_HSTS_SECONDS"] == 0


def test_an_empty_variable_counts_as_not_set():
    read = settings(BENCHSITE_VAR="", BENCHSITE_ALLOWED_NETWORKS="")
    assert read["VAR_DIR"].name == "var"
    assert "127.0.0.0/8" in read["ALLOWED_NETWORKS"]


def test_a_secret_can_come_from_a_file(tmp_path):
    (tmp_path / "key").write_text("from the file\n")
    read = settings(BENCHSITE_SECRET_KEY_FILE=str(tmp_path / "key"))
    assert read["SECRET_KEY"] == "from the file"


def test_one_s_own_machine_and_no_other_may_be_measured_without_any_setting():
    assert settings()["ALLOWED_NETWORKS"] == ["127.0.0.0/8", "::1/128"]


def test_a_server_allows_no_network_until_its_settings_list_some():
    assert settings(**SERVER)["ALLOWED_NETWORKS"] == []
    networks = "10.1.0.0/16 10.2.0.0/16:8000-8999 [fc00::/7]:443"
    values = settings(**SERVER, BENCHSITE_ALLOWED_NETWORKS=networks)
    assert values["ALLOWED_NETWORKS"] == networks.split()


def test_a_server_believes_a_proxy_of_its_machine_and_a_workstation_nobody():
    assert settings(**SERVER)["TRUSTED_PROXIES"] == ["127.0.0.1"]
    assert settings()["TRUSTED_PROXIES"] == []
    values = settings(BENCHSITE_TRUSTED_PROXIES="127.0.0.1 10.0.0.0/24")
    assert values["TRUSTED_PROXIES"] == ["127.0.0.1", "10.0.0.0/24"]


def test_a_project_of_a_server_gets_a_share_of_the_hosts_and_one_of_a_workstation_all():
    assert settings(**SERVER)["CAPS"]["SLOT_PERCENT"] == 75
    assert settings()["CAPS"]["SLOT_PERCENT"] == 0
