"""`python3 -m local COMMAND`, called by the Makefile."""

import sys


def main(arguments):
    # Older Pythons must be able to read this function, so it has no newer syntax.
    if sys.version_info < (3, 11):  # noqa: UP036
        print("benchsite needs Python 3.11 or newer: `make PYTHON=/path/to/python3.12 ...`")
        return 1
    from local.setup import COMMANDS, run_command

    if not arguments or arguments[0] not in COMMANDS:
        print("usage: python3 -m local " + "|".join(COMMANDS), file=sys.stderr)
        return 2
    return run_command(arguments[0], arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
