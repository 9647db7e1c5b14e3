"""Why did it fail, what to do, and no figure as a result where no run is usable."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.snapshot import Timing
from campaigns.models import FailureExample
from campaigns.runs.exports import tool_report
from tests.campaigns.test_answers import done
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
from tests.measured import end, measure
from tests.pages import html_of, text_of
from tests.shares.test_shares import make_link
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db
HOSTILE = "404 Not Found\nX: <i>x</i>\n\n<script>alert(1)</script>"


def failing(project, n_ok: int = 0):
    run = make_run(make_test(make_campaign(project)))
    for number in range(3):
        second = make_second(
            number,
            [5_000] * n_ok,
            counters={"failed": 20},
            errors={"status_unexpected": 20},
            timings={"failed_reply": Timing.of([2_000] * 20)},
        )
        second.statuses = {"200": n_ok, "404": 20}
        store_second(run, second)
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
    done(run.campaign)
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


def test_a_reply_is_downloaded_as_a_file_that_no_browser_runs(viewer, project):
    run = failing(project)
    (address,) = re.findall(
        r'href="(/examples/\d+/)">Download reply', html_of(viewer, "run-detail", run.pk)
    )
    answer = viewer.get(address)
    assert answer.content.decode() == HOSTILE
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"].startswith("attachment;")
    assert answer["X-Content-Type-Options"] == "nosniff"


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


def test_kind_and_detail_stand_together_wherever_a_failure_does(viewer, project):
    run = make_run(make_test(make_campaign(project)))
    bad = {"errors": {"tls_expired": 20}, "details": {"tls_expired": {"expired on 2021-01-01": 20}}}
    store_second(run, make_second(0, [], counters={"failed": 20, "started": 20}, **bad))
    end(run, Outcome.COMPLETE)
    done(run.campaign)
    words = "expired certificate: expired on 2021-01-01"
    (row,) = viewer.get(f"/api/v1/runs/{run.pk}/failures/").json()
    assert (row["words"], row["details"]) == (words, {"expired on 2021-01-01": 20})
    for page in pages_of(viewer, run):
        assert words in page
        assert "Expired certificate for all 20 requests: expired on 2021-01-01" in page
    for name, pk in (("run-csv", run.pk), ("campaign-csv", run.campaign_id)):
        assert words in viewer.get(reverse(name, args=[pk])).getvalue().decode()


REMEDY = "Check the port, and the address that the server listens on"


@pytest.fixture
def run(project):
    failures = {"counters": {"failed": 50}, "errors": {"connect_refused": 50}}
    run = measure(make_run(make_test(make_campaign(project, repeats=1))), 20_000, **failures)
    done(run.campaign)
    return run


def pages_of(client, run) -> list[str]:
    places = [("campaign-detail", run.campaign_id), ("run-detail", run.pk)]
    return [text_of(client.get(reverse(name, args=[pk]))) for name, pk in places]


def test_the_remedy_stands_once_with_the_page_where_it_is_done(as_editor, run):
    target = reverse("target-edit", args=[run.target_id])
    for page in pages_of(as_editor, run):
        assert page.count(REMEDY) == 1
        assert f'href="{target}">Edit the target</a>' in page


def test_a_viewer_and_a_share_have_the_words_without_the_buttons(client, as_editor, vera, run):
    link = make_link(as_editor, "campaign-share", run.campaign_id)
    client.force_login(vera)
    for page in (*pages_of(client, run), text_of(Client().get(link, follow=True))):
        assert REMEDY in page
        assert "Edit the target" not in page


FIGURE = "18.9"
SAID = "No answer: replies could not be matched"


@pytest.fixture
def campaign(project):
    """Three repeats by one and by two injector processes, a threshold among them."""
    rules = [{"metric": "mean", "limit": 5, "unit": "ms"}]
    spec = plan_spec(model="over", requests=2000, over_s=10) | {"thresholds": rules}
    campaign = make_campaign(project, **just_now())
    version, endpoint = make_plan(project, spec=spec), make_endpoint(make_target(project))
    for injectors in (1, 2):
        test = make_test(campaign, version, endpoint=endpoint, injectors=injectors)
        for repeat in (1, 2, 3):
            measure(make_run(test, repeat), 18_900, counters={"in_doubt": 20})
    return campaign


def answer_in(html: str) -> str:
    """The first line with its grounds, and the tiles."""
    regions = re.findall(
        r'<(section|div)[^>]*data-live="(?:verdict|tiles)">(.*?)</\1>', html, re.DOTALL
    )
    return " ".join(text for _, text in regions)


def of_share(client, campaign):
    return answer_in(
        Client().get(make_link(client, "campaign-share", campaign.pk)).content.decode()
    )


def first_lines_of_terminal(client, campaign):
    return tool_report(campaign.runs.first(), "plain").partition("\n")[0]


PLACES = {
    "campaign": lambda client, it: answer_in(html_of(client, "campaign-detail", it.pk)),
    "run": lambda client, it: answer_in(html_of(client, "run-detail", it.runs.first().pk)),
    "campaign list": lambda client, it: html_of(client, "campaign-list", it.project_id),
    "runs of the project": lambda client, it: html_of(client, "run-list", it.project_id),
    "share": of_share,
    "terminal": first_lines_of_terminal,
    "REST, campaign": lambda client, it: client.get(
        reverse("api-campaign-tables", args=[it.pk])
    ).json()["sentence"],
    "REST, run": lambda client, it: client.get(
        reverse("api-run-tables", args=[it.runs.first().pk])
    ).json()["sentence"],
}


def test_no_place_has_a_figure_of_it_but_says_why(as_editor, campaign):
    for place in PLACES:
        text = PLACES[place](as_editor, campaign)
        assert SAID in text
        assert FIGURE not in text
        assert "Broken" not in text


def test_a_comparison_states_no_figure_and_gives_no_word(as_editor, campaign):
    first, second = campaign.runs.all()[:2]
    columns = {"a": f"run-{first.pk}", "b": f"run-{second.pk}"}
    comparison = as_editor.get(reverse("api-comparison"), columns).json()
    assert comparison["sentences"]
    assert FIGURE not in " ".join([*comparison["sentences"], *comparison["grounds"]])
    assert {each["word"] for each in comparison["tests"]} == {""}
    assert as_editor.get(reverse("comparison"), columns).context.get("charts") is None


def test_a_sweep_has_no_speed_up_and_no_curve(as_editor, campaign):
    answer = as_editor.get(reverse("api-campaign-tables", args=[campaign.pk])).json()
    (sweep,) = answer["sweeps"]
    assert {row["values"]["speed_up"] for row in sweep["rows"]} == {None}
    assert "-curves" not in html_of(as_editor, "campaign-detail", campaign.pk)
