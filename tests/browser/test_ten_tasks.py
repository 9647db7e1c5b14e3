"""What people come for, each as a journey that ends with an answer to quote. Clicks are counted.

The first, what HTTPS costs, is `test_first_result.py`; a job of CI `test_ci.py`.
"""

import csv
import io
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import START
from tests.browser.installation import COUNT, events

pytestmark = pytest.mark.long

# A trial, a minute for all arms at most, and what other tests leave of two cores.
ANSWER_MS = 180_000


class Shop(ThreadingHTTPServer):
    """`delay_s` before each reply, `statuses` by path; /login gives a token that /me asks for.
    `turn_s`: one request after another, each for so long."""

    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ShopHandler)
        self.delay_s = 0.020
        self.turn_s = 0.0
        self.statuses: dict[str, int] = {}
        self.turn = threading.Lock()

    @property
    def endpoint(self) -> dict:
        return {"scheme": "http", "host": "127.0.0.1", "port": self.server_port}


class ShopHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    server: Shop

    def do_GET(self) -> None:
        time.sleep(self.server.delay_s)
        if self.server.turn_s:
            with self.server.turn:
                time.sleep(self.server.turn_s)
        is_known = self.path != "/me" or self.headers["Authorization"] == "Bearer t0ken"
        self._reply(self.server.statuses.get(self.path, 200) if is_known else 401)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.server.delay_s)
        self._reply(200)

    def _reply(self, status: int) -> None:
        body = json.dumps({"token": "t0ken"}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def shops():
    """Starts one more; all end with the test."""
    servers = []

    def start() -> Shop:
        server = Shop()
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def rest(new_project):
    return new_project()


@pytest.fixture
def tab(signed_in, rest):
    """At the project's campaigns; what is clicked is counted from here on."""
    signed_in.add_init_script(COUNT)
    signed_in.goto(f"/projects/{rest.project}/campaigns/?view=")
    return signed_in


def answer_of(tab) -> str:
    """The first line, once the campaign has ended."""
    tab.wait_for_url(re.compile(r"/campaigns/\d+/"), timeout=ANSWER_MS)
    tab.get_by_role("button", name=re.compile("^(Run|Search) again$")).wait_for(timeout=ANSWER_MS)
    return tab.locator("[data-live=verdict] .verdict").inner_text()


def n_clicks(tab) -> int:
    return len(events(tab, "clicks"))


def percents(sentence: str) -> list[float]:
    return [float(each) for each in re.findall(r"([\d.]+)\s?%", sentence)]


def test_is_it_slower_than_before(tab, rest, shops):
    shop = shops()
    (arm,) = rest.make_target("shop", shop.endpoint)
    plan = rest.make_plan("checkout", model="open", rate_per_s=50, duration_s=3)
    first = rest.start("Checkout", (plan, arm), repeats=3)
    rest.wait_for_state(first, "done", 120)
    shop.delay_s = 0.026
    tab.goto(f"/campaigns/{first}/")
    tab.get_by_role("button", name="Run again", exact=True).click()
    tab.get_by_role("button", name=START).click()
    answer_of(tab)
    tab.get_by_role("link", name="Compare").click()
    tab.locator("tbody th a").first.click()
    sentence = tab.locator(".verdict").first.inner_text()
    assert "slower" in sentence, sentence
    assert all(15 < each < 45 for each in percents(sentence.partition(", 95")[0])), sentence
    assert n_clicks(tab) <= 4


def test_how_much_can_it_take(tab, rest, shops):
    """150 requests a second, one after another."""
    shop = shops()
    shop.delay_s, shop.turn_s = 0.0, 1 / 150
    rest.make_target("shop", shop.endpoint)
    rest.make_plan("checkout", model="open", rate_per_s=20, duration_s=5)
    tab.get_by_role("link", name="New campaign").click()
    tab.get_by_role("link", name=re.compile("How much can it handle")).click()
    tab.get_by_label("Objective").fill("p95 < 100 ms")
    # Only so that this test is short: nobody has to open Advanced.
    tab.locator("details", has=tab.get_by_text("Advanced")).evaluate("each => each.open = true")
    tab.get_by_label("One trial measures").fill("5")
    tab.get_by_label("Ends at the latest after").fill("2")
    tab.get_by_role("button", name=re.compile("^Start (search|now)$")).click()
    sentence = answer_of(tab)
    rates = [
        float(each.replace(",", ""))
        for each in re.findall(r"([\d,.]+)\s?(?:requests)?/s", sentence)
    ]
    assert rates, sentence
    assert all(90 < rate < 165 for rate in rates), sentence
    assert n_clicks(tab) <= 3


def test_which_of_two_servers_is_faster_on_three_pages(tab, rest, shops):
    names = ("slow", "fast")
    for name in names:
        shop = shops()
        shop.delay_s = {"slow": 0.020, "fast": 0.010}[name]
        rest.make_target(name, shop.endpoint)
    for path in ("/", "/list", "/item"):
        rest.make_plan(f"page {path}", path, model="open", rate_per_s=25, duration_s=20)
    tab.get_by_role("link", name="New campaign").click()
    tab.get_by_role("link", name=re.compile("Which one is faster")).click()
    for field in ("plans", "targets"):
        tab.locator(f"button[name=pick][value={field}]").click()
        for row in tab.locator(f"[data-picker={field}] li input").all():
            row.check()
        tab.keyboard.press("Escape")
    tab.get_by_text("6 tests", exact=True).wait_for()
    tab.get_by_role("button", name=START).click()
    sentence = answer_of(tab)
    assert re.search("fast.*faster|slow.*slower", sentence), sentence
    assert n_clicks(tab) <= 10


def test_ten_users_log_in_and_use_their_token(tab, rest, shops):
    shop = shops()
    rest.make_target("shop", shop.endpoint)
    tab.goto(f"/projects/{rest.project}/plans/new/")
    tab.get_by_role("textbox", name="Name").fill("Login")
    tab.locator("[name=method]").select_option("POST")
    tab.locator("[name=path]").fill("/login")
    tab.locator("[name=part][value=body]").check(force=True)
    tab.locator("[name=body]").fill('{"user": "ann", "password": "secret"}')
    tab.locator("[name=part][value=extract]").check(force=True)
    tab.get_by_role("button", name="Save a value").click()
    tab.get_by_label("Variable").fill("token")
    tab.get_by_label("Expression").fill("$.token")
    tab.get_by_role("button", name="Add step").click()
    tab.locator("[name=step2_path]").fill("/me")
    tab.locator("[name=step2_part][value=headers]").check(force=True)
    tab.locator("[name=step2_headers]").fill("Authorization: Bearer ${token}")
    tab.locator("[name=model][value=closed]").check(force=True)
    tab.locator("[name=connections]").fill("10")
    tab.locator("[name=requests]").fill("1000")
    tab.get_by_role("button", name="Save and measure").click()
    tab.get_by_label(re.compile("HTTP :")).or_(tab.locator("[name=endpoints]")).first.wait_for()
    tab.get_by_role("button", name=START).click()
    sentence = answer_of(tab)
    assert "no errors" in sentence, sentence
    assert re.search(r"\d+ ok requests/s", sentence), sentence
    assert n_clicks(tab) <= 9


def test_why_did_it_fail(tab, rest, shops):
    shop = shops()
    shop.statuses = {"/gone": 404, "/busy": 503}
    (arm,) = rest.make_target("shop", shop.endpoint)
    dead = shops()
    (dead_arm,) = rest.make_target("shut", dead.endpoint)
    dead.shutdown()
    dead.server_close()
    for path, endpoint, words in [
        ("/gone", arm, "404 Not Found"),
        ("/busy", arm, "503 Service Unavailable"),
        ("/", dead_arm, "refused"),
    ]:
        plan = rest.make_plan(f"asks {path}", path, model="open", rate_per_s=20, duration_s=2)
        cell = {"plan": plan, "endpoint": endpoint}
        body = {"project": rest.project, "name": path, "cells": [cell]}
        campaign = rest.post("campaigns/", body)["id"]
        rest.post(f"campaigns/{campaign}/start/")
        tab.goto(f"/campaigns/{campaign}/")
        expect(tab.locator("[data-live=verdict]")).to_contain_text(words, timeout=60_000)
    assert n_clicks(tab) == 0


def test_a_link_shows_the_result_and_gives_the_csv(tab, rest, shops, browser, site):
    shop = shops()
    (arm,) = rest.make_target("shop", shop.endpoint)
    plan = rest.make_plan("checkout", model="open", rate_per_s=50, duration_s=3)
    campaign = rest.start("Checkout", (plan, arm), repeats=3)
    rest.wait_for_state(campaign, "done", 120)
    tab.goto(f"/campaigns/{campaign}/")
    sentence = answer_of(tab)
    tab.get_by_role("button", name="Share").click()
    tab.get_by_role("button", name="Create link").click()
    link = tab.locator("#link").inner_text()
    assert n_clicks(tab) == 2
    context = browser.new_context(base_url=site.url)
    visitor = context.new_page()
    visitor.goto(link)
    assert visitor.locator(".verdict").first.inner_text() == sentence
    address = visitor.get_by_role("link", name="CSV").get_attribute("href")
    rows = list(csv.reader(io.StringIO(visitor.request.get(address).text())))
    assert len(rows) > 3
    context.close()


def test_a_stop_is_seen_by_all_who_watch(tab, rest, shops, browser, site, administrators_cookies):
    shop = shops()
    (arm,) = rest.make_target("shop", shop.endpoint)
    plan = rest.make_plan("ten minutes", model="open", rate_per_s=20, duration_s=600)
    campaign = rest.start("Long", (plan, arm))
    other_context = browser.new_context(base_url=site.url, viewport={"width": 390, "height": 800})
    other_context.add_cookies(administrators_cookies)
    other = other_context.new_page()
    for each in (tab, other):
        each.goto(f"/campaigns/{campaign}/")
        rate = each.locator("[data-now-key=rate]")
        rate.filter(has_text=re.compile(r"\d")).wait_for(timeout=60_000)
    tab.get_by_role("button", name="Stop campaign").click()
    tab.locator("dialog[open]").get_by_role("button", name=re.compile("^Stop")).click()
    for each in (tab, other):
        expect(each.locator("[data-live=verdict] .verdict")).to_contain_text(
            re.compile("ms"), timeout=60_000
        )
        each.get_by_role("button", name="Run again", exact=True).wait_for(timeout=60_000)
    assert n_clicks(tab) == 2
    other_context.close()


def test_fifty_campaigns_are_put_away_and_come_back(tab, rest):
    (arm,) = rest.make_target("shop", {"scheme": "http", "host": "127.0.0.1", "port": 9})
    plan = rest.make_plan("checkout", model="open", rate_per_s=20, duration_s=2)
    cell = {"plan": plan, "endpoint": arm}
    for number in range(50):
        body = {"project": rest.project, "name": f"Trial {number}", "cells": [cell]}
        rest.post("campaigns/", body | ({"tags": ["old"]} if number < 12 else {}))
    tab.goto(f"/projects/{rest.project}/campaigns/?view=drafts&tag=old")
    tab.get_by_label("Select all").or_(tab.locator("thead input[type=checkbox]")).first.check()
    tab.get_by_role("button", name="Archive").click()
    expect(tab.get_by_text("12 campaigns archived")).to_be_visible()
    assert n_clicks(tab) <= 2
    tab.get_by_role("button", name="Undo").click()
    expect(tab.get_by_text(re.compile("12 campaigns")).first).to_be_visible()
    assert rest.get(f"campaigns/?project={rest.project}&tag=old")["count"] == 12
