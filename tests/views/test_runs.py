"""The page of a run while it is made, and when it is over."""

import json
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.other_tools.reports import REPORTS
from campaigns.live.events import Cursor
from campaigns.models import Run
from tests.factories import begin_run, store_second
from tests.queries.measured import end, measure
from tests.values import make_point, make_second

pytestmark = pytest.mark.django_db


def page_of(client, run) -> str:
    """The page; where its lines break makes no difference."""
    return " ".join(client.get(reverse("run-detail", args=[run.pk])).content.decode().split())


def under_way(run, seconds=0) -> Run:
    """The run is sending and has delivered so many seconds."""
    begin_run(run, t0=timezone.now() - timedelta(seconds=seconds + 4))
    for second in range(seconds):
        store_second(run, make_second(second, [10_000, 20_000]))
    run.refresh_from_db()
    return run


def block(page: str, name: str):
    _, _, rest = page.partition(f'<script id="{name}" type="application/json">')
    return json.loads(rest.partition("</script>")[0])


def test_a_run_under_way_shows_its_seconds_and_how_to_follow_them(as_editor, run):
    page = page_of(as_editor, under_way(run, 4))
    assert 'id="points"' not in page, "the stream tells them, all to a new viewer"
    assert "4 of 10 s measured" in page
    assert f'data-stream="{reverse("run-stream", args=[run.pk])}"' in page
    assert str(Cursor(event=run.events.latest("pk").pk)) in page


def test_a_finished_run_is_the_same_page_without_stream_and_stop(as_editor, run):
    page = page_of(as_editor, measure(run, 12_000))
    assert "data-stream" not in page
    assert "stop-dialog" not in page
    assert block(page, "points")["second"] == list(range(10))
    assert block(page, "curve")


def test_a_page_that_is_loaded_right_after_the_end_has_the_last_second(as_editor, run):
    store_second(run, make_second(0, [10_000]))
    page_of(as_editor, run)
    page = page_of(as_editor, measure_rest(run))
    assert block(page, "points")["second"][-1] == 14


def measure_rest(run):
    store_second(run, make_second(14, [10_000]))
    return end(run, Outcome.COMPLETE)


def test_a_run_in_which_all_failed_has_a_page_too(as_editor, run):
    failing = {"counters": {"started": 5, "failed": 5}, "errors": {"connect_refused": 5}}
    for second in range(3):
        store_second(run, make_second(second, [], **failing))
    page = page_of(as_editor, under_way(run))
    assert "connection refused" in page


def test_a_stretch_of_a_long_run_comes_second_by_second(as_editor, run):
    measure(run, 12_000)
    summary = run.summaries.get()
    summary.series = [make_point(second) for second in range(1500)]
    summary.save()
    page = as_editor.get(reverse("run-detail", args=[run.pk])).content.decode()
    address, on_page = block(page, "run-plan")["details"], block(page, "points")
    stretch = as_editor.get(f"{address}?from=400&until=900").json()
    assert stretch["points"]["second"] == list(range(400, 900))
    assert len(set(on_page["second"]) & set(range(400, 900))) < 500
    assert set(stretch["points"]) == set(on_page)
    assert stretch["machine"] is None
    whole = as_editor.get(f"{address}?from=0x10&until=").json()["points"]
    assert whole == on_page


def report_url(run, style=""):
    return reverse("run-report-text", args=[run.pk]) + (f"?style={style}" if style else "")


def test_a_finished_run_has_its_report_in_the_style_of_other_tools(as_editor, run, monkeypatch):
    """Its page names them, and makes none."""
    measure(run, 12_000)
    with monkeypatch.context() as patched:
        patched.setattr("campaigns.queries.reports.REPORTS", {})
        page = as_editor.get(reverse("run-detail", args=[run.pk])).content.decode()
    named = [style for style in REPORTS if f'href="{report_url(run, style)}"' in page]
    assert named == ["ab", "httperf", "jmeter", "plain"]
    text = as_editor.get(report_url(run, "httperf")).content.decode()
    assert "Connection length [replies/conn]" in text
