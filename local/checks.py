"""`make check`: style, imports, templates, settings, migrations, the API's schema, JavaScript, the
compose file, and how much of everything there is.
"""

import json
import os
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from local.base import ROOT, LocalError, fail, say, step
from local.network import LOOPBACK, free_ports
from local.servers import throw_away_servers
from local.site import make_tables, programs, run_or_fail
from local.supervisor import Program, StopRequested

# A server's settings as in docker-compose.yml; nothing connects with them.
SERVER_SETTINGS = {
    "BENCHSITE_MODE": "server",
    "BENCHSITE_HOSTS": "bench.example.org",
    "BENCHSITE_URL": "https://bench.example.org",
}
MANAGE = (sys.executable, "-W", "error", "manage.py")
# node takes one file at a time.
JAVASCRIPT = 'find static/js tests/js -name "*.*js" | xargs -n 1 node --check'
CHECKS: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    ("ruff check", (sys.executable, "-m", "ruff", "check", "--output-format=concise", "."), {}),
    ("ruff format", (sys.executable, "-m", "ruff", "format", "--check", "--quiet", "."), {}),
    ("imports", ("lint-imports", "--no-logo", "--no-cache"), {}),
    ("templates", ("djlint", "templates", "--lint", "--quiet"), {}),
    ("manage.py check", (*MANAGE, "check", "--fail-level", "WARNING"), {}),
    (
        "manage.py check --deploy",
        (*MANAGE, "check", "--deploy", "--fail-level", "WARNING"),
        SERVER_SETTINGS,
    ),
    (
        "the API's schema",
        (*MANAGE, "spectacular", "--validate", "--fail-on-warn", "--file", os.devnull),
        {},
    ),
    ("no missing migration", (*MANAGE, "makemigrations", "--check", "--dry-run"), {}),
    ("JavaScript", ("sh", "-c", JAVASCRIPT), {}),
    (
        "docker-compose.yml",
        (
            *(sys.executable, "-m", "check_jsonschema"),
            *("--builtin-schema", "vendor.compose-spec", "docker-compose.yml"),
        ),
        {},
    ),
)


def check(_arguments: Sequence[str] = ()) -> int:
    """0 if every check passes without a warning; prints the whole output of those that fail."""
    try:
        with throw_away_servers() as (_supervisor, env):
            failed = [
                name
                for name, command, extra in CHECKS
                if not _holds(name, command, {**env, **extra})
            ]
    except LocalError as error:
        return fail(str(error))
    return 0 if is_within_budget(ROOT) and not failed else 1


def is_within_budget(checkout: Path) -> bool:
    """Print lines and files of each part beside the most that pyproject.toml allows."""
    holds = True
    settings = tomllib.loads((checkout / "pyproject.toml").read_text())["tool"]["benchsite"]
    for part, most in settings["budget"].items():
        listing = ("git", "ls-files", "-z", "--deduplicate", *most["paths"])
        names = subprocess.run(listing, cwd=checkout, capture_output=True, text=True, check=True)
        paths = [checkout / name for name in names.stdout.split("\0")[:-1]]
        files = [path.read_bytes() for path in paths if path.exists()]
        lines = sum(content.count(b"\n") for content in files)
        fits = lines <= most["lines"] and len(files) <= most["files"]
        holds &= fits
        say(
            f"  {part}: {lines:,} of {most['lines']:,} lines, {len(files)} of {most['files']} files"
            f"{'' if fits else ': FAILED'}"
        )
    return holds


def _holds(name: str, command: tuple[str, ...], env: dict[str, str]) -> bool:
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    holds = done.returncode == 0 and not done.stderr
    say(f"  {name}: {'ok' if holds else 'FAILED'}")
    if not holds:
        say(done.stdout + done.stderr)
    return holds


READY_S = 180.0
# The first description of the API takes a crowded machine more than Schemathesis's own 10 s.
ANSWER_S = 60.0
SCHEMA = "/api/v1/schema/"
# Plans have rules between their fields that no schema can say. tests/test_access_of_rest.py asks at
# each address without a live token: more than a few wrong ones a minute are throttled.
NOT_CHECKED = "positive_data_acceptance,ignored_auth"
# Random cases for each operation, beside those of the edges of its schema.
OPTIONS = ("--max-examples", "8", "--exclude-checks", NOT_CHECKED, "--seed", "1", "--no-color")
OPTIONS += ("--request-timeout", str(ANSWER_S), "--generation-database", "none")
REFUSALS = ("400", "401", "403", "404", "405", "406", "409", "412", "413", "414", "415", "429")


def check_api(arguments: Sequence[str] = ()) -> int:
    """`make check-api`: Schemathesis holds the API to its schema, at a site with a web process and
    no worker, so that nothing is ever sent to a target. `arguments` are Schemathesis's own."""
    try:
        with throw_away_servers() as (supervisor, env):
            port = free_ports().web
            env |= {"BENCHSITE_BIND": f"{LOOPBACK}:{port}", "BENCHSITE_LOG_LEVEL": "ERROR"}
            env |= {"BENCHSITE_WEB_WORKERS": "1"}  # each describes the API for itself
            config = Path(env["BENCHSITE_VAR"]) / "schemathesis.toml"
            fill = Program("fill", (sys.executable, "-m", "tests.api_world"), env)
            with step("Migrating, filling and serving a temporary database"):
                make_tables(supervisor, env)
                world = json.loads(run_or_fail(supervisor, fill).splitlines()[-1])
                config.write_text(_schemathesis_toml(world))
                web = next(each for each in programs(env, gives_way=False) if each.name == "web")
                supervisor.start(web)
                supervisor.wait_until(lambda: _describes_itself(port), READY_S, "web")
            command = (sys.executable, "-m", "schemathesis.cli", "--config-file", str(config))
            command += ("run", f"http://{LOOPBACK}:{port}{SCHEMA}", *OPTIONS, *arguments)
            return supervisor.run_to_end(Program("schemathesis", command, env), log=None)
    except LocalError as error:
        return fail(str(error))
    except StopRequested:
        return 130


def _schemathesis_toml(world: dict) -> str:
    """Who asks, and about which rows: TOML reads JSON's strings and numbers."""
    lines = [f'headers = {{ Authorization = "Bearer {world["token"]}" }}']
    lines += ["[phases.stateful]", "enabled = false"]
    lines += ["[checks.negative_data_rejection]", f"expected-statuses = {json.dumps(REFUSALS)}"]
    for each in world["operations"]:
        values = ", ".join(f'"path.{name}" = {value}' for name, value in each["values"].items())
        lines += ["[[operations]]", f"include-name = {json.dumps(each['name'])}"]
        lines += [f"parameters = {{ {values} }}"]
    return "\n".join(lines)


def _describes_itself(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}{SCHEMA}", timeout=ANSWER_S):
            return True
    except OSError:
        return False
