"""What a pointer or the keyboard reads in charts is what the server made of the figures."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.kept_requests import pack
from campaigns.models import Campaign, MachineSecond, RequestsOfShard, Run, Test
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
    store_second,
)
from tests.histories import make_history
from tests.measured import (
    end,
    end_shards,
    https_campaign,
    measure,
    responses_us,
    run_in_blocks,
    spoil,
)
from tests.searches import limit_of, search_through, searching
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db(transaction=True)


SECONDS, RATE = 5, 50
# Charts are drawn one after another.
DRAWN = "panel => window.Chart?.getChart(document.querySelector(`${panel} canvas`))"


@pytest.fixture
def short_campaign(project):
    """A campaign of one run of five seconds, each slower than the one before, and the run."""
    campaign = make_campaign(project, "Short", repeats=2, **just_now())
    spec = plan_spec(model="open", rate_per_s=RATE, duration_s=SECONDS)
    run = make_run(make_test(campaign, make_plan(project, "five seconds", spec)))
    for second in range(SECONDS):
        store_second(run, make_second(second, responses_us(10_000 + 1_000 * second, RATE - second)))
    end_shards(run, last_second=SECONDS - 1, end={"duration_us": SECONDS * 1_000_000})
    return campaign.pk, end(run, Outcome.COMPLETE).pk


@pytest.fixture
def alices_tab(alices_tab, alice):
    """A tab of alice, who owns the project."""
    return alices_tab


def read(page, panel: str, x: int) -> str:
    """What stands in the panel's title line while the pointer is over its chart."""
    figure = page.locator(panel)
    page.wait_for_function(DRAWN, arg=panel)
    figure.locator("canvas").hover(position={"x": x, "y": 60})
    readout = figure.locator(".readout")
    readout.filter(has_text=re.compile(r"\S")).wait_for()
    return readout.inner_text()


def test_the_charts_of_a_run_say_the_texts_of_its_points_and_percentiles(
    alices_tab, short_campaign
):
    _, run = short_campaign
    alices_tab.goto(f"/runs/{run}/")
    points = alices_tab.evaluate("JSON.parse(document.getElementById('points').textContent)")
    readout = read(alices_tab, "[data-panel=response]", 200)
    nth = points["at"].index(re.match(r"\d+ s", readout)[0])
    assert readout.split() == f"{points['at'][nth]} {points['response_text'][nth]}".split()
    requests = alices_tab.locator("[data-panel=requests] .readout").inner_text()
    assert points["requests_text"][nth] in requests
    label, *_, ms = read(alices_tab, "[data-charts=percentiles]", 200).split()
    assert (label, ms) in percentiles_on(alices_tab)


def percentiles_on(page) -> list[tuple[str, str]]:
    """What the specification of the chart has at its places."""
    spec = page.evaluate("JSON.parse(document.getElementById('charts-percentiles').textContent)")
    line = spec["panels"][0]["series"][0]
    texts = dict(zip(line["x"], line["texts"], strict=True))
    places = spec["places"]
    return [(at, texts[x]) for x, at in zip(places["x"], places["at"], strict=True)]


def keep_requests(run: int) -> None:
    """The requests of `short_campaign`, one failed, and one of the warm-up."""
    n = Run.objects.get(pk=run).n
    columns = {
        "number": [None, *range(1, n + 1)],
        "start_us": [-500_000, *(20_000 * place for place in range(n))],
        "response_us": [9000, *(10_000 + 100 * place for place in range(n))],
        "step": [0] * (n + 1),
        "status": [*[200] * n, 0],
        "kind": [*[""] * n, "reset"],
    }
    line = {"is_all": True, "columns": columns}
    RequestsOfShard.objects.create(run_id=run, shard=0, packed=pack(line))


def test_arrow_keys_read_each_request_of_a_short_run_as_its_table_has_it(
    alices_tab, short_campaign
):
    _, run = short_campaign
    keep_requests(run)
    alices_tab.goto(f"/runs/{run}/")
    chart = alices_tab.locator("[data-charts=requests]")
    chart.scroll_into_view_if_needed()
    alices_tab.wait_for_function(DRAWN, arg="[data-charts=requests]")
    chart.focus()
    readouts = []
    for _ in range(2):
        alices_tab.keyboard.press("ArrowRight")
        readouts.append(chart.locator(".readout").inner_text())
    assert readouts == ["warm-up 9.00 ms, 200", "no. 1 10.0 ms, 200"]
    alices_tab.keyboard.press("Escape")
    alices_tab.keyboard.press("ArrowLeft")
    assert chart.locator(".readout").inner_text().endswith("reset")
    rows = rows_of(alices_tab, "[data-charts=requests]")
    assert rows[1] == ["no. 1", "0.000", "add", "10.0", "200"]


def rows_of(page, frame: str) -> list[list[str]]:
    """The rows of the table that the chart shows on demand."""
    page.locator(f"{frame} [data-chart-table] > summary").click()
    rows = page.locator(f"{frame} [data-chart-table] tbody tr")
    rows.first.wait_for()
    return [row.locator("th, td").all_inner_texts() for row in rows.all()]


def test_arrow_keys_read_what_a_table_shows_at_once(alices_tab, short_campaign):
    campaign, run = short_campaign
    alices_tab.goto(f"/runs/{run}/")
    points = alices_tab.evaluate("JSON.parse(document.getElementById('points').textContent)")
    seconds = rows_of(alices_tab, "[data-over-time]")
    keys = ("at", "requests_text", "response_text")
    for nth, row in enumerate(seconds):
        assert [text.split() for text in row] == [points[key][nth].split() for key in keys]
    assert len(seconds) == len(points["second"])
    percentiles = rows_of(alices_tab, "[data-charts=percentiles]")
    assert [tuple(row) for row in percentiles] == percentiles_on(alices_tab)
    plot = alices_tab.locator("[data-charts=percentiles]")
    plot.focus()
    for name, text in percentiles:
        alices_tab.keyboard.press("ArrowRight")
        assert plot.locator(".readout").inner_text().split() == f"{name} this run {text}".split()
    alices_tab.keyboard.press("Escape")
    assert plot.locator(".readout").inner_text() == ""
    alices_tab.goto(f"/campaigns/{campaign}/")
    blocks = "[data-charts=blocks-0]"
    (block, mean), (other, _) = rows_of(alices_tab, blocks)
    alices_tab.locator(blocks).focus()
    alices_tab.keyboard.press("ArrowRight")
    assert alices_tab.locator(f"{blocks} .readout").inner_text().split()[-1] == mean
    assert (block, other) == ("block 1", "block 2")


def test_one_crosshair_reads_a_trial_of_a_search_and_how_busy_everyone_was(alices_tab, project):
    campaign = searching(project, limit=900)
    search_through(campaign, limit_of(5000))
    alices_tab.goto(f"/campaigns/{campaign.pk}/")
    around = alices_tab.locator("[data-charts=trials]")
    around.focus()
    around.press("ArrowRight")
    trials, busy = (around.locator(f"[data-panel={key}] .readout") for key in ("trials", "busy"))
    rate, _, trial, *_ = trials.inner_text().split()
    assert busy.inner_text().split() == [rate, "injector", "CPU", "46", "%"]
    around.press("Enter")
    row = alices_tab.locator("tr:target")
    assert row.locator("th").inner_text() == trial.rstrip(":")
    around.focus()
    around.press("Escape")
    assert trials.inner_text() == ""


def test_one_crosshair_reads_a_value_of_a_sweep_in_all_its_curves(alices_tab, project):
    campaign = make_campaign(project, "Sweep", repeats=1, **just_now())
    version, endpoint = make_plan(project), make_endpoint(make_target(project))
    for injectors, mean_us in ((1, 10_000), (2, 12_000)):
        run = make_run(make_test(campaign, version, endpoint=endpoint, injectors=injectors))
        spoil(measure(run, mean_us, n=500 * injectors))
    alices_tab.goto(f"/campaigns/{campaign.pk}/")
    curves = alices_tab.locator("[data-charts=sweep-1-curves]")
    curves.focus()
    curves.press("ArrowRight")
    curves.press("ArrowRight")
    readouts = curves.locator(".readout").all_inner_texts()
    assert " ".join(readouts[0].split()) == "2 injector processes 100 ok requests/s"
    assert [text.startswith("2 injector processes") for text in readouts] == [True] * 4
    assert "p95" in readouts[1]
    curves.press("Enter")
    assert alices_tab.url.endswith(f"#test-{run.test_id}"), "the runs of this point"
    assert alices_tab.locator(".repeats:target").is_visible()
    curves.focus()
    curves.press("Escape")
    assert curves.locator(".readout").all_inner_texts() == [""] * 4


def test_a_chart_is_a_picture_a_file_and_as_large_as_the_screen(alices_tab, short_campaign):
    _, run = short_campaign
    alices_tab.goto(f"/runs/{run}/")
    chart = alices_tab.locator("[data-charts=percentiles]")
    alices_tab.wait_for_function(DRAWN, arg="[data-charts=percentiles]")
    with alices_tab.expect_download() as download:
        chart.get_by_role("button", name="CSV").click()
    head, *lines = download.value.path().read_text().splitlines()
    assert head == 'Percentile,"Percentiles this run, response time"'
    assert [tuple(line.split(",")) for line in lines] == percentiles_on(alices_tab)
    with alices_tab.expect_download() as download:
        chart.get_by_role("button", name="PNG").click()
    assert download.value.suggested_filename == "percentiles.png"
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    before = chart.locator("canvas").bounding_box()["height"]
    chart.get_by_role("button", name="Full screen").click()
    alices_tab.wait_for_function(
        "high => document.querySelector('[data-charts=percentiles] canvas').clientHeight > high",
        arg=before + 100,
    )


MACHINE_SECONDS, MACHINE_RATE = 12, 50
SILENT = {5, 6}


@pytest.fixture
def run(project):
    """A run of twelve seconds, of which the agent told all but two."""
    spec = plan_spec(model="open", rate_per_s=MACHINE_RATE, duration_s=MACHINE_SECONDS)
    run = make_run(make_test(make_campaign(project), make_plan(project, spec=spec)))
    for second in range(MACHINE_SECONDS):
        vitals = {"cpu_share": 0.2 + second / 100}
        store_second(run, make_second(second, responses_us(10_000, MACHINE_RATE), vitals=vitals))
    end_shards(
        run, last_second=MACHINE_SECONDS - 1, end={"duration_us": MACHINE_SECONDS * 1_000_000}
    )
    for second in sorted({*range(MACHINE_SECONDS)} - SILENT):
        store_machine_second(run, second)
    return end(run, Outcome.COMPLETE)


def store_machine_second(run, second: int) -> None:
    user_s = 0.1 + 0.1 * second
    did = {
        "user_s": user_s, "system_s": 0.3, "interrupts_s": 0.1, "stolen_s": 0,
        "idle_s": 3.6 - user_s, "cores": [40, 20, 20, 20],
        "memory_bytes": 8e9, "memory_used_bytes": 2e9 + second * 1e8,
        "received_bytes": 50_000 + 2000 * second, "sent_bytes": 290_000 + 10_000 * second,
        "retransmitted": second % 3, "listen_overflows": 4 * (second > 8),
        "processes": {"nginx": {"cpu_s": 0.6 * user_s}, ":8081,:8444": {"cpu_s": 0.3}},
    }  # fmt: skip
    busy_s = user_s + 0.4
    MachineSecond.objects.create(
        run=run, source="shop-1", second=second, lasted_s=1, busy_s=busy_s, watched_s=0.5, did=did
    )


def test_the_machines_panels_share_the_crosshair_of_the_run(alices_tab, run):
    alices_tab.goto(f"/runs/{run.pk}/")
    response = read(alices_tab, "[data-panel=response]", 200)
    points = alices_tab.evaluate(
        "JSON.parse(document.getElementById('machine-points').textContent)"
    )
    nth = points["second"].index(int(response.split()[0]))
    injector = f"; injector {20 + points['second'][nth]}.0 % of a core"
    points["cpu_text"][nth] += injector
    for panel in ("cpu", "processes", "memory", "network", "trouble"):
        readout = alices_tab.locator(f"[data-panel=machine-{panel}] .readout")
        assert readout.inner_text().split()[2:] == points[f"{panel}_text"][nth].split()
    assert alices_tab.locator("[data-table=machine-shop-1] tbody tr").count() > 9


SLOWER = [26.0, 26.2, 25.8, 26.1, 25.9, 26.0, 28.5, 28.6, 28.4, 28.7]


def test_the_keyboard_leads_from_a_change_to_its_campaign(alices_tab, project):
    make_history(project, SLOWER, begin=timezone.now() - timedelta(days=20))
    alices_tab.goto(f"/projects/{project.pk}/history/")
    alices_tab.get_by_text(re.compile("1 slower")).wait_for()
    alices_tab.keyboard.press("j")
    expect(alices_tab.locator("tbody th a")).to_be_focused()
    alices_tab.keyboard.press("Enter")
    alices_tab.get_by_text(re.compile("Slower by")).first.wait_for()
    panels = alices_tab.locator("[data-charts=history]")
    panels.get_by_text("Full screen").wait_for()  # the keys are obeyed
    panels.focus()
    panels.press("Shift+ArrowLeft")
    readout = alices_tab.locator("[data-panel=value] .readout")
    readout.filter(has_text="28.5").wait_for()
    panels.press("ArrowLeft")
    readout.filter(has_text="26.0").wait_for()
    panels.press("ArrowRight")
    panels.press("Enter")
    campaign = Campaign.objects.get(name="night 6")
    alices_tab.wait_for_url(f"**/campaigns/{campaign.pk}/")


def test_a_range_is_dragged_and_the_figures_are_a_table(alices_tab, project):
    (test,) = make_history(project, SLOWER)
    alices_tab.goto(f"/tests/{test.pk}/history/")
    alices_tab.get_by_text("Show as table").click()
    rows = alices_tab.locator("[data-chart-table] tbody tr")
    expect(rows).to_have_count(len(SLOWER))
    expect(rows.first).to_contain_text("10 Nov 2026")
    expect(rows.first).to_contain_text("28.7 [")
    box = alices_tab.locator("[data-panel=value] canvas").bounding_box()
    middle = box["y"] + box["height"] / 2
    alices_tab.mouse.move(box["x"] + box["width"] / 2, middle)
    alices_tab.mouse.down()
    alices_tab.mouse.move(box["x"] + box["width"] - 4, middle, steps=4)
    alices_tab.mouse.up()
    alices_tab.wait_for_url(re.compile("since=2026-11-06&until=2026-11-10"))
    expect(alices_tab.get_by_label("From")).to_have_value("2026-11-06")


# An A4 sheet with a browser's own margins.
SHEET = {"width": 718, "height": 1047}
CUT = """() => [...document.querySelectorAll('main table')]
  .filter((table) => table.getBoundingClientRect().right > innerWidth + 1)
  .map((table) => table.innerText.slice(0, 60))"""
INK = "Chart.defaults.color"
IS_DRAWN = "() => window.Chart?.getChart(document.querySelector('[data-charts=blocks-0] canvas'))"


@pytest.fixture
def page(alices_tab, alice, project):
    """A tab of alice, with what HTTPS costs measured."""
    campaign, tests = https_campaign(project, **just_now())
    run_in_blocks(tests, [[10_000.0] * 3, [13_000.0] * 3])
    alices_tab.goto(reverse("campaign-detail", args=[campaign.pk]))
    return alices_tab


@pytest.mark.parametrize("name", ["campaign-detail", "run-list", "campaign-list"])
def test_every_column_is_on_the_sheet(name, page, project):
    if name != "campaign-detail":
        page.goto(reverse(name, args=[project.pk]))
    page.set_viewport_size(SHEET)
    page.emulate_media(media="print")
    assert page.locator("main table").count()
    assert page.evaluate(CUT) == []


def test_charts_of_a_dark_page_are_drawn_for_paper_and_dark_again_after(page):
    light, dark = (ink_in(page, scheme) for scheme in ("light", "dark"))
    assert dark != light
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(INK) == light
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(INK) == dark


def test_paper_has_every_part_that_has_a_tab(page):
    tabs = page.locator("[role=tab]").count()
    assert tabs > 1
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("[data-tab-panel]:not([hidden])").count() == tabs
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("[data-tab-panel]:not([hidden])").count() == 1


def test_two_tests_beside_each_other_are_shared_and_have_their_parts_behind_tabs(page, project):
    one, other = Test.objects.filter(campaign__project=project)
    page.goto(f"{reverse('comparison')}?a=test-{one.pk}&b=test-{other.pk}#runs")
    expect(page.locator("#runs")).to_be_visible()
    expect(page.locator("#result")).to_be_hidden()
    page.get_by_role("tab", name="Result").click()
    expect(page.locator("#result canvas").first).to_be_visible()
    page.get_by_role("button", name="Share").click()
    expect(page.locator("#share-dialog")).to_be_visible()


def ink_in(page, scheme: str) -> str:
    """What the charts' words are drawn in, once one of them is."""
    page.emulate_media(color_scheme=scheme)
    page.reload()
    page.wait_for_function(IS_DRAWN)
    return page.evaluate(INK)
