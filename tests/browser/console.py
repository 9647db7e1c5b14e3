"""`python -m tests.browser.console`: a process that runs code in an installation's Django.

Each start of manage.py takes two seconds of a core; this one is started once. A line of its input
is code, as JSON; a line of its output is {"printed": …} or {"failed": …}.
"""

import contextlib
import io
import json
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@contextlib.contextmanager
def console(env: dict[str, str]) -> Iterator[Callable[[str], str]]:
    """What runs code in the installation with these settings, and returns what it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=ROOT,
        env={**env, "DJANGO_SETTINGS_MODULE": "benchsite.settings"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(code: str) -> str:
        process.stdin.write(json.dumps(code) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert "printed" in answer, answer["failed"]
        return answer["printed"]

    try:
        yield run
    finally:
        process.stdin.close()
        process.wait(30)


def serve() -> None:
    """Until the end of the input."""
    import django

    django.setup()
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


def _answer(code: str) -> dict[str, str]:
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            exec(code, {})  # noqa: S102
    except Exception:
        return {"failed": traceback.format_exc()}
    return {"printed": output.getvalue()}


if __name__ == "__main__":
    serve()
