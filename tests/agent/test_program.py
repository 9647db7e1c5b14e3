"""The whole program, beside a site that orders perf stat."""

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from campaigns.domain.metrics.machine import MOST_WATCHED, AgentReport
from tests.waiting import eventually
from workers.agent.__main__ import that_fit
from workers.agent.machine import Interval
from workers.agent.site import Outbox, SiteClient, SiteClock, boot_ns

PERF = """#!/bin/sh
n=0
while :; do
    n=$((n + 1))
    sleep 1
    echo "     $n.0;7;;page-faults;1000;100.00;;"
done
"""


@pytest.fixture
def site():
    """Answers each report with the order to count the machine; `site.seconds` is what it got.
    `site.refusal`: a status and a text that it answers instead."""

    class Site(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = self.server.refusal or (200, self.stored(body["seconds"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def stored(self, seconds):
            self.server.seconds += seconds
            return json.dumps({"now": time.time(), "stored": 0, "perf": "machine"}).encode()

        def log_message(self, *words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        server.seconds, server.refusal = [], None
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_it_counts_what_the_site_orders(site, tmp_path):
    (tmp_path / "perf").write_text(PERF)
    (tmp_path / "perf").chmod(0o755)
    url = f"http://127.0.0.1:{site.server_port}"
    command = [sys.executable, "-m", "workers.agent", "--url", url, "--token", "x"]
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as agent:
        try:
            counted = eventually(
                lambda: [each for each in site.seconds if "perf" in each["did"]], 30, "counts came"
            )
        finally:
            agent.terminate()
    assert counted[0]["did"]["perf"]["counts"] == {"page-faults": [7, 100]}
    assert "user_s" in counted[0]["did"]


@pytest.mark.parametrize(
    ("refusal", "why"),
    [
        ((429, b'{"error": {"message": "Request was throttled."}}'), "Request was throttled."),
        ((429, b"<html>slow down</html>"), "429"),
        ((503, b""), "503"),
    ],
)
def test_a_site_that_answers_and_takes_nothing_gets_it_later(site, capsys, refusal, why):
    post = SiteClient(f"http://127.0.0.1:{site.server_port}", "x").post
    outbox = Outbox(post, SiteClock(), {"host": "shop-1", "watched": []})
    assert outbox.says_hello()
    site.refusal = refusal
    outbox.add(Interval(boot_ns(), 1.0, {"user_s": 0.5}))
    outbox.send_all()
    assert why in capsys.readouterr().err
    site.refusal = None
    outbox.send_all()
    assert [each["did"] for each in site.seconds] == [{"user_s": 0.5}]


def test_what_the_site_would_refuse_is_said_once_and_left_out(capsys):
    long = ",".join(f"worker-{number}" for number in range(20))
    watched = that_fit([long, *(f"server-{number}" for number in range(MOST_WATCHED + 2))])
    assert watched == [f"server-{number}" for number in range(MOST_WATCHED)]
    did = {"processes": {name: {"cpu_s": 0.1} for name in watched}}
    report = {"host": "shop-1", "watched": watched, "seconds": [{"at_s": 1, "did": did}]}
    assert len(AgentReport.from_json(report).seconds[0].did["processes"]) == MOST_WATCHED
    assert f"{long}; server-20; server-21" in capsys.readouterr().err
    assert that_fit(["nginx,php-fpm", ":8080"]) == ["nginx,php-fpm", ":8080"]
    assert capsys.readouterr().err == ""
