"""`make test`: Python on real servers, the browser modules in node, the pages in Chromium.

`make test-fast`: tests that need no server.
"""

import os
import sys

from local.browsers import ensure_chromium, version_of
from local.children import Program
from local.console import LocalError, fail, say
from local.node_env import node_dir
from local.paths import ROOT, tail, var_dir
from local.postgres import DATABASE
from local.programs import manage
from local.supervisor import StopRequested, Supervisor
from local.throw_away import environment_without_installation, throw_away_servers

SETTINGS = "--ds=tests.settings"
N_CORES = os.cpu_count() or 1
# Waiting for processes and sockets takes half of the time: two workers per core.
N_WORKERS = 2 * N_CORES
WORKERS = [f"gw{number}" for number in range(N_WORKERS)]
# A file stays with one worker, so that its slow fixtures are set up once.
# The files go out in the order of tests/conftest.py, the longest first.
BY_FILE = ("--dist", "loadfile", "--no-loadscope-reorder")
IN_PARALLEL = ("-n", str(N_WORKERS), *BY_FILE)
ALONE = ("-n", "0")
# Each worker has an installation and a Chromium of its own, which keep a core busy.
IN_BROWSERS = ("-n", str(N_CORES), *BY_FILE, "-m", "browser", "tests/browser")
# Where the tests marked pure are, without files that cannot be imported without settings.
PURE = ("tests/domain", "tests/exports/test_tables.py", "tests/injector", "tests/benchmarks")
PURE += ("--ignore=tests/benchmarks/test_judgement.py",)
TESTS_FAILED = 1  # pytest's exit status


def test(arguments: list[str]) -> int:
    """0 if every test that could run passed. With arguments, runs only pytest with them."""
    try:
        with throw_away_servers(*WORKERS) as (supervisor, env):
            results = (
                {"chosen tests": _pytest(supervisor, env, SETTINGS, *arguments)}
                if arguments
                else _all_tests(supervisor, env)
            )
    except LocalError as error:
        return fail(str(error))
    except StopRequested:
        return 130
    return _report(results)


def test_fast() -> int:
    """Run the tests marked pure, and the browser modules' in node; 0 if all passed."""
    supervisor = Supervisor(var_dir() / "log")
    supervisor.stop_on_signals()
    env = environment_without_installation()
    pure = (*IN_PARALLEL, "-m", "pure and not sockets", *PURE)
    try:
        results = {
            "pure Python tests": _pytest(supervisor, env, *pure),
            "JavaScript tests": _node_tests(supervisor, env),
        }
    except StopRequested:
        return 130
    return _report(results)


def _all_tests(supervisor: Supervisor, env: dict[str, str]) -> dict[str, int]:
    env = _with_template(supervisor, env)
    results = {
        "Python tests": _pytest_twice(
            supervisor, env, *IN_PARALLEL, "-m", "not alone", "--ignore=tests/browser"
        ),
        "tests of time": _pytest_twice(supervisor, env, "-m", "alone", *_files_with("mark.alone")),
        "JavaScript tests": _node_tests(supervisor, env),
    }
    chromium = ensure_chromium()
    if not chromium:
        return results
    say(f"\nBrowser tests in {version_of(chromium)}")
    return results | {"browser tests": _pytest_twice(supervisor, env, *IN_BROWSERS)}


def _with_template(supervisor: Supervisor, env: dict[str, str]) -> dict[str, str]:
    """A migrated database, which that of each worker is a copy of: to migrate takes seconds."""
    log = supervisor.log_dir / "migrate.log"
    if supervisor.run_to_end(manage("migrate", "--no-input", "-v", "0", env=env), log):
        raise LocalError(f"The tests' database cannot be migrated:\n{tail(log)}")
    return {**env, "TESTS_TEMPLATE": DATABASE}


def _files_with(words: str) -> list[str]:
    """The test files with these words. To import all others would take as long as their tests."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path.relative_to(ROOT)) for path in files if words in path.read_text()]


def _pytest_twice(supervisor: Supervisor, env: dict[str, str], *arguments: str) -> int:
    """Failed tests are named and rerun alone: timing tests may fail on a busy machine.

    Tests that fail again have failed.
    """
    status = _pytest(supervisor, env, SETTINGS, *arguments)
    if status != TESTS_FAILED:
        return status
    say("\nUNSTEADY OR BROKEN: the tests that failed above are tried once more, alone.")
    return _pytest(supervisor, env, SETTINGS, *arguments, *ALONE, "--last-failed", "-rp")


def _pytest(supervisor: Supervisor, env: dict[str, str], *arguments: str) -> int:
    command = (sys.executable, "-m", "pytest", "-q", *arguments)
    return supervisor.run_to_end(Program("pytest", command, env), log=None)


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
    command = (str(node_dir() / "node"), "--test", *files)
    return supervisor.run_to_end(Program("node", command, env), log=None)


def _report(results: dict[str, int]) -> int:
    say()
    for what, status in results.items():
        say(f"  {what}: {'passed' if status == 0 else f'FAILED (status {status})'}")
    return 1 if any(results.values()) else 0
