"""Each preset of the earlier studies, from its button to the rows of the original document.

Every process runs, and the demo target answers. A test lowers the amount only, in the form, as a
person would who has no hours; what is sent must then be exactly as much.
"""

import re
from dataclasses import dataclass, field

import pytest

from tests.browser.rest import sign_in

CAMPAIGN_MS = 90_000
# A campaign just before may still be keeping both cores busy.
ACTION_MS = 30_000


@pytest.fixture(scope="module")
def project(site) -> int:
    """A project whose one target is the demo target over HTTP, HTTPS and WebSocket."""
    rest = sign_in(site, "Presets")
    schemes = {"http": "http", "https": "https", "ws": "http"}
    rest.make_target(
        "demo",
        *(
            {
                "scheme": scheme,
                "host": "127.0.0.1",
                "port": site.port_of(port),
                "verify_tls": False,
            }
            for scheme, port in schemes.items()
        ),
    )
    return rest.project


@dataclass(frozen=True)
class Measured:
    """A campaign that has ended, and the tab that shows it."""

    page: object
    tables: dict[str, list[dict[str, str]]] = field(default_factory=dict)

    def table(self, caption: str) -> list[dict[str, str]]:
        """The rows of the table whose name begins so: {column: text}, the label at ""."""
        return next(rows for name, rows in self.tables.items() if name.startswith(caption))


@pytest.fixture
def measure(signed_in, project):
    """Click a preset, change `plan` and `campaign` fields, start, and wait for the end."""

    def click_through(preset: str, plan: dict | None = None, campaign: dict | None = None):
        page = signed_in
        page.set_default_timeout(ACTION_MS)
        page.goto(f"/projects/{project}/plans/new/")
        page.locator(f".preset-links a[href='?preset={preset}']").click()
        page.locator("#id_name").fill(f"{preset}, in the browser")
        fill(page, plan or {})
        page.get_by_role("button", name="Create plan and campaign").click()
        page.wait_for_url(re.compile(r"/campaigns/new/"))
        fill(page, {"pause_s": "0", **(campaign or {})})
        page.get_by_role("button", name="Start campaign").click()
        page.wait_for_url(re.compile(r"/campaigns/\d+/"))
        page.get_by_role("button", name="Run again").wait_for(timeout=CAMPAIGN_MS)
        return Measured(page, tables_of(page))

    return click_through


def fill(page, values: dict[str, str]) -> None:
    for name, value in values.items():
        page.locator(f"#id_{name}").fill(value)


READ_TABLES = """() => [...document.querySelectorAll('main table')].map((table) => [
  table.caption?.textContent.trim().replace(/\\s+/g, ' ') ?? '',
  [...(table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? [])].map((cell) =>
    cell.innerText.split('\\n')[0].trim()),
  [...table.tBodies].flatMap((body) => [...body.rows]).map((row) =>
    [...row.cells].map((cell) => cell.innerText.trim())),
])"""


def tables_of(page) -> dict[str, list[dict[str, str]]]:
    found = {}
    for caption, heads, rows in page.evaluate(READ_TABLES):
        found[caption] = [dict(zip(["", *heads[1:]], row, strict=False)) for row in rows]
    return found


def number(text: str) -> float:
    plain = text.split("\n")[0].replace("\u2212", "-")
    return float(re.sub(r"[^\d.-]", "", plain))


def open_last_run(measured: Measured) -> Measured:
    page = measured.page
    page.locator("table.runs tbody th a").last.click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))
    return Measured(page, tables_of(page))


def report(page, style: str) -> dict[str, str]:
    """The lines of the disclosed report, by what stands before their colon."""
    disclosure = page.locator(f"details[data-style={style}]")
    disclosure.locator("summary").click()
    text = disclosure.locator("pre").inner_text()
    address = disclosure.get_by_role("link", name="Download as text").get_attribute("href")
    assert page.request.get(address).text().strip() == text.strip()
    lines = [line.partition(":") for line in text.splitlines() if ":" in line]
    return {name.strip(): rest.strip() for name, _, rest in lines}


# Every row of the reports in the documents that this product was founded on.
AB_ROWS = {
    "Server Software", "Server Hostname", "Server Port", "SSL/TLS Protocol", "Document Path",
    "Document Length", "Concurrency Level", "Time taken for tests", "Complete requests",
    "Failed requests", "Write errors", "Total transferred", "HTML transferred",
    "Requests per second", "Time per request", "Transfer rate", "Connect", "Processing", "Waiting",
    "Total",
}  # fmt: skip
HTTPERF_ROWS = {
    "Maximum connect burst length", "Total", "Connection rate", "Connection time [ms]",
    "Connection length [replies/conn]", "Request rate", "Request size [B]",
    "Reply rate [replies/s]", "Reply time [ms]", "Reply size [B]", "Reply status", "CPU time [s]",
    "Net I/O", "Errors",
}  # fmt: skip


def test_ab_over_https_has_ab_s_rows(measure):
    run = open_last_run(measure("ab"))
    lines = report(run.page, "ab")
    assert AB_ROWS - lines.keys() == set()
    transferred = int(lines["HTML transferred"].split()[0])
    assert transferred == 1000 * int(lines["Document Length"].split()[0])
    assert transferred < int(lines["Total transferred"].split()[0])
    assert lines["Concurrency Level"] == "50"
    assert lines["Complete requests"] == "1000"
    assert lines["Failed requests"] == "0"
    assert lines["SSL/TLS Protocol"].startswith("TLSv1.")
    for row in ("Requests per second", "Time per request", "Mean time between ends"):
        assert number(lines[row]) > 0, row
    for row in ("Connect", "TLS", "Processing", "Waiting", "Total"):
        low, mean, deviation, median, high = map(float, lines[row].split())
        assert low <= mean <= high, row
        assert low <= median <= high, row
        assert deviation >= 0
    percentages = run.page.locator("details[data-style=ab] pre").inner_text()
    for share in (50, 66, 75, 80, 90, 95, 98, 99):
        assert re.search(rf"^ +{share}% +[\d.]+$", percentages, re.MULTILINE), share
    assert "(longest request)" in percentages


def test_httperf_one_after_another_has_its_six_groups(measure):
    run = open_last_run(measure("httperf-1000"))
    lines = report(run.page, "httperf")
    assert HTTPERF_ROWS - lines.keys() == set()
    assert lines["Maximum connect burst length"] == "1", "one after another"
    head, body, footer, whole = map(float, re.findall(r"[\d.]+", lines["Reply size [B]"]))
    assert head + body + footer == pytest.approx(whole, abs=0.2)
    assert body > 0
    assert lines["Total"].startswith("connections 1000 requests 1000 replies 1000 test-duration")
    for group in ("Connection rate", "Request rate", "Net I/O", "Reply status"):
        assert group in lines
    text = run.page.locator("details[data-style=httperf] pre").inner_text()
    assert "2xx=1000" in text
    assert "Errors: total 0 client-timo 0" in text
    assert re.search(r"Connection time \[ms\]: min [\d.]+ avg [\d.]+ max [\d.]+ median", text)
    assert "Connection length [replies/conn]: 1.000" in text


def test_httperf_at_a_rate_opens_exactly_as_many_in_that_time(measure):
    run = open_last_run(measure("httperf"))
    total = report(run.page, "httperf")["Total"]
    assert total.startswith("connections 100 requests 100 replies 100 test-duration")
    assert 9.8 < float(total.split()[-2]) < 11.5


@pytest.mark.parametrize(("preset", "over_s"), [("over-10", "2"), ("over-100", "4")])
def test_soap_over_http_and_https_ends_in_both_percentages(measure, preset, over_s):
    found = measure(preset, {"over_s": over_s}, {"repeats": "1"})
    overhead = found.table("Overhead of HTTPS")
    rows = {row[""]: list(row.values()) for row in overhead if len(row) > 5}
    for metric in ("average", "min", "max"):
        http, https, difference = (number(text) for text in rows[metric][1:4])
        assert http > 0
        assert https > 0
        assert difference == pytest.approx(https - http, abs=0.02 * max(http, https))
    http, https = (number(text) for text in rows["average"][1:3])
    increase, share_of_https = (number(text) for text in rows["average"][6:8])
    assert increase == pytest.approx((https - http) / http * 100, rel=0.05)
    assert share_of_https == pytest.approx((https - http) / https * 100, rel=0.05)
    run = open_last_run(found)
    run.page.locator("details[data-style=jmeter] summary").click()
    summary = run.page.locator("details[data-style=jmeter] pre").inner_text()
    assert re.search(r"^TOTAL +100 ", summary, re.MULTILINE)


@pytest.mark.parametrize(
    ("preset", "plan", "n"),
    [("l1", {}, 1000), ("l2", {"requests": "1000", "block_repeat": "200"}, 1000), ("l3", {}, 1000)],
)
def test_the_local_tests_have_a_row_for_each_run_and_their_mean(measure, preset, plan, n):
    repeats = 2
    found = measure(preset, plan, {"repeats": f"{repeats}"})
    rows = found.table(f"{preset}, in the browser")
    assert [row[""].split("\n")[0] for row in rows[:repeats]] == ["Repeat 1", "Repeat 2"]
    # Of runs that a crowded machine spoilt there may be fewer than were made.
    n_counted = int(re.match(r"Mean of (\d)", rows[repeats][""])[1])
    for row in rows[:repeats]:
        assert number(row["n"]) == n
        total_s, mean_ms = number(row["time"]), number(row["average"])
        assert total_s * 1000 / n >= mean_ms * 0.99, "one after another"
        assert number(row["min"]) <= mean_ms <= number(row["max"])
    assert number(rows[repeats + 1]["n"]) == n_counted * n
    if preset != "l1":
        steps = open_last_run(found).table("Steps")
        files = [number(row["n"]) for row in steps[1:]]
        assert len(files) == 5
        assert sum(files) == n
        assert preset == "l3" or files == [200] * 5


def test_r99_has_a_row_for_each_phase(measure):
    # Enough for the first injector to be at work still when the second one begins, a second later.
    run = open_last_run(measure("r99-1", {"requests": "8000"}))
    phases = run.table("Phases")
    labels = [row[""] for row in phases]
    assert labels[:2] == ["I: 1", "II: 1 + 2"]
    assert labels[-1] == "All phases"
    assert number(phases[-1]["n"]) == 24_000
    assert sum(number(row["n"]) for row in phases[:-1]) == 24_000
    assert number(phases[0]["time"]) == pytest.approx(1.0, abs=0.02)


def test_the_sweep_has_a_row_for_each_number_of_injectors(measure):
    found = measure("r99-2", {"requests": "300"}, {"injectors": "1, 2, 12"})
    rows = found.table("r99-2, in the browser")
    assert [row[""] for row in rows] == [
        "1 injector process",
        "2 injector processes",
        "12 injector processes",
    ]
    assert [number(row["n"]) for row in rows] == [300, 600, 3600]
    for row in rows:
        rate, between_ms = number(row["ok requests/s"]), number(row["between ends"])
        assert between_ms == pytest.approx(1000 / rate, rel=0.02)
        assert row["errors"] == "0"
        assert row["validity"] in {"valid", "suspicious", "invalid"}
    assert found.page.locator(".sweep-dot").count() >= 6


def test_wsperf_has_its_table_of_handshakes(measure):
    run = open_last_run(measure("wsperf", {"requests": "1000"}))
    lines = report(run.page, "wsperf")
    assert (lines["Total"], lines["Success"], lines["Fail"]) == ("4000", "4000", "0")
    assert lines["Fail %"] == "0.00"
    assert number(lines["Handshakes/sec"]) > 0
    for row in ("Min", "SD", "Avg", "Median", "q90", "q95", "q99", "Max"):
        assert len(lines[row].split()) == 4, f"{row}: TCP, opening, closing, whole"
    assert lines["q99.99"].split() == ["–"] * 4, "4,000 are too few for it"
    assert "Marks per injector" in lines
