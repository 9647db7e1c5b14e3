"""What a run's page says. A run's page has, to the letter, what the command line prints of the same
seconds."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.injector_end import COMPLETE, InjectorEnd, TlsHandshakes
from campaigns.domain.metrics.kept_requests import KeptRequests, pack
from campaigns.domain.metrics.snapshot import Second, Timing
from campaigns.domain.other_tools.reports import REPORTS, styles_for
from campaigns.domain.presentation.sentences import plain_text
from campaigns.models import RequestsOfShard, Run, Shard
from campaigns.runs.exports import tool_report
from campaigns.runs.queries.reports import phases_of, run_report
from campaigns.runs.services import summarise_run
from tests.factories import (
    begin_run,
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
    store_second,
)
from tests.measured import end, end_shards, measure
from tests.values import make_second, plan_spec
from workers.injector.summary import LocalRun

pytestmark = pytest.mark.django_db


def new_run(project, **fields) -> Run:
    return make_run(make_test(make_campaign(project), **fields))


def ended_run(project, second: Second, **fields) -> Run:
    """A run whose only second this is."""
    run = new_run(project, **fields)
    store_second(run, second)
    end_shards(run)
    return end(run, Outcome.COMPLETE)


def tile(report, key: str) -> dict:
    return next(each for each in report.tiles if each["key"] == key)


def test_its_tiles_are_rate_percentiles_and_errors(project):
    report = run_report(measure(new_run(project), 20_000))
    assert [each["key"] for each in report.tiles] == ["rate", "p50", "p95", "p99", "errors"]
    assert (tile(report, "p50")["value"], tile(report, "p50")["unit"]) == ("20.0", "ms")
    assert tile(report, "errors")["value"] == "0.00"
    assert "2,000 of 100 requests" in tile(report, "rate")["lines"]


def test_a_percentile_that_the_run_is_too_short_for_is_a_dash_with_the_reason(project):
    report = run_report(measure(new_run(project), 20_000, n=100, seconds=10))
    assert tile(report, "p99")["value"] == "–"
    assert tile(report, "p95")["value"].startswith("~")


def test_a_run_that_is_not_usable_has_no_figures(project):
    report = run_report(measure(new_run(project), 20_000, counters={"in_doubt": 20}))
    assert report.tiles == []
    assert report.checks == []


def test_steps_stand_below_all_steps(project):
    step = {"method": "GET", "path": "/"}
    spec = {**plan_spec(), "steps": [{**step, "label": "login"}, {**step, "label": "buy"}]}
    run = new_run(project, version=make_plan(project, spec=spec))
    store_second(run, make_second(0, [1000] * 10))
    store_second(run, make_second(0, [9000] * 10, step=1))
    end(run, Outcome.COMPLETE)
    rows = run_report(run).table.rows
    assert [row.label for row in rows] == ["All steps", "login", "buy"]
    assert [row.cells[0].value for row in rows] == [5.0, 1.0, 9.0]


def test_a_run_in_which_everything_failed_says_what_the_target_answered(project):
    run = new_run(project)
    for second in range(2):
        line = make_second(second, [], counters={"failed": 50}, errors={"status_unexpected": 50})
        line.statuses = {"404": 50}
        line.timings["failed_reply"] = Timing.of([2_000] * 50)
        store_second(run, line)
    end(run, Outcome.COMPLETE)
    report = run_report(run)
    assert "2.00\u202fms (p50)" in plain_text(report.sentence)
    assert report.errors.is_everything
    (row,) = report.errors.table.rows
    assert [cell.text for cell in row.cells] == [
        "404 Not Found", "add", "100", "100.00", "0", "1", "2.00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "scheme", "tls", "protocol"),
    [
        ({"http_version": "1.0"}, "http", {}, "HTTP/1.0"),
        ({"http_version": "2"}, "https", {}, "HTTP/2 by ALPN"),
        ({"http_version": "2"}, "https", {"alpn": False}, "HTTP/2 by prior knowledge"),
        (
            {"http_version": "2", "streams": 32},
            "http",
            {},
            "HTTP/2 by prior knowledge, 32 streams a connection",
        ),
    ],
)
def test_the_http_that_was_spoken_is_told_with_who_agreed_to_it(
    project, options, scheme, tls, protocol
):
    load = {"model": "closed", "connections": 1, "requests": 10}
    plan = make_plan(project, spec=plan_spec(**load) | options)
    endpoint = make_endpoint(make_target(project), scheme, tls=tls)
    second = make_second(0, [1000], counters={"connections_opened": 1})
    run = ended_run(project, second, version=plan, endpoint=endpoint)
    assert ["Protocol", protocol] in dict(run_report(run).facts)["Handshakes"]


def test_requests_that_were_sent_again_are_on_the_page(project):
    plan = make_plan(project, spec=plan_spec() | {"http_version": "1.1"})
    second = make_second(0, [1000], counters={"connections_opened": 3, "replayed": 2})
    run = ended_run(project, second, version=plan)
    facts = dict(dict(run_report(run).facts)["Handshakes"])
    assert facts["Sent again on a new connection"].startswith("2 requests: ")


def test_what_the_plan_asks_for_stands_beside_what_was_there(project):
    plan = make_plan(project, spec=plan_spec(model="open", rate_per_s=100, duration_s=10))
    run = new_run(project, version=plan)
    for number, in_flight in enumerate((2, 7, 0)):
        store_second(run, make_second(number, [10_000] * 300, in_flight=in_flight))
    end_shards(run, last_second=2, end={"duration_us": 12_000_000, "sending_us": 9_990_000})
    end(run, Outcome.COMPLETE)
    assert dict(run_report(run).facts)["Load, planned and reached"] == [
        ["Planned", "100 requests/s, 10 s"],
        ["Rate planned", "100/s"],
        ["Rate sent", "90.0/s"],
        ["In flight, mean", "0.750"],
        ["In flight, maximum at the end of a second", "7"],
    ]


def test_the_rate_of_a_run_that_was_stopped_is_that_until_its_end(project):
    plan = make_plan(project, spec=plan_spec(model="open", rate_per_s=100, duration_s=60))
    run = new_run(project, version=plan)
    for number in range(6):
        store_second(run, make_second(number, [10_000] * 100))
    end_shards(run, last_second=5, end={"duration_us": 6_000_000, "sending_us": 5_990_000})
    end(run, Outcome.STOPPED)
    facts = dict(run_report(run).facts)["Load, planned and reached"]
    assert ["Rate sent", "100/s"] in facts


def test_every_peer_that_was_hit_is_listed_and_what_the_injectors_said_before(project):
    run = new_run(project)
    store_second(run, make_second(0, [1000]))
    end_shards(run, end={"peers": {"10.0.0.9:80": 7, "10.0.0.8:80": 5}, "warnings": ["Mind."]})
    end(run, Outcome.COMPLETE)
    facts = dict(run_report(run).facts)
    assert ["Address 10.0.0.9:80", "7 connections"] in facts["Environment"]
    assert ["Address 10.0.0.8:80", "5 connections"] in facts["Environment"]
    assert facts["Pre-start checks"] == [["Injector process 1", "Mind."]]
    assert "Mind." in tool_report(run)


def test_the_parts_of_a_reply_are_told_and_how_much_its_body_varies(project):
    sizes = {
        "head_received": 526 * 2, "body_received": 4000 + 4151, "framing_received": 7 * 2,
        "body_squares": 4000**2 + 4151**2,
    }  # fmt: skip
    run = ended_run(project, make_second(0, [1000, 1000], counters=sizes))
    assert dict(run_report(run).facts)["Bytes"] == [
        ["Header per response", "526 B"],
        ["Body per response", "4,076 ± 75.5 B"],
        ["Chunked framing per response", "7 B"],
    ]


def test_bytes_of_http_stand_beside_what_tcp_carried(project):
    sizes = {"bytes_sent": 60, "wire_sent": 900, "bytes_received": 140, "wire_received": 3000}
    run = ended_run(project, make_second(0, [1000], counters=sizes))
    assert dict(run_report(run).facts)["Bytes"] == [
        ["Sent, HTTP", "60 B"],
        ["Sent, TCP", "900 B"],
        ["Received, HTTP", "140 B"],
        ["Received, TCP", "3,000 B"],
    ]


RULES = [
    {"metric": "p95", "limit": 30, "unit": "ms"},
    {"metric": "rate", "limit": 500, "unit": "/s"},
]


def run_with_rules(project) -> Run:
    return new_run(project, version=make_plan(project, spec=plan_spec() | {"thresholds": RULES}))


def texts(table) -> list[list[str]]:
    return [[row.label, *(cell.text for cell in row.cells)] for row in table.rows]


def test_thresholds_are_judged_at_the_end(project):
    run = measure(run_with_rules(project), 20_000)
    assert texts(run_report(run).thresholds) == [
        ["p95 < 30 ms", "22 ms", "30 ms", "kept", "–"],
        ["rate > 500 /s", "200 /s", "500 /s", "broken", "0"],
    ]


def test_thresholds_are_judged_while_the_run_goes(project):
    run = run_with_rules(project)
    begin_run(run, t0=timezone.now() - timedelta(seconds=60))
    for second, mean_us in enumerate([20_000, 20_000, 90_000]):
        store_second(run, make_second(second, [mean_us] * 100))
    run.refresh_from_db()
    assert texts(run_report(run).thresholds)[0] == ["p95 < 30 ms", "90 ms", "30 ms", "broken", "2"]


def run_of_two(project, ends_s, offset_s=0.0):
    load = {"model": "closed", "connections": 2, "requests": 600, "start_offset_s": offset_s}
    test = make_test(make_campaign(project), make_plan(project, spec=plan_spec(**load)))
    run = make_run(test, n_shards=2)
    for shard, end_s in enumerate(ends_s):
        for second in range(int(shard * offset_s), int(end_s)):
            store_second(run, make_second(second, [5000] * 100), shard=shard)
        row = Shard.objects.get(run=run, number=shard)
        row.end = {"duration_us": int(end_s * 1e6), "peers": {}}
        row.save()
    return end(run, "complete")


def labels(run):
    return [row.label for row in phases_of(run, run.frozen.plan, KeptRequests()).rows]


def test_injectors_that_begin_apart_have_phases(project):
    run = run_of_two(project, (3, 4), offset_s=1)
    table = run_report(run).phases
    assert labels(run) == ["I: 1", "II: 1 + 2", "III: 2", "All phases"]
    assert [row.cells[2].value for row in table.rows] == [100, 400, 100, 600]
    assert [row.cells[-2].value for row in table.rows] == [100, 200, 100, 150]
    assert table in run_report(run).tables


def test_phases_are_exact_where_each_request_is_known(project):
    run = run_of_two(project, (1.4, 1.9), offset_s=0.1)
    for shard, (start_us, step_us) in enumerate(((0, 13_000), (100_000, 17_000))):
        starts = [start_us + step_us * place for place in range(100)]
        n, own_columns = len(starts), {"number": [*range(1, 101)], "start_us": starts}
        columns = own_columns | {"response_us": [5000] * n, "step": [0] * n, "status": [200] * n}
        line = {"is_all": True, "columns": columns | {"kind": [""] * n}}
        RequestsOfShard.objects.create(run=run, shard=shard, packed=pack(line))
    table = run_report(run).phases
    assert [row.label for row in table.rows] == ["I: 1", "II: 1 + 2", "III: 2", "All phases"]
    # Process 2 begins after 100 ms, and process 1 has ended after 1,400.
    assert [row.cells[2].value for row in table.rows] == [8, 92 + 77, 23, 200]
    assert [row.cells[4].value for row in table.rows] == [5.0] * 4


def test_without_every_injector_s_end_there_are_none(project):
    run = run_of_two(project, (2, 4))
    run.shards.filter(number=1).update(end=None)
    assert labels(run) == []


END = InjectorEnd(
    outcome=COMPLETE,
    duration_us=7_500_000,
    cpu_us=250_000,
    peers={"127.0.0.1:8444": 1},
    tls=(TlsHandshakes("TLSv1.3", "AES", 80, bits=256),),
)
SECONDS = [
    make_second(number, [1000 + 37 * nth for nth in range(20)], counters={"bytes_received": 4096})
    for number in range(-1, 8)
]


@pytest.fixture
def run(project):
    now = timezone.now()
    spec = plan_spec(model="closed", connections=2, requests=160) | {"warm_up_s": 1}
    endpoint = make_endpoint(make_target(project), "https")
    test = make_test(make_campaign(project), make_plan(project, spec=spec), endpoint=endpoint)
    run = make_run(test, state="done", outcome="complete", t0=now, ended_at=now)
    run.shards.all().delete()
    Shard.objects.create(run=run, number=0, state="done", end=END.to_json(), last_second=7)
    for second in SECONDS:
        store_second(run, second)
    summarise_run(run)
    run.refresh_from_db()
    return run


def at_the_terminal(run, style):
    result = LocalRun(run.frozen.plan, [(0, each) for each in SECONDS], [END])
    return result.report(style, run.snapshot)


def figures(text):
    """The judgement follows: here, only the terminal's run is co-located."""
    return text.split("Measurement:")[0].rstrip()


def test_page_and_terminal_say_the_same(run):
    for style in REPORTS:
        assert figures(tool_report(run, style)) == figures(at_the_terminal(run, style))


def test_the_first_style_is_the_one_that_fits_best(run):
    assert styles_for(run.frozen.plan) == ["ab", "httperf", "jmeter", "plain"]
    assert tool_report(run) == tool_report(run, "ab")


def test_a_style_that_is_none_has_no_report(run):
    assert tool_report(run, "siege") is None


def test_a_run_that_nobody_began_has_a_report_of_nothing(project):
    run = new_run(project)
    text = tool_report(run, "httperf")
    assert "replies 0" in text
    assert "not judged until the run has ended" in text
