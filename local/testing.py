"""`make test`: Python on real servers, the browser modules in node, the pages in Chromium.

`make test-fast`: tests that need no server.
"""

import os
import resource
import sys
import time
from collections.abc import Sequence

from local.base import ROOT, LocalError, fail, say, var_dir
from local.browsers import ensure_chromium, ensure_web_servers, version_of
from local.postgres import DATABASE
from local.servers import environment_without_installation, throw_away_servers
from local.setup import node_dir
from local.site import make_tables
from local.supervisor import Program, StopRequested, Supervisor

SETTINGS = "--ds=tests.settings"
N_CORES = os.cpu_count() or 1
# Waiting for processes and sockets takes half of the time: two workers per core.
N_WORKERS = 2 * N_CORES
# Each has a Chromium of its own, and some an installation (tests/browser/conftest.py). They run
# beside the Python tests.
BROWSER_WORKERS = [f"browser{number}" for number in range(N_CORES)]
WORKERS = [*(f"gw{number}" for number in range(N_WORKERS)), *BROWSER_WORKERS]
# A file stays with one worker, so that its slow fixtures are set up once.
# The files go out in the order of tests/conftest.py, the longest first.
BY_FILE = ("--dist", "loadfile", "--no-loadscope-reorder")
IN_PARALLEL = ("-n", str(N_WORKERS), *BY_FILE)
ALONE = ("-n", "0")
IN_BROWSERS = tuple(f"--tx=popen//id={name}" for name in BROWSER_WORKERS)
PYTHON_TESTS = (*IN_PARALLEL, "-m", "not alone", "--ignore=tests/browser")
# Which tests failed is kept apart: both runs write it at their ends.
OWN_CACHE = ("-o", "cache_dir=.pytest_cache/browser")
BROWSER_TESTS = (*IN_BROWSERS, *BY_FILE, *OWN_CACHE, "-m", "browser", "tests/browser")
# Where the tests marked pure are, without files that cannot be imported without settings.
PURE = ("tests/domain", "tests/exports/test_tables.py", "tests/injector")
TESTS_FAILED = 1  # pytest's exit status


def test(arguments: list[str]) -> int:
    """0 if every test that could run passed. With arguments, runs only pytest with them."""
    before_s = _used_s()
    try:
        with throw_away_servers(*WORKERS) as (supervisor, env):
            make_tables(supervisor, env)
            env |= {"TESTS_TEMPLATE": DATABASE}
            results = (
                {
                    "chosen tests": supervisor.run_to_end(
                        _pytest_program(env, SETTINGS, *arguments), log=None
                    )
                }
                if arguments
                else _all_tests(supervisor, env)
            )
    except LocalError as error:
        return fail(str(error))
    except StopRequested:
        return 130
    return _report(results, before_s)


def test_fast(arguments: Sequence[str]) -> int:
    """Run the tests marked pure, and the browser modules' in node; 0 if all passed."""
    before_s = _used_s()
    supervisor = Supervisor(var_dir() / "log")
    supervisor.stop_on_signals()
    env = environment_without_installation()
    pure = (*IN_PARALLEL, "-m", "pure and not sockets", *PURE, *arguments)
    try:
        results = {
            "pure Python tests": supervisor.run_to_end(_pytest_program(env, *pure), log=None),
            "JavaScript tests": _node_tests(supervisor, env),
        }
    except StopRequested:
        return 130
    return _report(results, before_s)


def _all_tests(supervisor: Supervisor, env: dict[str, str]) -> dict[str, int]:
    ensure_web_servers()
    parts = {"Python tests": PYTHON_TESTS}
    if chromium := ensure_chromium():
        say(f"Browser tests in {version_of(chromium)}, beside the Python tests")
        parts["browser tests"] = BROWSER_TESTS
    results = _pytest_twice(supervisor, env, parts)
    alone = {"tests of time": ("-m", "alone", *_files_with("mark.alone"))}
    results |= _pytest_twice(supervisor, env, alone)
    return results | {"JavaScript tests": _node_tests(supervisor, env)}


def _files_with(words: str) -> list[str]:
    """The test files with these words. To import all others would take as long as their tests."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path.relative_to(ROOT)) for path in files if words in path.read_text()]


def _pytest_twice(
    supervisor: Supervisor, env: dict[str, str], parts: dict[str, tuple[str, ...]]
) -> dict[str, int]:
    """Run these parts at the same time; the exit status of each.

    Failed tests are named and rerun alone: timing tests may fail on a busy machine. Tests that fail
    again have failed.
    """
    results = _at_once(supervisor, env, parts)
    for name in [name for name, status in results.items() if status == TESTS_FAILED]:
        say(f"\nUNSTEADY OR BROKEN: the {name} that failed above are tried once more, alone.")
        again = (*parts[name], *ALONE, "--last-failed", "-rpfE")
        results |= _at_once(supervisor, env, {name: again})
    return results


def _at_once(
    supervisor: Supervisor, env: dict[str, str], parts: dict[str, tuple[str, ...]]
) -> dict[str, int]:
    """The first part writes on the terminal; what the others wrote follows at their end."""
    logs = [None, *(supervisor.log_dir / f"{name}.log" for name in list(parts)[1:])]
    programs = [_pytest_program(env, SETTINGS, *arguments) for arguments in parts.values()]
    begin = time.monotonic()
    statuses = supervisor.run_together(list(zip(programs, logs, strict=True)))
    say(f"{' and '.join(parts)}: {time.monotonic() - begin:.0f} s")
    for log in filter(None, logs):
        say(f"\n{log.stem}:\n{log.read_text()}")
    return dict(zip(parts, statuses, strict=True))


def _pytest_program(env: dict[str, str], *arguments: str) -> Program:
    return Program("pytest", (sys.executable, "-m", "pytest", "-q", *arguments), env)


def _node_tests(supervisor: Supervisor, env: dict[str, str]) -> int:
    """Passes files by name: node's handling of folders differs between versions."""
    files = sorted(
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests" / "js").rglob("*")
        if path.name.endswith((".test.js", ".test.mjs"))
    )
    if not files:
        say("There are no JavaScript tests.")
        return 1
    command = (str(node_dir() / "node"), "--test", "--test-reporter=dot", *files)
    return supervisor.run_to_end(Program("node", command, env), log=None)


def _used_s() -> float:
    """Processor time of all that was started, and has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _report(results: dict[str, int], before_s: float) -> int:
    say()
    for what, status in results.items():
        say(f"  {what}: {'passed' if status == 0 else f'FAILED (status {status})'}")
    used_s = _used_s() - before_s
    say(f"  processor time of all of it, servers and browsers included: {used_s:.0f} s")
    return 1 if any(results.values()) else 0
