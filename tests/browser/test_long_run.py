"""A run of one hour, watched from its first minutes to Stop.

The test plays launcher and dispatcher through their services, and hands in minutes at once.
"""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.core.permissions import Actor
from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.engine.services import dispatch, shards
from campaigns.engine.services.endings import finalise_runs, stop_run
from campaigns.models import Campaign, Run
from tests.factories import make_campaign, make_plan, make_run, make_test
from tests.values import make_second, plan_spec

# How the axis grows is in tests/js/time_axis.test.mjs, which seconds come in tests/runs.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
NAME = "One hour on the checkout"
# Whether the chart of response times has so many seconds.
EVERY_SECOND = """n => {
  const chart = window.Chart.getChart(document.querySelector("[data-panel=response] canvas"));
  return new Set(chart?.data.datasets.filter(({ end }) => end === "p50")
    .flatMap(({ data }) => data.map(({ x }) => x))).size === n;
}"""


CURVE = "document.querySelector('[data-charts=percentiles] canvas')"


class LongRun:
    """The only run of a campaign: 2 requests/s for one hour, sent by this test. They get slower,
    and their mean passes its threshold in the seventh minute."""

    def __init__(self, project):
        rules = [{"metric": "mean", "limit": 21.1, "unit": "ms"}]
        spec = plan_spec(model="open", rate_per_s=2, duration_s=3600) | {"thresholds": rules}
        campaign = make_campaign(project, NAME, repeats=1, started_at=timezone.now())
        self.run = make_run(make_test(campaign, make_plan(project, "Checkout soak", spec)))
        self._of_run = Run.objects.filter(pk=self.run.pk)
        self._of_run.update(state="preparing")
        self._lease = shards.claim_shard(worker="w", host="inj-1")
        shards.mark_ready(lease=self._lease)
        dispatch.move_runs()
        shards.mark_running(lease=self._lease)
        dispatch.move_runs()
        self._n_seconds = 0

    @property
    def campaign(self) -> Campaign:
        return self.run.campaign

    def send_until(self, second: int) -> None:
        """Let the run be this old, and deliver what it has measured since the last call."""
        self._of_run.update(t0=timezone.now() - timedelta(seconds=second))
        fresh = [
            make_second(each, [12_000 + each, 30_000]) for each in range(self._n_seconds, second)
        ]
        shards.record_seconds(lease=self._lease, seconds=[each.to_json() for each in fresh])
        self._n_seconds = second

    def obey_stop(self) -> None:
        """What launcher and dispatcher do once somebody has asked for a stop."""
        dispatch.move_runs()
        sent_us = self._n_seconds * 1_000_000
        end = InjectorEnd(outcome="stopped", duration_us=sent_us, sending_us=sent_us)
        shards.mark_done(lease=self._lease, end=end)
        dispatch.move_runs()
        finalise_runs()
        dispatch.finish_campaigns()


@pytest.fixture
def long_run(project):
    return LongRun(project)


def see_minutes(page, first: float, last: float) -> None:
    """Wait until the time axis shows these minutes, and no others."""
    is_shown = """([first, last]) => {
      const chart = window.Chart.getChart(document.querySelector("[data-panel=response] canvas"));
      return chart?.scales.x.min === first * 60 && chart.scales.x.max === last * 60;
    }"""
    page.wait_for_function(is_shown, arg=[first, last])


def see_limit(page, token: str) -> None:
    """Wait until the threshold's line has this colour: "bad" once it is broken."""
    is_drawn = """(token) => {
      const chart = window.Chart.getChart(document.querySelector("[data-panel=response] canvas"));
      const line = chart?.panel.marks.find((each) => each.label === "mean < 21.1 ms");
      return line?.at === 21.1 && line.colour === token;
    }"""
    page.wait_for_function(is_drawn, arg=token)


def test_the_axis_of_a_long_run_grows_and_can_be_switched_in_the_url(alices_tab, long_run):
    long_run.send_until(120)
    alices_tab.goto(f"/runs/{long_run.run.pk}/")
    progress = alices_tab.locator("[data-progress-words]")
    expect(progress).to_have_text("2:00 of 1:00:00 measured")
    see_minutes(alices_tab, 0, 5)
    long_run.send_until(8 * 60)
    expect(progress).to_have_text("8:00 of 1:00:00 measured")
    see_minutes(alices_tab, 0, 10)
    alices_tab.get_by_role("button", name="last 5 minutes").click()
    see_minutes(alices_tab, 3, 8)
    assert alices_tab.url.endswith("?time=last-5")
    alices_tab.reload()
    alices_tab.get_by_role("button", name="last 5 minutes", pressed=True).wait_for()
    see_minutes(alices_tab, 3, 8)
    alices_tab.get_by_role("button", name="up to the end").click()
    see_minutes(alices_tab, 0, 60)


def test_a_campaign_of_one_long_run_is_watched_like_the_run_itself(alices_tab, long_run):
    long_run.send_until(120)
    alices_tab.goto(f"/campaigns/{long_run.campaign.pk}/")
    progress = alices_tab.locator("[data-progress-words]")
    expect(progress).to_have_text("2:00 of 1:00:00 measured")
    see_minutes(alices_tab, 0, 5)
    see_limit(alices_tab, "ink-2")
    assert (
        alices_tab.locator("[data-panel=response]").bounding_box()["y"]
        < alices_tab.viewport_size["height"]
    )
    long_run.send_until(8 * 60 + 24)
    expect(progress).to_have_text("8:24 of 1:00:00 measured")
    see_minutes(alices_tab, 0, 10)
    see_limit(alices_tab, "bad")
    expect(alices_tab.locator("[data-progress-left]")).to_have_text(re.compile("51:36 left"))
    expect(alices_tab).to_have_title(re.compile(f"^14\u202f% · {NAME}"))
    ends = re.compile(r"ends \d\d:\d\d:\d\d")
    end = ends.search(alices_tab.locator("[data-run-progress]").inner_text())[0]
    figures = alices_tab.locator(".tiles").inner_text()
    alices_tab.goto(f"/runs/{long_run.run.pk}/")
    assert end in alices_tab.locator("[data-run-progress]").inner_text()
    assert alices_tab.locator(".tiles").inner_text() == figures


def test_a_stretch_of_an_ended_run_is_shown_second_by_second(alices_tab, long_run, alice):
    long_run.send_until(22 * 60)
    stop_run(by=Actor(user=alice), run=long_run.run)
    long_run.obey_stop()
    alices_tab.goto(f"/runs/{long_run.run.pk}/")
    see_minutes(alices_tab, 0, 22)
    assert not alices_tab.evaluate(EVERY_SECOND, 22 * 60)
    canvas = alices_tab.locator("[data-panel=requests] canvas")
    canvas.scroll_into_view_if_needed()
    frame = canvas.bounding_box()
    y, width = frame["y"] + 20, frame["width"]
    alices_tab.evaluate(f"{CURVE}.isMine = true")
    alices_tab.mouse.move(frame["x"] + 0.3 * width, y)
    alices_tab.mouse.down()
    alices_tab.mouse.move(frame["x"] + 0.5 * width, y, steps=3)
    alices_tab.mouse.up()
    alices_tab.get_by_role("button", name="selection", pressed=True).wait_for()
    first, until = map(int, re.search(r"time=(\d+)\.\.(\d+)$", alices_tab.url).groups())
    assert 200 < first < until < 900
    see_minutes(alices_tab, first / 60, until / 60)
    alices_tab.wait_for_function(EVERY_SECOND, arg=until - first)
    expect(alices_tab.locator("[data-live=range]")).to_contain_text("tables are of")
    assert alices_tab.evaluate(f"{CURVE}.isMine"), "new data in the same canvas"
    expect(alices_tab.locator("[data-table=steps] tbody tr")).to_contain_text(
        f"{2 * (until - first):,}"
    )
    alices_tab.reload()
    alices_tab.wait_for_function(EVERY_SECOND, arg=until - first)
    button = alices_tab.get_by_role("button", name="whole run")
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    rest = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    alices_tab.mouse.click(*rest)
    see_minutes(alices_tab, 0, 22)
    assert "time=" not in alices_tab.url
    expect(alices_tab.locator("[data-live=range]")).to_be_empty()
    alices_tab.locator("[data-over-time]").focus()
    alices_tab.keyboard.press("ArrowLeft")
    alices_tab.mouse.move(*rest)  # where it was, while the focus has scrolled the page
    alices_tab.keyboard.press("Enter")
    see_minutes(alices_tab, 1169 / 60, 22)
