"""Runs over REST, with their seconds and outputs of tools, also in pages while new ones come in."""

from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns.domain.metrics.snapshot import Second, Timing
from campaigns.runs.exports import tool_report
from tests.factories import make_campaign, make_project, make_run, make_test, store_second
from tests.measured import measure
from tests.values import make_second

pytestmark = pytest.mark.django_db


RUNS = "/api/v1/runs/"


def test_it_reads_a_run_with_its_frozen_copy(api, run):
    row = api.get(f"{RUNS}{run.pk}/").json()
    assert row["label"] == run.label
    assert row["origin"] == run.test.endpoint.origin
    assert row["snapshot"]["plan_name"] == row["plan_name"]


def test_a_list_leaves_the_copies_out(api, run):
    (row,) = api.get(RUNS).json()["results"]
    assert row["id"] == run.pk
    assert "snapshot" not in row


def test_a_list_begins_with_the_latest_run_of_the_newest_campaign(api, campaign):
    older = [make_run(make_test(campaign), position=position) for position in range(2)]
    newer = make_test(make_campaign(campaign.project))
    newest = [make_run(newer, position=position, repeat=position + 1) for position in range(2)]
    ids = [row["id"] for row in api.get(RUNS).json()["results"]]
    assert ids == [run.pk for run in reversed([*older, *newest])]


def test_it_filters(api, campaign, alice):
    first, second = make_test(campaign), make_test(campaign)
    answers = {"trust": "no_answer", "target_state": "failing", "precision": "coarse"}
    done = make_run(first, state="done", outcome="stopped", t0="2026-11-21T12:00:00Z", **answers)
    queued = make_run(second)
    elsewhere = make_run(make_test(make_campaign(make_project(owner=alice))))
    runs_by_query = {
        f"campaign={campaign.pk}": {done, queued},
        f"project={campaign.project_id}": {done, queued},
        f"project={elsewhere.campaign.project_id}": {elsewhere},
        f"test={first.pk}": {done},
        f"plan={second.plan_version.plan_id}": {queued},
        f"target={first.endpoint.target_id}": {done},
        "state=done": {done},
        "state=done&state=queued": {done, queued, elsewhere},
        "outcome=stopped": {done},
        "measurement=no_answer": {done},
        "measurement=trusted": set(),
        "target_state=failing": {done},
        "precision=coarse&precision=fine": {done},
        "since=2026-11-21T12:00:00Z": {done},
        "until=2026-11-21T12:00:00Z": set(),
    }
    for query, runs in runs_by_query.items():
        rows = api.get(f"{RUNS}?{query}").json()["results"]
        assert {row["id"] for row in rows} == {run.pk for run in runs}, query


def test_a_judged_run_has_three_answers(api, run):
    assert api.get(f"{RUNS}{run.pk}/").json()["judgement"] is None
    measure(run, 10_000, vitals={"cpu_share": 0.9}, peer="127.0.0.1:80")
    judgement = api.get(f"{RUNS}{run.pk}/").json()["judgement"]
    assert [judgement[name]["state"] for name in ("measurement", "target", "precision")] == [
        "busy",
        "healthy",
        "fine",
    ]
    assert judgement["measurement"]["reasons"][0]["code"] == "cpu"
    assert [note["code"] for note in judgement["notes"]] == ["co_located"]


def test_it_stops_a_queued_run_at_once(api, run):
    row = api.post(f"{RUNS}{run.pk}/stop/").json()
    assert (row["state"], row["outcome"]) == ("done", "stopped")
    assert api.post(f"{RUNS}{run.pk}/stop/").status_code == 409


def test_seconds_come_as_they_are_stored_and_in_order(api, run):
    seconds = [make_second(second, [1000, 2000 + second]) for second in (1, -1, 0)]
    for second in seconds:
        store_second(run, second)
    rows = api.get(f"{RUNS}{run.pk}/seconds/").json()["results"]
    assert [row["second"] for row in rows] == [-1, 0, 1]
    read = Second.from_json(rows[2])
    assert read.counters == seconds[0].to_json()["counters"]
    timing = read.timings["response"]
    assert (timing.n, timing.sum_us) == (2, 3001)
    assert timing.histogram == Timing.of([1000, 2001]).histogram


def test_seconds_come_in_pages_and_from_where_one_stopped(api, run):
    for second in range(5):
        store_second(run, make_second(second, [1000]))
        store_second(run, make_second(second, [1000], step=1))
    address = f"{RUNS}{run.pk}/seconds/"
    page = api.get(f"{address}?page_size=4").json()
    assert page["count"] == 10
    assert len(page["results"]) == 4
    rows = api.get(f"{address}?after=2&step=1").json()["results"]
    assert [(row["second"], row["step"]) for row in rows] == [(3, 1), (4, 1)]
    assert api.get(f"{address}?shard=1").json()["count"] == 0


def test_each_page_of_seconds_names_the_row_from_which_the_next_one_goes_on(api, run):
    for second in range(-1, 3):
        for shard, step in ((0, 0), (0, 1), (1, 0)):
            store_second(run, make_second(second, [1000], step=step), shard=shard)
    address, keys, pages = f"{RUNS}{run.pk}/seconds/?page_size=5", [], 0
    while address:
        page = api.get(address).json()
        keys += [(row["second"], row["step"], row["shard"]) for row in page["results"]]
        address, pages = page["next"], pages + 1
        assert page["count"] == 12
        assert (page["previous"] is None) == (pages == 1)
    assert (pages, keys) == (3, sorted(set(keys)))
    assert len(keys) == 12


def test_a_page_of_seconds_after_a_row_skips_no_rows_by_counting(api, run):
    for second in range(4):
        store_second(run, make_second(second, [1000]))
    with CaptureQueriesContext(connection) as queries:
        rows = api.get(f"{RUNS}{run.pk}/seconds/?page=2&page_size=2&after_row=1.0.0").json()
    assert [row["second"] for row in rows["results"]] == [2, 3]
    assert not any("OFFSET" in each["sql"] for each in queries)
    assert api.get(f"{RUNS}{run.pk}/seconds/?after_row=1").status_code == 400


def test_a_page_of_seconds_that_is_no_longer_there_is_not_found(api, run):
    store_second(run, make_second(2, [1000]))
    address = f"{RUNS}{run.pk}/seconds/?after_row=1.0.0"
    assert [row["second"] for row in api.get(address).json()["results"]] == [2]
    for page in ("2", "99999999999"):
        assert api.get(f"{address}&page={page}").status_code == 404


def test_a_misspelt_filter_of_seconds_is_refused_also_where_their_tag_is_known(api, run):
    measure(run, 10_000)
    address = f"{RUNS}{run.pk}/seconds/"
    headers = {"If-None-Match": api.get(address)["ETag"]}
    assert api.get(address, headers=headers).status_code == 304
    assert api.get(f"{address}?bogus=1", headers=headers).status_code == 400


def test_a_report_in_the_style_of_a_tool_is_the_text_of_the_page(api, run):
    measure(run, 12_000)
    for style in ["ab", "httperf", "jmeter", "plain", "wsperf"]:
        answer = api.get(f"{RUNS}{run.pk}/report.txt?style={style}")
        assert (
            answer["Content-Disposition"] == f'attachment; filename="run-{run.label}-{style}.txt"'
        )
        assert answer.content.decode() == tool_report(run, style)
    unknown = api.get(f"{RUNS}{run.pk}/report.txt?style=k6")
    assert "wsperf" in unknown.json()["error"]["fields"]["style"]


@pytest.fixture
def post(post_to, run):
    return partial(post_to, f"runs/{run.pk}/outputs/")


def test_an_output_is_added_read_and_deleted(client, post, run):
    response = post(tool="vmstat", text=" r  b\r\n 1  0\n")
    assert response.status_code == 201
    path = f"/api/v1/outputs/{response.json()['id']}/"
    assert client.get(path).json() == response.json()
    assert (response.json()["tool"], response.json()["text"]) == ("vmstat", " r  b\r\n 1  0\n")
    (row,) = client.get(f"/api/v1/runs/{run.pk}/outputs/").json()["results"]
    assert row.keys() == {"id", "run", "tool", "added_by", "added_at"}
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404


def test_what_cannot_be_kept_is_answered_by_field(post):
    answer = post(tool="vmstat", text="x" * 1_000_001)
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"].keys() == {"text"}


def test_what_is_no_number_of_a_page_is_refused_with_what_to_write(api):
    for odd in ["", "0", "-1", "1.5", "last", "1e1", "1_0", "²"]:
        for name in ["page", "page_size"]:
            answer = api.get("/api/v1/campaigns/", {name: odd})
            assert answer.status_code == 400
            assert answer.json()["error"]["fields"] == {name: "Write a number from 1."}


def read_whole(api, address: str, make) -> list[int]:
    """The ids of all pages; something new is made before each but the first."""
    ids = []
    while address:
        page = api.get(address).json()
        ids += [row["id"] for row in page["results"]]
        address = page["next"]
        make()
    return ids


def test_campaigns_by_id_come_once_each_while_new_ones_are_created(api, project):
    there = [make_campaign(project).pk for _ in range(5)]
    more = iter(range(2))

    def make():
        if next(more, None) is not None:
            make_campaign(project)

    ids = read_whole(api, "/api/v1/campaigns/?ordering=id&page_size=2", make)
    assert ids[:5] == there
    assert len(ids) == len(set(ids)) == 7


def test_runs_until_a_time_come_once_each_while_new_ones_begin(api, project):
    def make():
        make_run(make_test(make_campaign(project)), t0=timezone.now())

    for _ in range(5):
        make()
    until = timezone.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    ids = read_whole(api, f"/api/v1/runs/?until={until}&page_size=2", make)
    assert len(ids) == len(set(ids)) == 5
