"""The commands behind `make`: set up, then continue inside the virtual environment."""

import errno
import os
import sys
from importlib import import_module
from typing import NoReturn

from local.base import VENV_PYTHON, LocalError, fail, is_inside_venv, var_dir
from local.setup import set_up

# Loaded when .venv is there: what they import is in it.
_HOMES = {
    "run": ("run", "run"),
    "demo-target": ("run", "demo_target"),
    "site": ("site", "stage"),
    "backup": ("backup", "backup"),
    "restore": ("backup", "restore"),
    "test": ("testing", "test"),
    "test-fast": ("testing", "test_fast"),
    "check": ("checks", "check"),
    "check-api": ("checks", "check_api"),
}
_WITH_TESTS_PACKAGES = ("test", "test-fast", "check", "check-api")
_NOT_YOURS = (
    "Run make as the user to whom the checkout and {var} belong, or set BENCHSITE_VAR to a folder "
    "of your own."
)
_NO_FOLDER = "This has to be a folder: set BENCHSITE_VAR to another one, or move the file away."
_NO_ROOM = "Make room for {var} and the checkout, and try again."
# What the machine refuses, and what somebody can do about it.
_WAYS_OUT = {
    errno.EACCES: _NOT_YOURS,
    errno.EPERM: _NOT_YOURS,
    errno.EROFS: _NOT_YOURS,
    errno.EEXIST: _NO_FOLDER,
    errno.ENOTDIR: _NO_FOLDER,
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
}


def run_command(command: str, arguments: list[str]) -> int:
    """Set up, re-execute with .venv's Python if necessary; returns the command's exit status."""
    try:
        set_up(f"requirements{'-dev' if command in _WITH_TESTS_PACKAGES else ''}.txt")
        if command == "setup":
            return 0
        return (_inside if is_inside_venv() else _again_inside)(command, arguments)
    except LocalError as error:
        return fail(str(error))
    except OSError as error:
        if error.errno not in _WAYS_OUT:
            raise
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        return fail(f"{what}. {_WAYS_OUT[error.errno].format(var=var_dir())}")
    except KeyboardInterrupt:
        return 130


def _again_inside(command: str, arguments: list[str]) -> NoReturn:
    sys.stdout.flush()
    os.execv(VENV_PYTHON, [str(VENV_PYTHON), "-m", "local", command, *arguments])  # noqa: S606


def _inside(command: str, arguments: list[str]) -> int:
    module, function = _HOMES[command]
    return getattr(import_module(f"local.{module}"), function)(arguments)
