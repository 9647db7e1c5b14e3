"""`make test`: Python on real servers, the browser modules in node, the pages in Chromium.
`make test-all`: the tests marked long as well. `make test-fast`: tests that need no server.
`make check`: style, imports and so on. `make check-api`: the API does what its schema says.
"""

import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from local.base import ROOT, LocalError, say, step, var_dir
from local.servers import DATABASE, environment_without_installation, throw_away_servers
from local.setup import node_dir, run_logged
from local.site import LOOPBACK, free_ports, make_tables, programs, run_or_fail, status_of
from local.supervisor import Program, Supervisor

SETTINGS = "--ds=tests.settings"
N_CORES = os.cpu_count() or 1
# Waiting for processes and sockets takes half of the time: two workers per core. With three, load
# that is measured meets too much beside it.
N_WORKERS = 2 * N_CORES
# Each has a Chromium of its own, and some an installation (tests/browser/conftest.py). They run
# beside the Python tests.
BROWSER_WORKERS = [f"browser{number}" for number in range(N_CORES)]
WORKERS = [*(f"gw{number}" for number in range(N_WORKERS)), *BROWSER_WORKERS]
# A file stays with one worker, so that its slow fixtures are set up once.
# The files go out in the order of tests/conftest.py, the longest first.
BY_FILE = ("--dist", "loadfile", "--no-loadscope-reorder")
ALONE = ("-n", "0")
IN_BROWSERS = tuple(f"--tx=popen//id={name}" for name in BROWSER_WORKERS)
PYTHON_TESTS = ("-n", str(N_WORKERS), *BY_FILE, "--ignore=tests/browser")
# Which tests failed is kept apart: both runs write it at their ends.
OWN_CACHE = ("-o", "cache_dir=.pytest_cache/browser")
BROWSER_TESTS = (*IN_BROWSERS, *BY_FILE, *OWN_CACHE, "tests/browser")
# Where the tests marked pure are, without files that cannot be imported without settings.
PURE = ("tests/domain", "tests/injector")
TESTS_FAILED = 1  # pytest's exit status
FEW_FILES = 40  # so many are compiled in each worker sooner than ahead of all


def test(arguments: list[str]) -> int:
    return _test(arguments, "not long")


def test_all(arguments: list[str]) -> int:
    return _test(arguments, "")


def _test(arguments: list[str], markers: str) -> int:
    """0 if every test that could run passed. With arguments, runs only pytest with them."""
    with throw_away_servers(*WORKERS) as (supervisor, env):
        make_tables(supervisor, env)
        env |= {"TESTS_TEMPLATE": DATABASE}
        if arguments:
            status = _pytest(env, SETTINGS, *arguments)
            return _report({"chosen tests": supervisor.run_to_end(status)})
        parts = {"Python tests": (*PYTHON_TESTS, "-m", markers)}
        if ensure_programs():
            parts["browser tests"] = (*BROWSER_TESTS, "-m", markers)
        _rewrite_asserts(supervisor, env)
        results = _run_at_once(supervisor, env, parts)
        # Timing tests may fail on a busy machine. Those that fail again have failed.
        for name in [name for name, status in results.items() if status == TESTS_FAILED]:
            say(f"\nUNSTEADY OR BROKEN: the {name} that failed above are tried once more, alone.")
            again = (*parts[name], *ALONE, "--last-failed", "-rpfE")
            results |= _run_at_once(supervisor, env, {name: again})
        results["JavaScript tests"] = supervisor.run_to_end(_node_tests(env))
    return _report(results)


def _rewrite_asserts(supervisor: Supervisor, env: dict[str, str]) -> None:
    """pytest keeps what it has made of a test file. Workers that begin together would each make it:
    two minutes of processor time of a fresh clone."""
    stale = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        bytecode = (path.parent / "__pycache__").glob(f"{path.stem}.*-pytest-*.pyc")
        if not any(each.stat().st_mtime >= path.stat().st_mtime for each in bytecode):
            stale.append(path)
    if len(stale) < FEW_FILES:
        return
    with step(f"Compiling {len(stale)} files of tests"):
        parts = [map(str, stale[number::N_CORES]) for number in range(N_CORES)]
        programs = [_pytest(env, SETTINGS, "--collect-only", *part) for part in parts]
        logs = [supervisor.log(f"collect-{number}") for number in range(N_CORES)]
        # Whatever is wrong with one of them, the run itself tells.
        supervisor.run_together(list(zip(programs, logs, strict=True)))


def test_fast(arguments: Sequence[str]) -> int:
    """Run the tests marked pure, and the browser modules' in node; 0 if all passed."""
    supervisor = Supervisor(var_dir() / "log")
    supervisor.stop_on_signals()
    env = environment_without_installation()
    workers = ("-n", str(N_CORES), *BY_FILE)  # nothing waits
    pure = _pytest(env, *workers, "-m", "pure and not (sockets or long)", *PURE, *arguments)
    results = {"pure Python tests": supervisor.run_to_end(pure)}
    return _report(results | {"JavaScript tests": supervisor.run_to_end(_node_tests(env))})


def _run_at_once(
    supervisor: Supervisor, env: dict[str, str], parts: dict[str, tuple[str, ...]]
) -> dict[str, int]:
    """The first part writes on the terminal; what the others wrote follows at their end."""
    logs = [None, *(supervisor.log(name) for name in list(parts)[1:])]
    programs = [_pytest(env, SETTINGS, *arguments) for arguments in parts.values()]
    begin = time.monotonic()
    statuses = supervisor.run_together(list(zip(programs, logs, strict=True)))
    say(f"{' and '.join(parts)}: {time.monotonic() - begin:.0f} s")
    for log in filter(None, logs):
        say(f"\n{log.stem}:\n{log.read_text()}")
    return dict(zip(parts, statuses, strict=True))


def _pytest(env: dict[str, str], *arguments: str) -> Program:
    return Program("pytest", (sys.executable, "-m", "pytest", "-q", *arguments), env)


def _node_tests(env: dict[str, str]) -> Program:
    """Passes files by name: node's handling of folders differs between versions."""
    files = sorted(str(path) for path in (ROOT / "tests" / "js").rglob("*.test.*js"))
    command = (str(node_dir() / "node"), "--test", "--test-reporter=dot", *files)
    return Program("node", command, env)


def _report(results: dict[str, int]) -> int:
    say()
    for what, status in results.items():
        say(f"  {what}: {'passed' if status == 0 else f'FAILED (status {status})'}")
    return 1 if any(results.values()) else 0


# What tests hold the product against: the machine's own or, if we are root, Debian's packages.
# The Chromium without windows draws the same pages for a quarter to two fifths less processor time,
# see docs/performance.md.
WITHOUT_WINDOWS = "chromium-headless-shell"
CHROMIUMS = (WITHOUT_WINDOWS, "chromium", "chromium-browser", "google-chrome-stable")
PROGRAMS = {
    "nginx": "nginx", "apache2": "apache2-bin", "ab": "apache2-utils", "httperf": "httperf",
    "jq": "jq",
}  # fmt: skip
# What Debian's packages ask before they start a service.
_POLICY = Path("/usr/sbin/policy-rc.d")


def find_chromium() -> str | None:
    return next((path for name in CHROMIUMS if (path := shutil.which(name))), None)


def missing_packages() -> list[str]:
    """Of Chromium, servers and other tools."""
    path = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin"
    missing = [PROGRAMS[name] for name in PROGRAMS if shutil.which(name, path=path) is None]
    return missing if find_chromium() else [WITHOUT_WINDOWS, *missing]


def ensure_programs() -> bool:
    """Install what is missing if we are root, or print what is skipped without it; whether there is
    a Chromium."""
    if (packages := missing_packages()) and os.geteuid() == 0 and shutil.which("apt-get"):
        # A test machine's port 80 is not ours to take. A policy that is there stays.
        if starts_services := not _POLICY.exists():
            _POLICY.write_text("#!/bin/sh\nexit 101\n")
            _POLICY.chmod(0o755)
        with step(f"Installing {', '.join(packages)} with apt-get"):
            _apt_get("update")
            for package in packages:
                _apt_get("install", "-y", "--no-install-recommends", package)
            if not find_chromium():
                _apt_get("install", "-y", "--no-install-recommends", "chromium")
        if starts_services:
            _POLICY.unlink()
    for package in missing_packages():
        say(
            f"TESTS WITH {package.upper()} SKIPPED: it is not installed, and cannot be installed "
            f"here (not root, or no apt-get). Install {package} to run them."
        )
    return find_chromium() is not None


def _apt_get(*arguments: str) -> None:
    # Some wrappers of Debian's packages prompt on the terminal; apt must not prompt either.
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with suppress(LocalError):  # what is missing then is said
        run_logged(["apt-get", *arguments], "setup-apt", env)


MANAGE = "python -W error manage.py"
# A server's settings as in docker-compose.yml; nothing connects with them.
SERVER = "BENCHSITE_MODE=server BENCHSITE_HOSTS=bench.test BENCHSITE_URL=https://bench.test"
CHECKS = {
    "ruff check": "ruff check --output-format=concise .",
    "ruff format": "ruff format --check --quiet .",
    "imports": "lint-imports --no-logo --no-cache",
    "templates": "djlint templates --lint --quiet",
    "manage.py check": f"{MANAGE} check --fail-level WARNING",
    "manage.py check --deploy": f"{SERVER} {MANAGE} check --deploy --fail-level WARNING",
    "the API's schema": f"{MANAGE} spectacular --validate --fail-on-warn --file /dev/null",
    "no missing migration": f"{MANAGE} makemigrations --check --dry-run",
    # node takes one file at a time.
    "JavaScript": 'find static/js tests/js -name "*.*js" | xargs -n 1 node --check',
    "compose": "check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml",
}


def check(_arguments: Sequence[str] = ()) -> int:
    """0 if every check passes without a warning; prints the whole output of those that fail."""
    holds = True
    with throw_away_servers() as (_supervisor, env):
        for name, command in CHECKS.items():
            shell = ("sh", "-c", command)
            process = subprocess.run(shell, cwd=ROOT, env=env, capture_output=True, text=True)
            passes = process.returncode == 0 and not process.stderr
            output = "" if passes else f"\n{process.stdout}{process.stderr}"
            say(f"  {name}: {'ok' if passes else 'FAILED'}{output}")
            holds &= passes
    return 0 if is_within_budget(ROOT) and holds else 1


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


PYTHON = (sys.executable, "-m")
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


def check_api(arguments: Sequence[str] = ()) -> int:
    """Schemathesis holds the API to its schema, at a site with a web process and no worker, so that
    nothing is ever sent to a target. `arguments` are Schemathesis's own."""
    with throw_away_servers() as (supervisor, env):
        port = free_ports().web
        env |= {"BENCHSITE_BIND": f"{LOOPBACK}:{port}", "BENCHSITE_LOG_LEVEL": "ERROR"}
        env |= {"BENCHSITE_WEB_WORKERS": "1"}  # each describes the API for itself
        config = Path(env["BENCHSITE_VAR"]) / "schemathesis.toml"
        with step("Migrating, filling and serving a temporary database"):
            make_tables(supervisor, env)
            run_or_fail(supervisor, Program("fill", (*PYTHON, "tests.api_world", str(config)), env))
            supervisor.start(programs(env, gives_way=False)[0])  # web
            supervisor.wait_until(lambda: status_of(port, SCHEMA, ANSWER_S) == 200, READY_S, "web")
        command = (*PYTHON, "schemathesis.cli", "--config-file", str(config))
        command += ("run", f"http://{LOOPBACK}:{port}{SCHEMA}", *OPTIONS, *arguments)
        return supervisor.run_to_end(Program("schemathesis", command, env))
