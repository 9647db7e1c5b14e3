import json
import logging
import os
import socket
import subprocess
import sys
from urllib.request import urlopen

import pytest

from benchsite.logs import JsonLines, NoShareTokens
from tests.waiting import eventually

DEMO = "wsgiref.simple_server:demo_app"


def test_a_log_line_hides_the_token_of_a_share_link_and_nothing_else():
    for path, path_in_log in [
        ("/s/9Oeekc9Jtbe5Uw6uLhwk_-x/stream/", "/s/…/stream/"),
        ("/static/x.css", "/static/x.css"),
    ]:
        record = logging.makeLogRecord({"msg": "%s: %s", "args": ("Not Found", path)})
        assert NoShareTokens().filter(record)
        assert record.getMessage() == f"Not Found: {path_in_log}"


def test_every_handler_of_the_site_has_the_filter(settings):
    for handler in settings.LOGGING["handlers"].values():
        assert "no_share_tokens" in handler["filters"]


@pytest.mark.long
@pytest.mark.parametrize("form", ["line", "json"])
def test_the_web_server_logs_in_either_form_and_hides_it_as_well(form):
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    env = {"BENCHSITE_BIND": address, "BENCHSITE_ACCESS_LOG": "1", "BENCHSITE_LOG_FORMAT": form}
    server = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "-c", "benchsite/gunicorn.py", DEMO],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        eventually(lambda: answers(f"http://{address}/s/9Oeekc9Jtbe5Uw6uLhwk_-x/"), 30, "it serves")
    finally:
        server.terminate()
        log, _ = server.communicate(timeout=30)
    assert "GET /s/" in log
    assert "9Oeekc9Jtbe5Uw6uLhwk" not in log


def answers(url: str) -> bool:
    try:
        return urlopen(url).status == 200
    except OSError:
        return False


def test_a_json_line_has_what_a_program_needs_and_is_one_line():
    try:
        raise ValueError("two\nlines")
    except ValueError:
        record = logging.makeLogRecord(
            {"name": "workers", "levelname": "ERROR", "msg": "Run %s failed", "args": (7,),
             "exc_info": sys.exc_info()}
        )  # fmt: skip
    text = JsonLines().format(record)
    assert "\n" not in text
    line = json.loads(text)
    assert (line["level"], line["logger"], line["message"]) == ("ERROR", "workers", "Run 7 failed")
    assert "ValueError: two\nlines" in line["traceback"]


@pytest.mark.long
def test_every_program_writes_json_on_request():
    for command in [
        "import django; django.setup(); import logging; logging.getLogger('x').warning('told')",
        "from celery.app.log import Logging; from benchsite.celery import app; import django;"
        "django.setup(); Logging(app).setup(loglevel='INFO'); import logging;"
        "logging.getLogger('x').warning('told')",
    ]:
        done = subprocess.run(
            [sys.executable, "-c", command],
            env={**os.environ, "BENCHSITE_LOG_FORMAT": "json"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stderr.splitlines()[-1])["message"] == "told"
