"""The main job, as a new user does it: from signing in to an answer that a colleague can open.

Nothing is mocked: every process of an installation runs, and the demo target answers for real.
"""

import csv
import io
import json
import re
import urllib.request
from pathlib import Path

import pytest

from campaigns.domain.analysis.ratio import BOUNDED, Word
from tests.browser.conftest import START
from tests.browser.installation import sign_in

SOAP = (
    '<?xml version="1.0"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/">'
    "<soap:Body><addRItoScope><scope>/testing</scope></addRItoScope></soap:Body></soap:Envelope>"
)
REQUESTS = 100
OVER_S = 1
REPEATS = 3
CAMPAIGN_MS = 90_000
OVERHEAD_COLUMNS = ("http", "https", "difference", "plot", "ratio", "increase", "share", "word")


@pytest.fixture
def colleague(site):
    """An account that exists but is a member of nothing; its name is unused before."""
    code = (
        "from django.contrib.auth.models import User;"
        "User.objects.filter(username='nora').delete();"
        "User.objects.create_user('nora', password='correct-horse-battery')"
    )
    site.run(code)
    return "nora"


def test_a_new_user_measures_what_https_costs_and_shows_it_to_others(
    page, site, browser, colleague
):
    faults = watch_for_faults(page)
    sign_in(page, site.username, site.password)

    make_project(page, "Grid services")
    project_path = re.search(r"/projects/\d+/", page.url).group()
    add_member(page, project_path, colleague)
    make_target(page, project_path, site)
    try_one_request(page, "HTTPS")
    make_plan(page, project_path)
    before = count_arrivals(site)
    campaign = start_campaign(page, project_path)

    see_it_move(page)
    see_the_same_in_a_second_window(page, campaign)
    page.get_by_role("button", name="Run again", exact=True).wait_for(timeout=CAMPAIGN_MS)
    assert page.evaluate("window.notReloaded"), "the page moved to its end without a reload"

    overhead = read_overhead(page)
    check_overhead(page, overhead)
    check_repeats(page)
    check_export(page, overhead)
    # The demo target's own log counts what the database counts, and the first requests.
    lines = Path(site.arrivals).read_text().splitlines()[before:]
    posts = [line for line in map(json.loads, lines) if line["method"] == "POST"]
    first_requests = 2
    assert len(posts) == first_requests + 2 * REPEATS * REQUESTS
    compare_two_runs(page, project_path)
    link = share(page, campaign)
    visit_as_a_stranger(browser, site, link, campaign, overhead)
    revoke(page, project_path)
    assert status_of(link) == 404
    assert faults == []


def watch_for_faults(page) -> list[str]:
    """What the browser complains about: script errors, refused inline code, failed requests.

    A form that is answered with 422 is what the journey asks for, and no fault.
    """
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(f"page error: {error}"))
    page.on(
        "console",
        lambda message: (
            message.type == "error"
            and " 422 " not in message.text
            and faults.append(f"console: {message.text}")
        ),
    )
    return faults


def make_project(page, name):
    page.goto("/projects/new/")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create project").click()
    page.wait_for_url(re.compile(r"/projects/\d+/"))


def add_member(page, project_path, username):
    page.goto(f"{project_path}members/")
    page.locator("[name=username]").fill(username)
    page.locator("form [name=role]").last.select_option("viewer")
    page.get_by_role("button", name="Add member").click()
    page.get_by_role("rowheader", name=username).wait_for()


def make_target(page, project_path, site):
    page.goto(f"{project_path}targets/new/")
    page.locator("#id_name").fill("gcube-testing-node")
    if page.locator("[data-row] [name=host]").count() < 2:
        page.get_by_role("button", name="Add an endpoint").click()
    for row, scheme in enumerate(("http", "https")):
        page.locator("[name=scheme]").nth(row).select_option(scheme)
        page.locator("[name=host]").nth(row).fill("127.0.0.1")
        # A wrong port first: it is answered beside the field and nothing typed is lost.
        page.locator("[name=port]").nth(row).fill("999999" if row else str(site.port_of(scheme)))
    page.locator("[name=verify_tls]").nth(1).select_option("no")
    page.get_by_role("button", name="Create target").click()
    page.locator(".row-error").wait_for()
    assert page.locator("#id_name").input_value() == "gcube-testing-node"
    assert page.locator("[name=host]").nth(1).input_value() == "127.0.0.1"
    page.locator("[name=port]").nth(1).fill(str(site.port_of("https")))
    page.get_by_role("button", name="Create target").click()
    page.wait_for_url(re.compile(r"/targets/\d+/"))


def try_one_request(page, scheme):
    page.locator("#id_path").fill("/soap")
    page.get_by_role("button", name=re.compile(f"Try {scheme}")).click()
    page.wait_for_url(re.compile(r"/probes/\d+/"))
    page.locator("[data-finished=yes]").wait_for(timeout=20_000)
    parts = page.locator("[data-parts] tbody th").all_inner_texts()
    assert {"connect", "tls", "send", "wait", "receive"} <= set(parts)
    text = page.locator("main").inner_text()
    assert "TLSv1.3" in text or "TLS 1.3" in text
    assert "self-signed" in text


def make_plan(page, project_path):
    page.goto(f"{project_path}plans/new/")
    page.locator("#id_name").fill("addRItoScope")
    page.locator("[name=method]").select_option("POST")
    page.locator("#id_path").fill("/soap")
    page.locator("[name=part][value=headers]").check(force=True)
    page.locator("#id_headers").fill("Content-Type: text/xml; charset=utf-8")
    page.locator("[name=part][value=body]").check(force=True)
    page.locator("[name=files]").set_input_files(
        files=[{"name": "soap.xml", "mimeType": "text/xml", "buffer": SOAP.encode()}]
    )
    page.locator("[name=model][value=over]").check(force=True)
    page.locator("#id_requests").fill("no idea")
    page.locator("#id_over_s").fill(str(OVER_S))
    page.locator("#group-connections > summary").click()
    page.locator("[name=connection_mode][value=new]").check(force=True)
    page.get_by_role("button", name="Save plan", exact=True).click()
    page.locator(".error").first.wait_for()
    assert page.locator("#id_body").input_value() == SOAP
    page.locator("#id_requests").fill(str(REQUESTS))
    page.locator("[data-estimate=requests]").get_by_text(str(REQUESTS)).wait_for()
    page.get_by_role("button", name="Save plan", exact=True).click()
    page.wait_for_url(re.compile(r"/plans/\d+/"))


def start_campaign(page, project_path) -> str:
    page.goto(f"{project_path}campaigns/new/")
    for endpoint in page.locator("[name=endpoints]").all():
        endpoint.check()
    for mode in ("new", "resumed", "keep-alive"):
        page.locator(f"#mode-{mode}").set_checked(mode == "new")
    page.locator("#advanced > summary").click()
    # Blocks, of which the target's log counts exactly what was planned.
    page.locator("[name=order][value=blocks]").check(force=True)
    page.locator("#id_repeats").fill(str(REPEATS))
    page.locator("#id_pause_s").fill("0.2")
    page.locator("[data-live=cost]").get_by_text(f"{REPEATS} times each").wait_for()
    page.get_by_role("button", name=START).click()
    page.wait_for_url(re.compile(r"/campaigns/\d+/"))
    return re.search(r"/campaigns/\d+/", page.url).group()


def see_it_move(page):
    """Live figures appear without a reload."""
    page.evaluate("window.notReloaded = true")
    rate = page.locator("[data-now-key=rate]")
    rate.filter(has_text=re.compile(r"\d")).wait_for(timeout=40_000)
    assert page.evaluate("window.notReloaded")


def see_the_same_in_a_second_window(page, campaign):
    second = page.context.new_page()
    second.goto(campaign)
    second.locator("[data-now-key=p50]").filter(has_text=re.compile(r"\d")).wait_for(timeout=40_000)
    second.close()


def number(text: str) -> float:
    plain = text.split("\n")[0].replace("\u2212", "-")
    return float(re.sub(r"[^\d.-]", "", plain))


def read_overhead(page) -> dict[str, str]:
    """The overhead of the mean as the page shows it, both forms."""
    page.locator("#all-metrics > summary").click()
    row = page.locator("[data-live=overhead] .forest-row.is-primary").first
    cells = [cell.strip().replace("−", "-") for cell in row.locator("td").all_inner_texts()]
    return dict(zip(OVERHEAD_COLUMNS, cells, strict=True))


def check_overhead(page, overhead):
    """Figures, word and sentence tell the same story. On a crowded machine it may be another one
    than that TLS costs something; in which column a run counts, its export shows."""
    http, https = number(overhead["http"]), number(overhead["https"])
    increase, share_percent = number(overhead["increase"]), number(overhead["share"])
    ratio = number(overhead["ratio"].split()[0])
    assert http > 0
    assert https > 0
    assert increase == pytest.approx((ratio - 1) * 100, rel=0.01, abs=1)
    assert share_percent == pytest.approx((1 - 1 / ratio) * 100, abs=1)
    word, sentence = overhead["word"], page.locator("[data-live=verdict] .verdict").inner_text()
    assert word in sentence
    assert word in (Word.SAME, *BOUNDED, Word.SLOWER if ratio > 1 else Word.FASTER)


def check_repeats(page):
    """Each of the two tests has a row a run, with all of its requests, a mean row and a pooled row.

    Pooled are the usable runs; where a crowded machine left none, all.
    """
    tables = page.locator("[data-live=tables] table")
    assert tables.count() == 2
    for index in range(2):
        rows = tables.nth(index).locator("tbody tr")
        *runs, _, pool = [row.locator("td").last.inner_text() for row in rows.all()]
        n_spoilt = rows.filter(has_text="No answer").count()
        n_pooled = REPEATS - n_spoilt or REPEATS
        assert runs == [str(REQUESTS)] * REPEATS
        assert pool == str(n_pooled * REQUESTS)


def check_export(page, overhead):
    """The CSV has the page's figures to the last digit."""
    address = page.get_by_role("link", name="Tables as CSV").first.get_attribute("href")
    text = page.request.get(address).text()
    cells = {cell for row in csv.reader(io.StringIO(text)) for cell in row}
    assert overhead["http"] in cells
    assert overhead["https"] in cells
    assert overhead["increase"].lstrip("+") in {cell.lstrip("+") for cell in cells}
    tidy = page.get_by_role("link", name="Export CSV").get_attribute("href")
    rows = list(csv.DictReader(io.StringIO(page.request.get(tidy).text())))
    assert [row["ok"] for row in rows] == [str(REQUESTS)] * 2 * REPEATS
    # On a busy machine the medians without the injector's part are compared.
    label = page.locator("[data-live=overhead] .forest-row.is-primary th").first.inner_text()
    column = "response_mean_us" if label.startswith("average") else "undelayed_p50_us"
    for scheme in ("http", "https"):
        each_ms = [
            float(row[column]) / 1000 for row in rows if row["endpoint"].startswith(f"{scheme}:")
        ]
        assert len(each_ms) == REPEATS
        assert min(each_ms) - 0.06 <= number(overhead[scheme]) <= max(each_ms) + 0.06


def count_arrivals(site) -> int:
    """Requests in the demo target's own log so far; other tests share the target."""
    return len(Path(site.arrivals).read_text().splitlines())


def compare_two_runs(page, project_path):
    page.goto(f"{project_path}runs/")
    ticks = page.locator("input[name=run]")
    assert ticks.count() == 2 * REPEATS
    ticks.nth(0).check(force=True)
    ticks.nth(1).check(force=True)
    page.locator("[data-compare]").click()
    page.wait_for_url(re.compile(r"/compare/\?a=run-\d+&b=run-\d+"))
    assert page.locator("table").count() >= 2
    page.locator("canvas").first.wait_for()


def share(page, campaign) -> str:
    page.goto(campaign)
    page.get_by_role("button", name="Share").click()
    page.locator("#share-days").fill("7")
    page.get_by_role("button", name="Create link").click()
    return page.locator("#link").inner_text()


def visit_as_a_stranger(browser, site, link, campaign, overhead):
    """Without an account: that page, and nothing else."""
    context = browser.new_context(base_url=site.url)
    visitor = context.new_page()
    visitor.goto(link)
    assert read_overhead(visitor) == overhead
    text = visitor.content()
    assert "addRItoScope</scope>" not in text
    assert "<scope>/testing" not in text
    assert 'href="/runs/' not in text
    visitor.goto(campaign)
    assert "/login/" in visitor.url
    context.close()


def revoke(page, project_path):
    page.goto(f"{project_path}shares/")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Revoke").click()
    confirm = page.locator("dialog[open] button.button-danger")
    if confirm.count():
        confirm.click()
    page.get_by_text("No active links").wait_for()


def status_of(link) -> int:
    try:
        return urllib.request.urlopen(link, timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code
