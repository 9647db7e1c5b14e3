"""Pages of runs: their list, one while it is made and after, WebSockets, outputs of tools."""

import json
from datetime import UTC, datetime, timedelta
from html import escape

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from campaigns.compare.queries.columns import columns_of
from campaigns.compare.queries.compared_tests import comparison_of
from campaigns.core.database import db_now
from campaigns.core.permissions import Actor
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.kept_requests import pack
from campaigns.domain.metrics.snapshot import Second, Timing
from campaigns.domain.other_tools.reports import REPORTS
from campaigns.live.hub import Cursor
from campaigns.machines.services import add_output
from campaigns.models import Campaign, RequestsOfShard, Run, RunSummary, ToolOutput
from campaigns.runs.queries.measurements import points_of
from campaigns.runs.queries.reports import run_report
from campaigns.runs.queries.runs import chart_plan, programs_beside
from campaigns.runs.services import summarise_run
from tests.factories import (
    begin_run,
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
    make_test_of,
    plan_spec,
    store_second,
)
from tests.machines.test_perf_counts import tell
from tests.measured import end, https_campaign, measure, run_in_blocks
from tests.shares.test_shares import make_link, visit
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


def keep(run, responses_us, **more) -> None:
    """One request after another, 10 ms apart."""
    n = len(responses_us)
    columns = {"number": list(range(1, n + 1)), "step": [0] * n, "kind": [""] * n}
    columns |= {"start_us": [10_000 * place for place in range(n)], "status": [200] * n}
    line = {"is_all": True, "columns": columns | {"response_us": responses_us}} | more
    RequestsOfShard.objects.create(run=run, shard=0, packed=pack(line))


def test_a_short_run_shows_each_of_its_requests_on_page_rest_and_csv(as_editor, run):
    measure(run, 12_000, n=20, seconds=10)
    keep(run, [*[12_000] * 19, 400_000])
    page = page_of(as_editor, run)
    assert len(block(page, "charts-requests")["table"]["rows"]) == 20
    assert "Slowest requests" in page
    assert "1 request took longer than 200 ms: no. 20, at 0.190 s." in page
    answer = as_editor.get(reverse("api-run-requests", args=[run.pk])).json()
    assert (answer["is_all"], len(answer["requests"])) == (True, 20)
    assert answer["requests"][-1] == {
        "number": 20, "injector": 0, "step": 0, "start_us": 190_000, "response_us": 400_000,
        "parts_us": {}, "status": 200, "kind": "",
    }  # fmt: skip
    files = [as_editor.get(reverse(name, args=[run.pk])).content for name in (
        "run-requests-csv", "api-run-requests-csv")]  # fmt: skip
    assert files[0] == files[1]
    assert files[0].decode().splitlines()[-1].startswith("1,20,1,190000,400000,200,")


def test_without_a_lost_injector_s_requests_there_are_not_all(as_editor, run):
    measure(run, 12_000, n=40, seconds=10)
    keep(run, [12_000] * 20)
    assert 'data-charts="requests"' not in page_of(as_editor, run)
    answer = as_editor.get(reverse("api-run-requests", args=[run.pk])).json()
    assert (answer["is_all"], len(answer["requests"])) == (False, 10)


def test_a_finished_run_is_the_same_page_without_stream_and_stop(as_editor, run):
    page = page_of(as_editor, measure(run, 12_000))
    assert "data-stream" not in page
    assert "stop-dialog" not in page
    assert block(page, "points")["second"] == list(range(10))
    assert block(page, "charts-percentiles")["panels"][0]["series"]


def test_programs_that_used_the_cpu_meanwhile_are_named_to_those_who_may_start(
    as_editor, run, bob, vera
):
    run = measure(run, 12_000)
    facts = {"programs": [["python3 report.py", 0.4], ["node", 0.1]]}
    run.shards.update(end=facts, host="lab-1")
    assert "python3 report.py" in page_of(as_editor, run)
    programs = [
        programs_beside([run], Actor(user=each), run.campaign.project) for each in (bob, vera)
    ]
    assert [tuple(each) for each in programs[0]] == [("python3 report.py", 0.4), ("node", 0.1)]
    assert programs[1] == ()


def test_the_tables_of_a_range_are_of_its_seconds_alone(as_editor, run):
    run = measure(run, 12_000, n=100, seconds=10)
    address = reverse("run-detail", args=[run.pk])

    def figures(**query) -> tuple[str, int, str, str]:
        context = as_editor.get(address, query).context
        table = context["report"].table
        keys = [column.key for column in table.columns]
        cells = dict(zip(keys, table.rows[0].cells, strict=True))
        return (
            context["range"],
            cells["n"].value,
            cells["rate"].text,
            context["tiles"][0][0]["value"],
        )

    whole = figures()
    words, n, rate, tile = figures(time="2..5")
    assert (words, n, rate) == ("2 s to 5 s", 30, "10.0")
    assert tile == whole[3], "the tiles stay those of the run"
    for time in ("90..99", "5..", "last-5"):
        assert figures(time=time) == whole


def test_a_page_that_is_loaded_right_after_the_end_has_the_last_second(as_editor, run):
    store_second(run, make_second(0, [10_000]))
    page_of(as_editor, run)
    store_second(run, make_second(14, [10_000]))
    page = page_of(as_editor, end(run, Outcome.COMPLETE))
    assert block(page, "points")["second"][-1] == 14


def test_a_run_in_which_all_failed_has_a_page_too(as_editor, run):
    failing = {"counters": {"started": 5, "failed": 5}, "errors": {"connect_refused": 5}}
    for second in range(3):
        store_second(run, make_second(second, [], **failing))
    page = page_of(as_editor, under_way(run))
    assert "connection refused" in page


def test_a_stretch_of_a_long_run_comes_second_by_second(as_editor, run):
    measure(run, 12_000)
    summary = RunSummary.objects.get(run=run)
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
    with monkeypatch.context() as patch:
        patch.setattr("campaigns.runs.exports.REPORTS", {})
        page = as_editor.get(reverse("run-detail", args=[run.pk])).content.decode()
    styles = [style for style in REPORTS if f'href="{report_url(run, style)}"' in page]
    assert styles == ["ab", "httperf", "jmeter", "plain"]
    text = as_editor.get(report_url(run, "httperf")).content.decode()
    assert "Connection length [replies/conn]" in text


@pytest.fixture
def runs(project):
    """A finished run of plan A on target one, a waiting one of plan B on target two."""
    rows = [make_run(make_test_of(project, *names)) for names in (("A", "one"), ("B", "two"))]
    measure(rows[0], 12_000)
    return rows


@pytest.fixture
def pks_in_list(client, vera, project):
    client.force_login(vera)

    def pks_in_list(**query):
        response = client.get(reverse("run-list", args=[project.pk]), query)
        return {run.pk for run, _ in response.context["rows"]}

    return pks_in_list


def test_filters_narrow_by_target_plan_campaign_state_and_time(pks_in_list, runs):
    done, waiting = runs
    assert pks_in_list(target=done.target_id) == {done.pk}
    assert pks_in_list(plan=waiting.test.plan_version.plan_id) == {waiting.pk}
    assert pks_in_list(campaign=done.campaign_id) == {done.pk}
    assert pks_in_list(state="going") == {waiting.pk}
    assert pks_in_list(state="complete") == {done.pk}
    assert pks_in_list(measurement=done.trust) == {done.pk}
    assert pks_in_list(target_state=done.target_state) == {done.pk}
    assert pks_in_list(precision=done.precision) == {done.pk}
    assert pks_in_list(measurement="no_answer") == set()
    Run.objects.filter(pk=done.pk).update(t0=timezone.now())
    assert pks_in_list(since="1") == {done.pk}


def test_a_filter_that_makes_no_sense_filters_nothing(pks_in_list, runs):
    assert pks_in_list(target="x", plan="?", state="blue", since="forever") == {r.pk for r in runs}


def test_figures_are_those_of_the_summary_and_a_dash_says_why(client, vera, project, runs):
    client.force_login(vera)
    rows = dict(client.get(reverse("run-list", args=[project.pk])).context["rows"])
    n, rate, p50, *_ = rows[runs[0]]
    assert (n.text, rate.text, p50.text) == ("2,000", "200", "12.0")
    assert rows[runs[1]][0].text == "–"


def test_a_row_names_its_run_escaped_and_has_no_dashes_before_it_ended(client, vera, project, runs):
    client.force_login(vera)
    name = "<b>nightly & more</b>"
    Campaign.objects.filter(pk=runs[0].campaign_id).update(name=name)
    ended_at = datetime(2026, 9, 3, 14, 5, 6, tzinfo=UTC)
    Run.objects.filter(pk=runs[0].pk).update(ended_at=ended_at)
    address = reverse("run-list", args=[project.pk])
    page = client.get(address, {"candidate": runs[0].pk}).content.decode()
    _, waiting, done = page.split("<tbody>")[1].split("</tbody>")[0].split("<tr>")
    assert f'href="{reverse("run-detail", args=[runs[0].pk])}">{runs[0].label}</a>' in done
    assert escape(name) in done
    assert name not in done
    assert '<td class="num" title="3 Sep 2026 14:05:06">3 Sep 14:05</td>' in done
    assert f'value="{runs[0].pk}" checked' in done
    assert f'value="{runs[1].pk}" aria-label="Compare run {runs[1].label}">' in waiting
    assert "–" not in waiting


def second_of(number: int, n: int = 100) -> Second:
    def each(us: int, count: int = n) -> Timing:
        return Timing.of(np.full(count, us))

    return Second(
        second=number,
        step=0,
        counters={
            "started": n, "ok": n, "messages_sent": 10 * n, "messages_received": 10 * n,
            "close_code_1000": n, "window_throttled": 2, "window_resumed": 1,
        },
        statuses={"101": n},
        timings={
            "response": each(6000), "service": each(6000), "connect": each(500),
            "handshake": each(1500), "exchange": each(3000), "close": each(1000),
            "message": each(300, 10 * n),
        },
        vitals={"open_connections": 7},
    )  # fmt: skip


@pytest.fixture
def exchanging(project):
    spec = {**plan_spec(), "steps": [], "connection_mode": "new"}
    version = make_plan(project, spec={**spec, "exchange": {"path": "/feed", "messages": 10}})
    endpoint = make_endpoint(make_target(project), "ws", 8003)
    test = make_test(make_campaign(project), version, endpoint=endpoint, connection_mode="new")
    run = make_run(test)
    begin_run(run)
    for number in range(5):
        store_second(run, second_of(number))
    run.refresh_from_db()
    return run


def test_its_seconds_have_open_connections_and_messages(exchanging):
    point = points_of(exchanging)[0]
    assert (point["open_connections"], point["messages"]) == (7, 1000)
    assert chart_plan(exchanging)["nouns"] == "connections"


def test_its_facts_count_websockets_and_the_bursts_of_its_window(exchanging):
    facts = dict(run_report(exchanging).facts)
    handshakes = dict(facts["Handshakes"])
    assert handshakes["WebSockets opened"] == "500"
    assert handshakes["High mark reached"] == "10 times"
    assert handshakes["Refilled after falling below the low mark"] == "5 times"
    assert "Requests per connection" not in handshakes


@pytest.fixture
def ended_exchange(exchanging):
    """The run with its summary, as its campaign has it when all is over."""
    for state in ("finalizing", "done"):
        outcome = {"outcome": "complete"} if state == "done" else {}
        Run.objects.filter(pk=exchanging.pk).update(state=state, **outcome)
    Campaign.objects.filter(pk=exchanging.campaign_id).update(
        started_at=db_now(-60), finished_at=db_now()
    )
    run = Run.objects.get(pk=exchanging.pk)
    summarise_run(run)
    return run


def test_two_runs_are_compared_by_their_handshakes_and_messages(ended_exchange, vera):
    sides = {"a": f"run-{ended_exchange.pk}", "b": f"test-{ended_exchange.test_id}"}
    comparison = comparison_of(columns_of(Actor(user=vera), sides))
    labels = [row.label for row in comparison.detail.counts.rows]
    assert {"handshake p95, ms", "message p99, ms", "messages/s"} <= set(labels)


ADD = "Add the output of a tool"
TEXT = "procs --memory--\n r  b   swpd <free>\n 1  0      0   77123\n"


def add(by, run, text=TEXT):
    return add_output(by=by, run=run, tool="vmstat", text=text)


def send(client, run, **body):
    body = {"tool": "vmstat", **body}
    return client.post(reverse("output-new", args=[run.pk]), body, follow=True)


def test_an_editor_pastes_an_output_and_reads_it_beside_the_run(as_editor, run):
    send(as_editor, measure(run, 12_000), text=TEXT.replace("\n", "\r\n"))
    page = as_editor.get(reverse("run-detail", args=[run.pk])).content.decode()
    assert "Output of vmstat" in page
    assert TEXT.replace("<free>", "&lt;free&gt;") in page
    original = as_editor.get(reverse("output-text", args=[ToolOutput.objects.get().pk]))
    assert original.content.decode() == TEXT
    assert "attachment" in original["Content-Disposition"]


def test_a_file_is_kept_as_it_was(as_editor, run):
    text = TEXT.replace("\n", "\r\n")
    send(as_editor, run, file=SimpleUploadedFile("vmstat.txt", text.encode()))
    assert ToolOutput.objects.get().text == text


def test_a_file_that_is_no_text_is_refused(as_editor, run):
    send(as_editor, run, file=SimpleUploadedFile("perf.data", b"PERFILE2\xff\xfe"))
    assert not ToolOutput.objects.exists()


def test_a_share_link_shows_them_only_where_it_shows_machines(as_editor, run, as_bob):
    add(as_bob, measure(run, 12_000))
    without = visit(make_link(as_editor, "run-share", run.pk)).content.decode()
    with_machines = visit(
        make_link(as_editor, "run-share", run.pk, shows_machines="on")
    ).content.decode()
    assert "77123" not in without
    assert "77123" in with_machines
    for page in (without, with_machines):
        assert "Download</a>" not in page
        assert ADD not in page


def test_the_campaigns_page_has_http_beside_https_and_a_share_only_with_machines(
    as_editor, project
):
    campaign, tests = https_campaign(project, started_at=timezone.now(), perf="processes")
    for run in run_in_blocks(tests, [[12_000] * 3, [24_000] * 3]):
        tell(run, 1e8)
    page = as_editor.get(reverse("campaign-detail", args=[campaign.pk])).content.decode()
    without, with_machines = (
        visit(make_link(as_editor, "campaign-share", campaign.pk, **ticks)).content.decode()
        for ticks in ({}, {"shows_machines": "on"})
    )
    assert "Counters of the target" not in without
    for each in (page, with_machines):
        assert "Counters of the target" in each
        assert "cycles per 1,000 requests" in each


def test_a_file_that_is_too_large_is_refused_before_it_is_read(as_editor, run):
    answer = send(as_editor, run, file=SimpleUploadedFile("perf.txt", b"x" * 2_000_000))
    assert "at most 1.00\u202fMB" in answer.content.decode()
    assert not ToolOutput.objects.exists()
