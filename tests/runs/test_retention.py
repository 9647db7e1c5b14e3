"""Old seconds are removed, in small batches; nothing that reads a finished run notices."""

from datetime import datetime, timedelta
from itertools import product

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.domain.metrics.snapshot import Timing, Total, total_of
from campaigns.domain.other_tools.reports import REPORTS
from campaigns.machines.queries.target_costs import perf_counters, target_costs
from campaigns.models import (
    Baseline,
    Campaign,
    KeptMinute,
    MachineSecond,
    Run,
    RunSummary,
    RunUse,
    ShardSecond,
    ShareLink,
)
from campaigns.operations.services.caps import measure_use
from campaigns.runs import services as runs
from campaigns.runs.exports import tool_report
from campaigns.runs.queries.reports import run_report
from campaigns.runs.queries.runs import why_no_seconds
from campaigns.runs.services import remove_old_seconds, summarise_run
from tests.factories import make_campaign, make_plan, make_run, make_test, store_second
from tests.kept_rows import undone
from tests.measured import end, https_campaign, measure, run_in_blocks, same_again
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db
GONE = 10**9  # no campaign has this number


def remove(days: float = 31, batches: int = 10**6) -> int:
    """As the worker does so many days from now; interrupted after a number of batches."""
    pauses: list[None] = []
    return remove_old_seconds(
        now=timezone.now() + timedelta(days=days),
        is_over=lambda: len(pauses) >= batches,
        pause=lambda: pauses.append(None),
    )


def ended_run(project, seconds: int = 10) -> Run:
    """A run that has ended now, with warm-up and seconds."""
    spec = plan_spec(model="closed", connections=2, requests=160) | {"warm_up_s": 1}
    run = make_run(make_test(make_campaign(project), make_plan(project, spec=spec)))
    store_second(run, make_second(-1, [9000] * 5))
    measure(run, 2000, seconds=seconds)
    measure_use(run)
    return Run.objects.get(pk=run.pk)


def n_seconds(run: Run) -> int:
    return ShardSecond.objects.filter(run=run).count()


def test_only_what_is_older_than_the_setting_is_removed(project, settings):
    run = ended_run(project)
    assert remove(days=29) == 0
    settings.KEEP_SECONDS_DAYS = 0
    assert remove(days=999) == 0
    settings.KEEP_SECONDS_DAYS = 7
    assert remove(days=8) == 11
    assert n_seconds(run) == 0
    use = RunUse.objects.get(run=run)
    assert (use.n_seconds, use.seconds_bytes) == (0, 0)
    assert use.summary_bytes > 0
    assert remove(days=8) == 0


def everything_that_is_read(run: Run) -> list:
    run = Run.objects.get(pk=run.pk)
    report = run_report(run)
    reports = [tool_report(run, style) for style in REPORTS]
    return [report.sentence, report.tiles, report.tables, report.phases, reports]


def test_pages_and_reports_of_the_run_read_as_before(project):
    run = ended_run(project)
    before = everything_that_is_read(run)
    assert remove() == 11
    assert everything_that_is_read(run) == before


def test_the_phases_of_several_injectors_stay(project):
    load = {"model": "closed", "connections": 2, "requests": 600, "start_offset_s": 1}
    test = make_test(make_campaign(project), make_plan(project, spec=plan_spec(**load)))
    run = make_run(test, n_shards=2)
    for shard in run.shards.all():
        for second in range(shard.number, 3 + shard.number):
            store_second(run, make_second(second, [5000] * 100), shard=shard.number)
        shard.end = {"duration_us": (3 + shard.number) * 1_000_000, "peers": {}}
        shard.save()
    end(run, "complete")
    measure_use(run)
    before = everything_that_is_read(run)
    assert [row.label for row in before[3].rows] == ["I: 1", "II: 1 + 2", "III: 2", "All phases"]
    assert remove() == 6
    assert everything_that_is_read(run) == before


def test_summarising_again_leaves_the_run_as_it_is(project):
    run = ended_run(project)
    remove()
    summary = summarise_run(run)
    assert summary == RunSummary.objects.get(run=run)
    assert summary.n_seconds == 11


def test_runs_of_a_current_baseline_stay_until_it_is_replaced(project, alice):
    run = ended_run(project)
    test = run.test
    baseline = Baseline.objects.create(
        project=project,
        name="release",
        plan=test.plan_version.plan,
        endpoint=test.endpoint,
        connection_mode=test.connection_mode,
        injectors=1,
        test=test,
    )
    baseline.runs.add(run)
    assert remove() == 0
    Baseline.objects.update(replaced_at=timezone.now())
    assert remove() == 11


def test_what_a_live_link_shows_stays_until_it_ends(project):
    for shows in ["campaign", "run", "a test", "a run beside another", "the test on these days"]:
        with undone():
            run = ended_run(project)
            Campaign.objects.update(started_at="2026-11-08T02:00:00Z")
            (later,) = same_again([run.test], started_at="2026-11-09T02:00:00Z")
            on_both = f"a=campaign-{GONE}&b=test-{later.pk}:2026-11-08..2026-11-09"
            fields = {
                "campaign": {"campaign": run.campaign},
                "run": {"run": run},
                "a test": {"comparison": f"a=campaign-{GONE}&b=test-{run.test_id}"},
                "a run beside another": {"comparison": f"a=run-{run.pk}&b=campaign-{GONE}"},
                "the test on these days": {"comparison": on_both},
            }[shows]
            until = timezone.now() + timedelta(days=60)
            ShareLink.objects.create(project=project, token_hash="x", expires_at=until, **fields)
            assert remove(days=59) == 0
            assert remove(days=61) == 11


def test_a_run_without_a_summary_keeps_its_seconds(project):
    run = ended_run(project)
    RunSummary.objects.filter(run=run).delete()
    assert remove() == 0


def test_an_interrupted_removal_goes_on(project, monkeypatch):
    monkeypatch.setattr(runs, "MINUTE_S", 4)
    run = ended_run(project)
    assert remove(batches=1) == 1
    assert n_seconds(run) == 10
    assert why_no_seconds(run)
    assert remove() == 10
    assert n_seconds(run) == 0


def test_a_batch_is_a_bounded_number_of_rows_in_a_statement(project, monkeypatch):
    monkeypatch.setattr(runs, "BATCH", 40)
    ended_run(project, seconds=130)
    with CaptureQueriesContext(connection) as queries:
        remove()
    deletions = [each["sql"] for each in queries if each["sql"].startswith("DELETE")]
    up_to = [int(sql.rsplit("<= ", 1)[1].rstrip(")")) for sql in deletions]
    assert up_to == [-1, 39, 59, 99, 119, 129]


def in_transactions(queries: CaptureQueriesContext) -> list[list[str]]:
    """The statements of each transaction, which here is a savepoint of the test's."""
    transactions: list[list[str]] = []
    is_open = False
    for sql in (each["sql"] for each in queries):
        if sql.startswith("SAVEPOINT"):
            transactions.append([])
            is_open = True
        elif sql.startswith("RELEASE"):
            is_open = False
        elif is_open:
            transactions[-1].append(sql)
    return transactions


def test_no_lock_is_held_while_seconds_are_read_or_a_disk_syncs(project):
    """Of a long run that takes longer than anybody should wait for."""
    ended_run(project, seconds=130)
    with CaptureQueriesContext(connection) as queries:
        assert remove() == 131
    transactions = in_transactions(queries)
    assert len(transactions) >= 8  # kept, three minutes, their seconds, noted
    for statements in transactions:
        assert statements[0] == "SET LOCAL synchronous_commit TO off"
        reads = [sql for sql in statements if sql.startswith("SELECT")]
        assert not [sql for sql in reads if "second" in sql], reads


def test_a_summary_that_is_made_meanwhile_is_looked_at_first(project, monkeypatch):
    run = ended_run(project)

    def made_meanwhile(run):
        RunSummary.objects.filter(run=run).update(version=2)
        return []

    with monkeypatch.context() as patch:
        patch.setattr(runs, "parts_to_keep", made_meanwhile)
        assert remove() == 0
    assert RunUse.objects.get(run=run).thinned_at is None
    assert remove() == 11


def test_a_minute_that_was_kept_is_whole_though_its_removal_was_interrupted(project, monkeypatch):
    monkeypatch.setattr(runs, "BATCH", 40)
    run = ended_run(project, seconds=60)
    assert remove(batches=2) == 41
    whole = KeptMinute.objects.get(run=run, minute=0).line
    assert remove() == 20
    assert KeptMinute.objects.get(run=run, minute=0).line == whole
    assert whole["counters"]["ok"] == RunSummary.objects.get(run=run).total.count("ok")


def test_minutes_have_all_that_their_seconds_had_together(project):
    run = make_run(make_test(make_campaign(project), make_plan(project)), n_shards=2)
    rows = [
        (second, step, shard, make_second(second, [5000 + second, 90_000], step=step))
        for second in (-1, 0, 59, 60)
        for step in (0, 1)
        for shard in (0, 1)
    ]
    for *_, shard, value in rows:
        store_second(run, value, shard=shard)
    end(run, "complete")
    measure_use(run)
    before = RunUse.objects.get(run=run).summary_bytes
    assert remove() == len(rows)
    for minute, step in product((-1, 0, 1), (0, 1)):
        total = total_of(
            each for second, at, _, each in rows if (second // 60, at) == (minute, step)
        )
        row = KeptMinute.objects.get(run=run, minute=minute, step=step)
        assert Total.from_json(row.line) == total
    kept_bytes = sum(len(row.packed) for row in KeptMinute.objects.filter(run=run))
    assert RunUse.objects.get(run=run).summary_bytes == before + kept_bytes


def test_minutes_are_read_from_the_api_once_the_seconds_are_gone(project, client, alice):
    run = ended_run(project, seconds=130)
    client.force_login(alice)
    address = f"/api/v1/runs/{run.pk}/minutes/"
    assert client.get(address).json()["results"] == []
    remove()
    rows = client.get(address).json()["results"]
    assert [(row["minute"], row["step"]) for row in rows] == [(-1, 0), (0, 0), (1, 0), (2, 0)]
    ok = sum(row["counters"]["ok"] for row in rows[1:])
    assert ok == RunSummary.objects.get(run=run).total.count("ok")
    responses = Timing.from_json(rows[1]["timings"]["response"])
    assert responses.histogram.n == responses.n == rows[1]["counters"]["ok"]
    later = client.get(address, {"after": 1}).json()["results"]
    assert [row["minute"] for row in later] == [2]


def test_the_seconds_are_gone_from_the_api_with_the_day_and_the_reason(
    project, client, alice, settings
):
    """Also after the installation keeps them for ever."""
    run = ended_run(project)
    client.force_login(alice)
    address = f"/api/v1/runs/{run.pk}/seconds/"
    assert client.get(address).json()["results"]
    remove(days=31)
    settings.KEEP_SECONDS_DAYS = 0
    answer = client.get(address)
    day = datetime.strftime(timezone.now() + timedelta(days=31), "%-d %B %Y")
    assert answer.status_code == 410
    assert answer.json()["error"]["code"] == "removed"
    assert day in answer.json()["error"]["message"]
    assert client.get(f"/runs/{run.pk}/seconds.csv").status_code == 200


def test_what_the_targets_machine_did_reads_as_before(project):
    """CPU, bytes and perf's counters for each request of a campaign, as an agent told them."""
    campaign, tests = https_campaign(project, order="blocks", perf="processes")
    perf = {"of": "processes", "lasted_s": 1.0, "counts": {"cycles": [9e8, 100]}, "lacks": {}}
    cpu = {"user_s": 0.3, "system_s": 0.1, "interrupts_s": 0, "stolen_s": 0, "idle_s": 1.6}
    did = {**cpu, "received_bytes": 4e5, "sent_bytes": 9e5, "loopback_bytes": 0, "perf": perf}
    did["processes"] = {"nginx": {"cpu_s": 0.3}}
    for run in run_in_blocks(tests, [[10_000] * 3, [20_000] * 3]):
        fields = {"source": "shop-1", "lasted_s": 1, "busy_s": 0.4, "watched_s": 0.3}
        MachineSecond.objects.bulk_create(
            MachineSecond(run=run, second=second, did=did, **fields) for second in range(-2, 12)
        )
        measure_use(run)

    def everything() -> list:
        fresh = Campaign.objects.get(pk=campaign.pk)
        answer = campaign_answer(fresh)
        return [target_costs(fresh, answer), perf_counters(fresh, answer)]

    before = everything()
    costs, counters = before
    assert costs.cpu.tables
    assert costs.network.tables
    assert counters is not None
    assert remove() == 6 * (10 + 14), "seconds of the runs, and of the machine"
    assert not MachineSecond.objects.exists()
    assert everything() == before
