"""`make check`: style, imports, templates, settings, migrations, the API's schema, JavaScript, the
compose file, and how much of everything there is.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from local.console import LocalError, fail, say
from local.paths import ROOT
from local.throw_away import throw_away_servers

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


def check() -> int:
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
