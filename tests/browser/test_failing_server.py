"""A server that fails some requests is a result: the pages say so, and doubt no measurement."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

import pytest

PICTURES = Path(__file__).resolve().parents[2] / "var" / "browser"
LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (1440, 390)]
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
def campaign(new_project):
    rest = new_project()
    server = ThreadingHTTPServer(("127.0.0.1", 0), EveryFifthFails)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    (endpoint,) = rest.make_target("503", {"scheme": "http", "host": "127.0.0.1", "port": port})
    plan = rest.make_plan("Busy", total_s=10.0, model="over", requests=300, over_s=5)
    number = rest.start("Failing", (plan, endpoint), repeats=3)
    rest.wait_for_state(number, "done", 120)
    yield rest, number
    server.shutdown()
    server.server_close()


def test_the_pages_say_what_the_answers_are(campaign, signed_in):
    rest, number = campaign
    page = signed_in
    for row in rest.runs(number):
        judged = row["judgement"]
        page.goto(f"/runs/{row['id']}/")
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
    look_at(page, "failing-run")
    page.goto(f"/campaigns/{number}/")
    look_at(page, "failing-campaign")
    page.goto(f"/projects/{rest.project}/runs/?precision=coarse")
    assert page.locator("tbody tr").count() == 3
    look_at(page, "failing-history")


def look_at(page, name: str) -> None:
    """Leaves pictures, light and dark, wide and narrow."""
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 1000})
        page.screenshot(path=PICTURES / f"{name}-{scheme}-{width}.png", full_page=True)
