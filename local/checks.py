"""`make check`: style, imports, templates, settings, migrations, the API's schema, JavaScript, the
compose file, and how much of everything there is.
"""

import http.client
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from local.base import ROOT, LocalError, fail, say, step, tail
from local.network import LOOPBACK, free_ports
from local.servers import throw_away_servers
from local.site import manage, programs
from local.supervisor import Program, StopRequested, Supervisor

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
# Random cases for each operation, beside those of the edges of its schema.
EXAMPLES = 8
# Plans have rules between their fields that no schema can say. tests/test_access_of_rest.py asks at
# each address without a live token: more than a few wrong ones a minute are throttled.
NOT_CHECKED = "positive_data_acceptance,ignored_auth"


def check_api(arguments: list[str]) -> int:
    """0 if no answer contradicts the schema; `arguments` are Schemathesis's own."""
    try:
        with throw_away_servers() as (supervisor, env):
            port = free_ports().web
            env |= {"BENCHSITE_BIND": f"{LOOPBACK}:{port}", "BENCHSITE_LOG_LEVEL": "ERROR"}
            env |= {"BENCHSITE_WEB_WORKERS": "1"}  # each describes the API for itself
            folder = Path(env["BENCHSITE_VAR"])
            with step("Migrating, filling and serving a temporary database"):
                _run(supervisor, manage("migrate", "--no-input", "-v", "0", env=env))
                world = _run(supervisor, _python("fill", "tests.api_world", env=env))
                supervisor.start(_web(env))
                supervisor.wait_until(lambda: _answers(port), READY_S, "web")
            config = folder / "schemathesis.toml"
            config.write_text(_config(json.loads(world.splitlines()[-1])))
            tried = _python(
                "schemathesis",
                "schemathesis.cli",
                *("--config-file", str(config), "run", f"http://{LOOPBACK}:{port}{SCHEMA}"),
                *("--max-examples", str(EXAMPLES), "--exclude-checks", NOT_CHECKED),
                *("--request-timeout", str(ANSWER_S)),
                *("--seed", "1", "--generation-database", "none", "--no-color", *arguments),
                env=env,
            )
            return supervisor.run_to_end(tried, log=None)
    except LocalError as error:
        return fail(str(error))
    except StopRequested:
        return 130


def _config(world: dict) -> str:
    """Who asks, and about which rows: TOML reads JSON's strings and numbers."""
    lines = [f'headers = {{ Authorization = "Bearer {world["token"]}" }}']
    lines += ["[phases.stateful]", "enabled = false"]
    refused = ("400", "401", "403", "404", "405", "406", "409", "412", "413", "414", "415", "429")
    lines += ["[checks.negative_data_rejection]", f"expected-statuses = {json.dumps(refused)}"]
    for each in world["operations"]:
        values = ", ".join(f'"path.{name}" = {value}' for name, value in each["values"].items())
        lines += ["[[operations]]", f"include-name = {json.dumps(each['name'])}"]
        lines += [f"parameters = {{ {values} }}"]
    return "\n".join(lines)


def _run(supervisor: Supervisor, program: Program) -> str:
    log = supervisor.log_dir / f"{program.name}.log"
    if supervisor.run_to_end(program, log):
        raise LocalError(f"{program.name} failed:\n{tail(log)}")
    return log.read_text()


def _python(name: str, module: str, *arguments: str, env: dict[str, str]) -> Program:
    return Program(name=name, command=(sys.executable, "-m", module, *arguments), env=env)


def _web(env: dict[str, str]) -> Program:
    return next(each for each in programs(env, gives_way=False) if each.name == "web")


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=ANSWER_S)
    try:
        connection.request("GET", SCHEMA)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
