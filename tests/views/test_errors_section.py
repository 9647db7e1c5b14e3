"""Why did it fail? Errors by kind, status and step, and examples for those who may see them."""

import pytest
from django.test import Client

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.snapshot import Timing
from campaigns.models import FailureExample
from tests.factories import make_campaign, make_run, make_test, store_second
from tests.queries.measured import end
from tests.values import make_second
from tests.views.pages import html_of
from tests.views.test_shares import make_link

pytestmark = pytest.mark.django_db
HOSTILE = "404 Not Found\nX: <i>x</i>\n\n<script>alert(1)</script>"


def failing(project, n_ok: int = 0):
    run = make_run(make_test(make_campaign(project)))
    for number in range(3):
        told = make_second(
            number,
            [5_000] * n_ok,
            counters={"failed": 20},
            errors={"status_unexpected": 20},
            timings={"failed_reply": Timing.of([2_000] * 20)},
        )
        told.statuses = {"200": n_ok, "404": 20}
        store_second(run, told)
    FailureExample.objects.create(
        run=run,
        shard=0,
        second=0,
        step=0,
        kind="status_unexpected",
        status=404,
        at_us=1_200,
        request="GET / HTTP/1.1\nHost: shop",
        reply=HOSTILE,
        body_bytes=25,
        detail="",
    )
    end(run, Outcome.COMPLETE)
    run.campaign.started_at = run.campaign.finished_at = run.campaign.created_at
    run.campaign.save()
    return run


@pytest.mark.parametrize("name", ["run-detail", "campaign-detail"])
def test_where_everything_failed_the_open_example_precedes_the_charts(viewer, project, name):
    run = failing(project)
    page = html_of(viewer, name, run.pk if name == "run-detail" else run.campaign_id)
    assert "404 Not Found to all 60 requests" in page
    assert '<details id="example-0" open>' in page


def test_where_a_part_failed_the_charts_come_first(viewer, project):
    page = html_of(viewer, "run-detail", failing(project, n_ok=80).pk)
    assert "20\u202f% failed with 404 Not Found" in page
    assert '<details id="example-0">' in page


def test_a_hostile_reply_is_text(viewer, project):
    page = html_of(viewer, "run-detail", failing(project).pk)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page


@pytest.mark.parametrize("name", ["run-share", "campaign-share"])
def test_a_share_has_the_words_and_the_row_but_no_example(as_editor, project, name):
    run = failing(project)
    link = make_link(as_editor, name, run.pk if name == "run-share" else run.campaign_id)
    page = Client().get(link).content.decode()
    assert "404 Not Found to all 60 requests" in page
    assert 'data-table="errors"' in page
    assert "alert(1)" not in page
    assert 'id="example-' not in page


def test_rest_tells_the_rows_with_their_examples(viewer, project):
    run = failing(project)
    (row,) = viewer.get(f"/api/v1/runs/{run.pk}/failures/").json()
    assert (row["words"], row["count"], row["first"], row["last"]) == ("404 Not Found", 60, 0, 2)
    assert [each["reply"] for each in row["examples"]] == [HOSTILE]
