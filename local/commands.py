"""The commands behind `make`: set up, then continue inside the virtual environment."""

import errno
import os
import sys
from typing import NoReturn

from local.console import LocalError, fail
from local.paths import VENV_PYTHON, is_inside_venv, var_dir
from local.setup import set_up

REQUIREMENTS = dict.fromkeys(
    ("test", "test-fast", "check", "check-api", "pictures"), "requirements-dev.txt"
)
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
        set_up(REQUIREMENTS.get(command, "requirements.txt"))
        if is_inside_venv():
            return _inside(command, arguments)
        return 0 if command == "setup" else _again_inside(command, arguments)
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
    if command == "run":
        from local.run import run

        return run(is_once="--once" in arguments)
    if command == "test":
        from local.testing import test

        return test(arguments)
    if command == "test-fast":
        from local.testing import test_fast

        return test_fast()
    if command == "check":
        from local.checks import check

        return check()
    if command == "check-api":
        from local.check_api import check_api

        return check_api(arguments)
    if command == "demo-target":
        from local.demo import demo_target

        return demo_target()
    if command == "pictures":
        from local.pictures import take_pictures

        return take_pictures()
    if command == "backup":
        from local.backup import backup

        return backup()
    if command == "restore":
        from local.backup import restore

        return restore(*arguments)
    if command == "site":
        from local.stage import stage

        return stage(arguments)
    return 0
