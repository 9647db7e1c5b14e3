"""Why did it fail? A path that does not exist, as a reader sees it."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class NothingThere(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b'{"error": "no such route", "see": "/v3/"}'
        self.send_response(404)
        self.send_header("Set-Cookie", "session=s3cr3t")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Not on the terminal."""


@pytest.fixture
def not_found(new_project):
    rest = new_project()
    server = ThreadingHTTPServer(("127.0.0.1", 0), NothingThere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield rest, server.server_address[1]
    server.shutdown()
    server.server_close()


def campaign_on(rest, port: int) -> int:
    (endpoint,) = rest.make_target("shop", {"scheme": "http", "host": "127.0.0.1", "port": port})
    plan = rest.make_plan("Prices", "/v2/prices", total_s=5.0, model="over", requests=60, over_s=1)
    number = rest.start("Smoke", (plan, endpoint), repeats=3)
    rest.wait_for_state(number, "done", 120)
    return number


def test_a_path_that_does_not_exist_is_said_first_with_an_open_example(not_found, signed_in):
    rest, port = not_found
    number = campaign_on(rest, port)
    page = signed_in
    page.goto(f"/campaigns/{number}/")
    said = page.locator("[data-live=verdict]").inner_text()
    assert said.startswith("Stopped after run 1: 404 Not Found to all 60 requests.")
    example = page.locator("#example-0")
    assert example.get_attribute("open") is not None
    assert '{"error": "no such route", "see": "/v3/"}' in example.inner_text()
    assert "Set-Cookie: session=[hidden]" in example.inner_text()
    example.locator("summary").press("Enter")
    assert example.get_attribute("open") is None
    first = next(run for run in rest.runs(number) if run["position"] == 1)
    page.goto(f"/runs/{first['id']}/")
    said = page.locator("[data-live=verdict]").inner_text()
    assert "404 Not Found to all 60 requests since the first second." in said
    assert "The failed replies took" in said
