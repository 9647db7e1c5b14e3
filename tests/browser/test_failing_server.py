"""A server that fails some requests is a result: the pages say so, and doubt no measurement."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest

NUMBERS = count()


class EveryFifthFails(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200 if next(NUMBERS) % 5 else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Not on the terminal."""


@pytest.fixture
def failing_run(new_project):
    rest = new_project()
    server = ThreadingHTTPServer(("127.0.0.1", 0), EveryFifthFails)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    (endpoint,) = rest.make_target("503", {"scheme": "http", "host": "127.0.0.1", "port": port})
    plan = rest.make_plan("Busy", total_s=10.0, model="over", requests=300, over_s=3)
    number = rest.start("Failing", (plan, endpoint))
    (run,) = rest.wait_for_state(number, "done", 60)
    yield rest, run
    server.shutdown()
    server.server_close()


def test_the_page_says_what_the_answers_are(failing_run, signed_in):
    rest, run = failing_run
    page, judged = signed_in, run["judgement"]
    page.goto(f"/runs/{run['id']}/")
    verdict = page.locator("[data-live=verdict]").inner_text()
    badge = page.locator(".badge").first.inner_text()
    if judged["measurement"]["state"] == "trusted":
        assert verdict.startswith("20\u202f% failed with 503 Service Unavailable")
        assert badge == "Complete, target failing"
    else:
        assert "The target was" not in verdict
        assert judged["measurement"]["reasons"][0]["text"] in verdict
    assert "240 requests: p95 ± " in verdict or "240 requests: p95 between" in verdict
    assert judged["notes"][0]["text"] in verdict
    page.goto(f"/projects/{rest.project}/runs/?precision=coarse")
    assert page.locator("tbody tr").count() == 1
