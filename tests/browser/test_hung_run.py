"""A server that hangs once hides the verdict; the page names the run, and a button settles it."""

import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.waiting import eventually

FAST_S, SLOW_S = 0.03, 0.06
HANGS_S = 3.0
REQUESTS, REPEATS, HUNG = 100, 4, 3
MOST_CLICKS = 4
FITS = "document.documentElement.scrollWidth <= innerWidth"
WIDTHS = (390, 1440)


class Shop(ThreadingHTTPServer):
    """Answers after `takes_s`; from its request number `hangs_at` on, nothing for 3 s, once."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, takes_s: float, hangs_at: int = 0):
        super().__init__(("127.0.0.1", 0), Answer)
        self.takes_s, self.hangs_at = takes_s, hangs_at
        self.hangs_until = 0.0
        self.count = 0
        self.lock = threading.Lock()

    def serve(self) -> None:
        with self.lock:
            self.count += 1
            if self.count == self.hangs_at:
                self.hangs_until = time.monotonic() + HANGS_S
            rest_s = self.hangs_until - time.monotonic()
        time.sleep(max(self.takes_s, rest_s))


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.serve()
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        """Not on the terminal."""


@contextmanager
def serving(shop: Shop):
    threading.Thread(target=shop.serve_forever, daemon=True).start()
    try:
        yield shop.server_address[1]
    finally:
        shop.shutdown()
        shop.server_close()


@pytest.fixture
def campaign(new_project):
    """Two ports of one target, one of which hung in the third block."""
    rest = new_project()
    hangs_at = REQUESTS * (HUNG - 1) + 10
    with serving(Shop(FAST_S)) as fast, serving(Shop(SLOW_S, hangs_at)) as slow:
        endpoints = rest.make_target(
            "shop",
            *({"scheme": "http", "host": "127.0.0.1", "port": port} for port in (fast, slow)),
        )
        load = {"model": "over", "requests": REQUESTS, "over_s": 1}
        plan = rest.make_plan("Prices", total_s=10.0, **load)
        number = rest.start("Hung", *((plan, each) for each in endpoints), repeats=REPEATS)
        rest.wait_for_state(number, "done", 180)
        tests = rest.get(f"campaigns/{number}/")["tests"]
        tests = [
            each["id"] for port in (fast, slow) for each in tests if f":{port}" in each["origin"]
        ]
        yield rest, number, tests, slow


def test_the_hung_run_is_named_and_the_repeated_block_settles_it(campaign, signed_in):
    rest, number, (first, second), slow = campaign
    page = signed_in
    page.goto(f"/campaigns/{number}/")
    page.get_by_label("Compare", exact=True).select_option(str(second))
    page.get_by_label("with", exact=True).select_option(str(first))
    page.get_by_role("button", name="Compare", exact=True).press("Enter")
    page.wait_for_url(f"**/campaigns/{number}/?compare={second}&with={first}")
    verdict = page.locator("[data-live=verdict]")
    assert "is inconclusive" in verdict.inner_text()
    step = page.locator(".next-step")
    assert re.search(rf"Run {number}\.\d decides this: in block {HUNG} it took", step.inner_text())
    see_that_it_fits(page)
    repeat_until_settled(page, rest, number)
    assert page.url.endswith(f"?compare={second}&with={first}")
    assert re.search(r"slower than shop :\d+: \+\d+", verdict.inner_text())
    assert f"shop :{slow} is slower" in verdict.inner_text()
    assert f"Without repeat {HUNG}" in verdict.inner_text()
    see_that_it_fits(page)


def repeat_until_settled(page, rest, number: int) -> None:
    """Once is enough, unless a crowded machine spoils the new block too."""
    for _ in range(MOST_CLICKS):
        page.get_by_role("button", name=f"Repeat block {HUNG}").press("Enter")
        page.get_by_text("1 block added.").wait_for()
        rest.wait_for_state(number, "done", 60)
        page.get_by_role("button", name="Run again").wait_for(timeout=20_000)
        if not page.locator(".next-step").count():
            return


def see_that_it_fits(page) -> None:
    """Wide and narrow, nothing is wider than the page."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1000})
        # Charts follow a new width in the next frames.
        eventually(lambda: page.evaluate(FITS), 5, "the page is as wide as the window")
