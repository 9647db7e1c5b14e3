"""A WebSocket campaign, from trying one connection to its answer: ws and wss on the demo target."""

import re

import pytest

CAMPAIGN_MS = 120_000
CONNECTIONS = 120
MESSAGES = 3


@pytest.fixture
def project(site, new_project) -> str:
    """The path of a project with the demo target's WebSocket endpoints."""
    rest = new_project()
    ends = [("ws", site.port_of("http"), True), ("wss", site.port_of("https"), False)]
    rest.make_target(
        "echo",
        *(
            {"scheme": scheme, "host": "127.0.0.1", "port": port, "verify_tls": verify}
            for scheme, port, verify in ends
        ),
    )
    return f"/projects/{rest.project}/"


def test_a_websocket_campaign_goes_from_one_connection_to_an_answer(signed_in, project):
    faults = []
    signed_in.on("pageerror", lambda error: faults.append(str(error)))
    try_one_connection(signed_in, project)
    make_plan(signed_in, project)
    start_campaign(signed_in, project)
    signed_in.get_by_role("button", name="Run again").wait_for(timeout=CAMPAIGN_MS)
    check_answer(signed_in)
    check_run(signed_in)
    assert faults == []


def try_one_connection(page, project):
    page.goto(f"{project}targets/")
    page.get_by_role("link", name="echo").first.click()
    page.locator("[name=message]").fill("hello")
    page.get_by_role("button", name=re.compile("Try WSS")).click()
    page.locator("[data-finished=yes]").wait_for(timeout=20_000)
    parts = page.locator("[data-parts] tbody th").all_inner_texts()
    assert parts == ["connect", "tls", "handshake", "exchange", "close", "response"]
    text = page.inner_text("main")
    for words in (
        "101 Switching Protocols",
        "answers the key",
        "identical to what was sent",
        "1000, normal",
    ):
        assert words in text, words


def make_plan(page, project):
    page.goto(f"{project}plans/new/")
    page.locator("#id_name").fill("Chat")
    page.get_by_text("WebSocket", exact=True).click()
    for hidden in (
        "#id_expected_status",
        "#id_path",
        "[name=arrival_unit]",
        "[name=connection_mode][value=keep-alive]",
    ):
        assert page.locator(hidden).first.is_hidden(), hidden
    page.locator("#id_ws_messages").fill(str(MESSAGES))
    page.get_by_text("On N connections").click()
    page.locator("#id_connections").fill("4")
    page.locator("[name=stop][value=requests]").check(force=True)
    page.locator("#id_requests").fill(str(CONNECTIONS))
    page.get_by_role("button", name="Create plan", exact=True).click()
    page.wait_for_url(re.compile(r"/plans/\d+/"))
    assert f"{MESSAGES} per connection, 64 B, text" in page.inner_text("main")


def start_campaign(page, project):
    page.goto(f"{project}campaigns/new/")
    page.locator("#id_name").fill("What does wss cost?")
    for box in page.locator("[name=cells]").all():
        box.set_checked(box.get_attribute("aria-label").endswith(" new"), force=True)
    page.locator("#id_repeats").fill("1")
    page.locator("#id_pause_s").fill("0.2")
    page.get_by_role("button", name="Start campaign", exact=True).click()
    page.wait_for_url(re.compile(r"/campaigns/\d+/"))


def check_answer(page):
    text = page.inner_text("main")
    assert "Overhead of WSS" in text
    assert "HTTP" not in text.replace("127.0.0.1", "")
    timings = page.locator("table", has_text="Handshakes and messages")
    assert timings.locator("tbody th").all_inner_texts() == [
        f"{scheme} new connection: {part}"
        for scheme in ("WS", "WSS")
        for part in ("handshake", "message", "close")
    ]
    counts = page.locator("table", has_text="Connections and close codes")
    assert "closed 1000" in counts.inner_text()
    assert counts.locator("tbody tr").first.locator("td").first.inner_text() == str(CONNECTIONS)


def check_run(page):
    page.locator("[data-live=runs] tbody th a").first.click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))
    for panel in ("open", "messages"):
        assert page.locator(f"[data-panel={panel}]").is_visible(), panel
    codes = page.locator("table", has_text="Close codes").locator("tbody tr")
    assert codes.count() == 1
    assert "normal closure" in codes.inner_text()
    assert f"{MESSAGES * CONNECTIONS} messages sent" in page.inner_text("main")
