"""What the command line says to somebody who types: help, refusals, advice, nobody listening."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from campaigns.domain.metrics.snapshot import Second, Timing
from tests.injector.servers import OK_REPLY, always, scripted
from tests.injector.test_cli import run, start
from tests.injector.test_loads import Arrivals
from workers.injector import cli

pytestmark = pytest.mark.pure

OPTIONS = [
    action
    for action in cli.make_parser()._actions
    if action.option_strings and action.dest not in {"help", "mode"}
]
COMMAND = [sys.executable, "-m", "workers.injector"]


def test_help_says_the_default_of_every_option():
    for option in OPTIONS:
        note = re.search(r"\(([^()]+)\)$", option.help)
        assert note, option.help
        if option.default not in (None, False, [], ""):
            default = option.default
            text = f"{default:g}" if isinstance(default, float) else str(default)
            assert note[1].startswith(text)


def test_the_document_has_every_option():
    for option in OPTIONS:
        with open("docs/command-line.md") as document:
            assert option.option_strings[0] in document.read()


@pytest.mark.parametrize(
    "options",
    [
        *(["--csv", "{}"], ["--plan", "{}"]),
        *(["--bearer", "--secret-file", "{}"], ["--ca-file", "{}"]),
    ],
)
def test_a_file_that_is_no_utf8_is_refused_by_its_name(options, tmp_path):
    file = tmp_path / "latin1.txt"
    file.write_bytes(b"caf\xe9\n")
    done = run("https://127.0.0.1:1/", *(each.format(file) for each in options))
    assert (done.returncode, done.stderr) == (
        2,
        f"python -m workers.injector: {file}: this is no text in UTF-8 (byte 4 cannot be read).\n",
    )


@pytest.mark.sockets
def test_without_an_address_a_person_is_told_what_to_type():
    """A program that waits for an order would look as if it hung."""
    terminal, its_end = pty.openpty()
    done = subprocess.run(COMMAND, stdin=its_end, capture_output=True, text=True, timeout=30)
    os.close(terminal)
    os.close(its_end)
    assert done.returncode == 2
    assert "usage:" in done.stderr


_INTERRUPTED_AT_ITS_START = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == "workers.injector.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["injector", "http://127.0.0.1:1/"]
runpy.run_module("workers.injector", run_name="__main__")
"""


@pytest.mark.sockets
def test_ctrl_c_before_there_is_anything_to_report_shows_no_traceback():
    command = [sys.executable, "-c", _INTERRUPTED_AT_ITS_START]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.sockets
def test_a_reader_that_has_left_causes_no_complaint():
    with scripted(always(OK_REPLY)) as server:
        process = start(f"http://127.0.0.1:{server.port}/", "--requests", 5)
        process.stdout.close()
        complaint = process.stderr.read()
        status = process.wait(30)
        process.stderr.close()
    assert status in {cli.OK, cli.NO_ANSWER}
    assert "Traceback" not in complaint
    assert "Broken pipe" not in complaint


@pytest.mark.sockets
def test_nobody_who_reads_the_progress_any_more_ends_no_measurement():
    """As `2>&1 | head -1` does."""
    with scripted(always(OK_REPLY)) as server:
        options = ["--requests", 5, "--connections", 2, "--processes", 2, "--json"]
        process = start(f"http://127.0.0.1:{server.port}/", *options)
        process.stderr.close()
        report, _ = process.communicate(timeout=30)
    assert process.returncode in {cli.OK, cli.NO_ANSWER}, report
    assert json.loads(report)["counters"]["ok"] == 5


@pytest.mark.sockets
def test_a_report_for_which_there_is_no_room_is_refused_in_a_sentence():
    with scripted(always(OK_REPLY)) as server, open("/dev/full", "w") as full:
        command = [*COMMAND, f"http://127.0.0.1:{server.port}/"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == cli.REFUSED
    assert done.stderr.endswith("injector: standard output: No space left on device.\n")
    assert "Traceback" not in done.stderr


@pytest.mark.sockets
def test_a_log_for_which_there_is_no_room_costs_no_report():
    with scripted(always(OK_REPLY)) as server:
        done = run(f"http://127.0.0.1:{server.port}/", "--hlog", "/dev/full")
    assert done.returncode == cli.REFUSED
    assert "1 request in" in done.stdout
    assert done.stderr.endswith("injector: /dev/full: No space left on device.\n")


@pytest.mark.parametrize(("count", "words"), [(20, "max    2.00 ms"), (2000, "p99    1.00 ms")])
def test_progress_shows_a_p99_only_where_there_is_one(capsys, count, words):
    second = Second(0, 0, {"ok": count})
    second.timings["response"] = Timing.of([1000] * (count - 1) + [2000])
    progress = cli.ProgressLine()
    progress.show(second)
    progress.finish()
    assert words in capsys.readouterr().err


@pytest.mark.sockets
def test_a_run_that_was_interrupted_says_so_and_its_own_rate():
    with scripted(Arrivals()) as server:
        url = f"http://127.0.0.1:{server.port}/"
        process = start(url, "--rate", 50, "--duration", 60)
        assert process.stderr.readline().startswith("   0 s")
        time.sleep(0.2)  # ten requests' time, to have a rate
        process.send_signal(signal.SIGINT)
        report, _ = process.communicate(timeout=10)
    assert re.search(r"Stopped after \d\.\d s, before its plan was finished", report)
    sent = float(re.search(r"planned, ([\d.]+) requests/s sent", report)[1])
    assert sent == pytest.approx(50, rel=0.1)
