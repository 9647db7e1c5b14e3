"""`make check`: style, the settings of a server, migrations, the compose file."""

import subprocess
import sys

from local.console import LocalError, fail, say
from local.paths import ROOT
from local.throw_away import throw_away_servers

# A server's settings as docker-compose.yml would give them; nothing is contacted with them.
SERVER_SETTINGS = {
    "BENCHSITE_MODE": "server",
    "BENCHSITE_HOSTS": "bench.example.org",
    "BENCHSITE_URL": "https://bench.example.org",
}
MANAGE = (sys.executable, "manage.py")
CHECKS: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    ("ruff check", (sys.executable, "-m", "ruff", "check", "--output-format=concise", "."), {}),
    ("ruff format", (sys.executable, "-m", "ruff", "format", "--check", "--quiet", "."), {}),
    (
        "manage.py check --deploy",
        (*MANAGE, "check", "--deploy", "--fail-level", "WARNING"),
        SERVER_SETTINGS,
    ),
    ("no missing migration", (*MANAGE, "makemigrations", "--check", "--dry-run"), {}),
    (
        "docker-compose.yml",
        (
            *(sys.executable, "-m", "check_jsonschema"),
            *("--builtin-schema", "vendor.compose-spec", "docker-compose.yml"),
        ),
        {},
    ),
)


def check() -> int:
    """0 when all hold; each failure with its whole output."""
    try:
        with throw_away_servers() as (_supervisor, env):
            failed = [
                name
                for name, command, extra in CHECKS
                if not _holds(name, command, {**env, **extra})
            ]
    except LocalError as error:
        return fail(str(error))
    return 1 if failed else 0


def _holds(name: str, command: tuple[str, ...], env: dict[str, str]) -> bool:
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    say(f"  {name}: {'ok' if done.returncode == 0 else 'FAILED'}")
    if done.returncode:
        say(done.stdout + done.stderr)
    return done.returncode == 0
