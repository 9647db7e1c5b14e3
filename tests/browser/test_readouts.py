"""What a pointer reads in the charts is the text that the server made of the figures."""

import re

import pytest
from django.utils import timezone

from campaigns.domain.lifecycle import Outcome
from tests.browser.installation import enter
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
    store_second,
)
from tests.queries.measured import end, end_shards, measure, responses_us, spoil
from tests.searches import limit_of, search_through, searching
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db(transaction=True)
SECONDS, RATE = 5, 50
# Charts are drawn one after another.
DRAWN = "panel => window.Chart?.getChart(document.querySelector(`${panel} canvas`))"


@pytest.fixture
def finished(project):
    """A campaign of one run of five seconds, each slower than the one before, and the run."""
    now = timezone.now()
    campaign = make_campaign(project, "Short", repeats=1, started_at=now, finished_at=now)
    spec = plan_spec(model="open", rate_per_s=RATE, duration_s=SECONDS)
    run = make_run(make_test(campaign, make_plan(project, "five seconds", spec)))
    for second in range(SECONDS):
        store_second(run, make_second(second, responses_us(10_000 + 1_000 * second, RATE - second)))
    end_shards(run, last_second=SECONDS - 1, end={"duration_us": SECONDS * 1_000_000})
    return campaign.pk, end(run, Outcome.COMPLETE).pk


@pytest.fixture
def signed_in(served_tab, alice):
    """A tab of alice, who owns the project."""
    enter(served_tab, "alice")
    return served_tab


def read(page, panel: str, x: int) -> str:
    """What stands in the panel's title line while the pointer is over its chart."""
    figure = page.locator(panel)
    page.wait_for_function(DRAWN, arg=panel)
    figure.locator("canvas").hover(position={"x": x, "y": 60})
    readout = figure.locator(".readout")
    readout.filter(has_text=re.compile(r"\S")).wait_for()
    return readout.inner_text()


def test_the_charts_of_a_run_say_the_texts_of_its_points_and_percentiles(signed_in, finished):
    _, run = finished
    signed_in.goto(f"/runs/{run}/")
    points = signed_in.evaluate("JSON.parse(document.getElementById('points').textContent)")
    curve = signed_in.evaluate("JSON.parse(document.getElementById('curve').textContent)")
    said = read(signed_in, "[data-panel=response]", 200)
    second = int(re.match(r"at (\d+) s", said)[1])
    nth = points["second"].index(second)
    assert said.split() == f"at {second} s {points['response_text'][nth]}".split()
    requests = signed_in.locator("[data-panel=requests] .readout").inner_text()
    assert points["requests_text"][nth] in requests
    assert requests.endswith("intended 50.0")
    label, *_, ms = read(signed_in, "[data-percentiles]", 200).split()
    assert {"label": label, "text": ms} in [
        {"label": each["label"], "text": each["text"]} for each in curve
    ]


def test_the_blocks_of_a_campaign_say_the_means_of_its_table(signed_in, finished):
    campaign, _ = finished
    signed_in.goto(f"/campaigns/{campaign}/")
    mean = signed_in.locator("[data-table^=test] tr.row-run td").first.inner_text()
    assert read(signed_in, "[data-blocks]", 300).split()[-1] == mean


def rows_of(page, frame: str) -> list[list[str]]:
    """The rows of the table that the chart shows on demand."""
    page.locator(f"{frame} [data-chart-table] > summary").click()
    rows = page.locator(f"{frame} [data-chart-table] tbody tr")
    rows.first.wait_for()
    return [row.locator("th, td").all_inner_texts() for row in rows.all()]


def test_arrow_keys_read_what_a_table_shows_at_once(signed_in, finished):
    campaign, run = finished
    signed_in.goto(f"/runs/{run}/")
    points = signed_in.evaluate("JSON.parse(document.getElementById('points').textContent)")
    seconds = rows_of(signed_in, "[data-over-time]")
    told = ("at", "requests_text", "response_text", "errors_text")
    for nth, row in enumerate(seconds):
        assert [text.split() for text in row] == [points[key][nth].split() for key in told]
    assert len(seconds) == len(points["second"])
    curve = signed_in.evaluate("JSON.parse(document.getElementById('curve').textContent)")
    texts = {each["label"]: each["text"] for each in curve}
    percentiles = rows_of(signed_in, "[data-percentiles]")
    for name, text in percentiles:
        assert text.removeprefix("~") == texts[name]
    plot = signed_in.locator("[data-percentiles]")
    plot.locator(".chart-frame").focus()
    for name, text in percentiles:
        signed_in.keyboard.press("ArrowRight")
        expected = f"{name} this run {text.removeprefix('~')}"
        assert plot.locator(".readout").inner_text().split() == expected.split()
    signed_in.keyboard.press("Escape")
    assert plot.locator(".readout").inner_text() == ""
    signed_in.goto(f"/campaigns/{campaign}/")
    ((block, mean),) = rows_of(signed_in, "[data-blocks]")
    signed_in.locator("[data-blocks] .chart-frame").focus()
    signed_in.keyboard.press("ArrowLeft")
    assert signed_in.locator("[data-blocks] .readout").inner_text().split()[-1] == mean
    assert block == "block 1"


def test_one_crosshair_reads_a_trial_of_a_search_in_every_drawing_that_has_it(signed_in, project):
    campaign = searching(project)
    search_through(campaign, limit_of(1850))
    signed_in.goto(f"/campaigns/{campaign.pk}/")
    way_up, around = (signed_in.locator(f"figure:has(#trials-{n})") for n in (1, 2))
    signed_in.locator("#trials-1").focus()
    signed_in.keyboard.press("ArrowRight")
    assert way_up.locator("[data-reads=said]").inner_text().split()[:3] == ["trial", "1:", "100/s,"]
    assert around.locator("[data-reads=said]").inner_text() == "", "its rate is far from the limit"
    signed_in.locator("#trials-2").focus()
    signed_in.keyboard.press("ArrowRight")
    said = around.locator("[data-reads=said]").inner_text()
    trial = said.split()[1].rstrip(":")
    assert around.locator("[data-reads=busy]").inner_text() == "injector CPU 46\u202f%"
    for line in around.locator(".search-crosshair").all():
        assert line.get_attribute("visibility") == "visible"
    signed_in.keyboard.press("Enter")
    row = signed_in.locator("tr:target")
    assert row.locator("th").inner_text() == trial
    signed_in.locator("#trials-2").focus()
    signed_in.keyboard.press("Escape")
    assert around.locator("[data-reads=said]").inner_text() == ""
    around.locator(f"[data-trial='{trial}']").first.hover(force=True)
    assert around.locator("[data-reads=said]").inner_text() == said


def test_one_crosshair_reads_a_value_of_a_sweep_in_all_its_curves(signed_in, project):
    now = timezone.now()
    campaign = make_campaign(project, "Sweep", repeats=1, started_at=now, finished_at=now)
    version, endpoint = make_plan(project), make_endpoint(make_target(project))
    for injectors, mean_us in ((1, 10_000), (2, 12_000)):
        run = make_run(make_test(campaign, version, endpoint=endpoint, injectors=injectors))
        spoil(measure(run, mean_us, n=500 * injectors))
    signed_in.goto(f"/campaigns/{campaign.pk}/")
    panels = signed_in.locator("[data-sweep]")
    panels.first.focus()
    panels.first.press("ArrowRight")
    panels.first.press("ArrowRight")
    figures = signed_in.locator(".sweep-chart")
    readouts = [figures.nth(n).locator(".readout").inner_text() for n in range(4)]
    assert readouts[0] == "2 injector processes: 100 ok requests/s"
    assert [text.split(":")[0] for text in readouts] == ["2 injector processes"] * 4
    assert "p95" in readouts[1]
    assert signed_in.locator("[data-sweep] .search-crosshair[visibility=visible]").count() == 4
    panels.first.press("Enter")
    assert signed_in.url.endswith(f"#test-{run.test_id}"), "the runs of this point"
    assert signed_in.locator(".repeats:target").is_visible()
    panels.first.focus()
    panels.first.press("Escape")
    assert [figures.nth(n).locator(".readout").inner_text() for n in range(4)] == [""] * 4
