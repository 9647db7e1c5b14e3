"""`python3 -m local COMMAND`, called by the Makefile. First finds a recent enough Python."""

import os
import shutil
import subprocess
import sys

COMMANDS = (
    *("setup", "run", "test", "test-fast", "check", "check-api"),
    *("demo-target", "site", "backup", "restore"),
)
OLDEST = (3, 11)
NEWEST_MINOR = 15


def main(arguments):
    # Older Pythons must be able to read this function, so it has no newer syntax.
    if sys.version_info < OLDEST:
        return _with_newer_python(arguments)
    if not arguments or arguments[0] not in COMMANDS:
        print("usage: python3 -m local " + "|".join(COMMANDS), file=sys.stderr)
        return 2
    from local.commands import run_command

    return run_command(arguments[0], arguments[1:])


def _with_newer_python(arguments):
    for minor in range(NEWEST_MINOR, 10, -1):
        found = shutil.which("python3.%d" % minor)  # noqa: UP031  read by old Pythons
        # Version managers put shims on PATH that only print an error.
        if found and subprocess.call([found, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            os.execv(found, [found, "-m", "local", *arguments])  # noqa: S606
    print(
        "benchsite needs Python 3.11 or newer; python3 here is %s. Install it and run "  # noqa: UP031
        "`make PYTHON=/path/to/python3.12 …`." % sys.version.split()[0],
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
