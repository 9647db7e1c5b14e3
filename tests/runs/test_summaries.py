"""What is kept of a run that ends: its summary, figures of its test, examples of its failures."""

from dataclasses import replace

import pytest

from campaigns.core.permissions import Actor
from campaigns.domain.lifecycle import Outcome, Precision, Trust
from campaigns.domain.metrics.injector_end import TlsHandshakes
from campaigns.domain.metrics.snapshot import Total
from campaigns.engine.services import endings
from campaigns.engine.services.shards import mark_done, record_seconds
from campaigns.models import FailureExample, InjectorHost, Run, RunSummary, TestFigures
from campaigns.runs import services as runs
from campaigns.runs.queries.runs import examples_of
from campaigns.runs.services import summarise_run
from tests.engine.scenes import end, expire, measuring, running, second, settle
from tests.factories import make_campaign, make_plan, make_run, make_test, store_second
from tests.measured import end_shards, measure
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db


VITALS = {"cpu_share": 0.2, "lateness_p99_us": 100, "hub_lag_max_us": 900}


def codes(run: Run) -> list[str]:
    """Of its reasons, without the fact of its precision."""
    run.refresh_from_db()
    facts = {"no_requests", "too_few_requests", "enough_requests"}
    return [reason.code for reason in run.judged.reasons if reason.code not in facts]


def test_it_merges_all_seconds_and_keeps_the_warm_up_out_of_the_total(run):
    for number, values in ((-1, [9000]), (0, [1000, 2000]), (1, [3000])):
        store_second(run, make_second(number, values))
    summary = summarise_run(run)
    total = summary.total
    assert total.count("ok") == 3
    assert total.timing("response").mean_us == 2000
    assert total.timing("response").max_us == 3000
    assert [point["second"] for point in summary.series] == [-1, 0, 1]
    assert summary.series[1]["mean_ms"] == 1.5


def test_steps_and_shards_are_merged_each_for_itself(project):
    step = {"method": "GET", "path": "/"}
    spec = {**plan_spec(), "steps": [{**step, "label": "a"}, {**step, "label": "b"}]}
    test = make_test(make_campaign(project), make_plan(project, spec=spec))
    run = make_run(test, n_shards=2)
    store_second(run, make_second(0, [1000], vitals=VITALS), shard=0)
    store_second(run, make_second(0, [2000], step=1), shard=0)
    store_second(run, make_second(0, [3000], vitals={**VITALS, "cpu_share": 0.5}), shard=1)
    summary = summarise_run(run)
    first, second = (Total.from_json(each) for each in summary.steps)
    assert (first.count("ok"), second.count("ok")) == (2, 1)
    assert summary.series[0]["shards"] == 2
    assert summary.series[0]["cpu_share"] == 0.5
    assert [each["worst"]["cpu_share"] for each in summary.vitals] == [0.2, 0.5]


def test_the_same_seconds_give_the_same_summary(run):
    store_second(run, make_second(0, [1000]))
    assert [summarise_run(run).version for _ in range(2)] == [1, 1]


def test_a_late_second_writes_it_again(run):
    store_second(run, make_second(0, [1000]))
    first = summarise_run(run)
    store_second(run, make_second(1, [5000]))
    second = summarise_run(run)
    assert (first.version, second.version) == (1, 2)
    assert RunSummary.objects.get().total.count("ok") == second.total.count("ok") == 2


def test_it_writes_nothing_to_the_run_but_its_judgement(run):
    store_second(run, make_second(0, [1000]))
    stale = Run.objects.get(pk=run.pk)
    Run.objects.filter(pk=run.pk).update(reason="written meanwhile")
    summarise_run(stale)
    run.refresh_from_db()
    assert run.reason == "written meanwhile"
    assert (run.trust, run.precision) == (Trust.TRUSTED, Precision.COARSE)


def test_a_run_without_a_single_second_is_not_usable_and_says_so(run):
    summary = summarise_run(run)
    assert (summary.n_seconds, summary.duration_s, summary.series) == (0, 0.0, [])
    assert codes(run) == ["no_seconds", "not_known"]


def test_a_target_on_the_injectors_own_machine_is_only_noted(run):
    measure(run, 10_000, peer="127.0.0.1:8081")
    assert run.trust == Trust.TRUSTED
    assert codes(run) == ["co_located"]


def test_an_address_that_an_injector_host_announced_is_its_own(run):
    InjectorHost.objects.create(
        name="inj-1",
        slots=1,
        seen_at="2026-01-01T00:00Z",
        started_at="2026-01-01T00:00Z",
        facts={"addresses": "127.0.0.1 10.1.2.3"},
    )
    measure(run, 10_000)
    assert codes(run) == ["co_located"]


def test_a_shard_that_ended_earlier_as_planned_is_not_missed(project):
    run = make_run(make_test(make_campaign(project)), n_shards=2)
    for number in range(10):
        store_second(run, make_second(number, [1000] * 200), shard=0)
        if number < 5:
            store_second(run, make_second(number, [1000] * 200), shard=1)
    end_shards(run, last_second=9)
    run.shards.filter(number=1).update(last_second=4)
    summarise_run(run)
    assert "missing_seconds" not in codes(run)


def test_a_hole_between_seconds_is_missing(run):
    for number in (0, 1, 3):
        store_second(run, make_second(number, [1000] * 400))
    summarise_run(run)
    assert codes(run)[0] == "missing_seconds"


def test_every_shard_that_did_not_end_owes_the_rest(project):
    run = make_run(make_test(make_campaign(project)), n_shards=2)
    store_second(run, make_second(0, [1000] * 500), shard=0)
    store_second(run, make_second(1, [1000] * 500), shard=0)
    store_second(run, make_second(0, [1000] * 500), shard=1)
    summary = summarise_run(run)
    assert [point["missing"] for point in summary.series] == [0, 1]
    assert "missing_seconds" in codes(run)


def test_waiting_that_was_not_timed_breaks_little_s_law(project):
    spec = plan_spec(model="closed", connections=100, duration_s=20)
    run = make_run(make_test(make_campaign(project), make_plan(project, spec=spec)))
    for number in range(20):
        store_second(run, make_second(number, [100_000] * 500, in_flight=100))
    summarise_run(run)
    assert codes(run) == ["little"]


@pytest.mark.parametrize(
    ("errors_us", "reasons"),
    [
        ((60_000, 50_000, 10), ["starts_apart"]),
        ((40_000, 50_000, 10), []),
        ((900_000,), []),
    ],
)
def test_injectors_whose_starts_cannot_be_compared_are_doubted(project, errors_us, reasons):
    run = make_run(make_test(make_campaign(project)), n_shards=len(errors_us))
    end_shards(run, last_second=0)
    for number, error_us in enumerate(errors_us):
        store_second(run, make_second(0, [1000] * 1000), shard=number)
        run.shards.filter(number=number).update(end={"start_error_us": error_us})
    summarise_run(run)
    assert codes(run) == reasons


def test_the_limits_are_a_setting(run, settings):
    settings.JUDGEMENT_LIMITS = {"throttled": (0.0, 0.1)}
    measure(run, 10_000, vitals={"throttled_share": 0.15})
    assert run.trust == Trust.BUSY


class TestTheDuration:
    def test_is_what_the_slowest_injector_says(self, project):
        run = make_run(make_test(make_campaign(project)), n_shards=2)
        end_shards(run, last_second=3)
        run.shards.filter(number=0).update(end={"duration_us": 3_250_000})
        run.shards.filter(number=1).update(end={"duration_us": 3_100_000})
        assert summarise_run(run).duration_s == 3.25

    def test_is_the_planned_one_where_no_injector_could_say(self, project):
        spec = plan_spec(model="over", requests=10, over_s=2)
        run = make_run(make_test(make_campaign(project), make_plan(project, spec=spec)))
        for number in range(3):
            store_second(run, make_second(number, [1000] * 3))
        assert summarise_run(run).duration_s == 2.0

    def test_ends_with_the_last_second_that_saw_an_end_in_a_run_that_was_cut_off(self, run):
        for number in range(3):
            store_second(run, make_second(number, [1000]))
        store_second(run, make_second(3))
        run.outcome = Outcome.PARTIAL
        assert summarise_run(run).duration_s == 3.0


def test_a_run_that_ends_is_in_the_history_of_its_test_and_among_its_runs(project):
    run, lease = measuring(project)
    mark_done(lease=lease, end=end())
    assert not TestFigures.objects.exists()
    settle(run)
    figures = TestFigures.objects.get(test=run.test)
    assert (figures.n, figures.errors) == (run.n, run.errors)
    assert figures.started_at == run.campaign.started_at
    assert RunSummary.objects.get(run=run).total.count("ok") + run.errors == run.n


def test_its_facts_say_what_tls_was_agreed_on_and_what_spoke_it(project):
    run, lease = measuring(project)
    handshakes = TlsHandshakes("TLSv1.3", "AES", 3, group="X25519MLKEM768")
    mark_done(lease=lease, end=replace(end(), tls=[handshakes], tls_library="OpenSSL 4.0.3"))
    settle(run)
    facts = TestFigures.objects.get().facts
    assert facts["TLS"] == "TLSv1.3, AES, X25519MLKEM768"
    assert facts["TLS library"] == "OpenSSL 4.0.3"


def test_what_cannot_be_written_keeps_no_run_from_ending(project, monkeypatch):
    def fail(tests):
        raise ValueError("no such fact")

    monkeypatch.setattr(runs, "keep_figures", fail)
    run, lease = measuring(project)
    mark_done(lease=lease, end=end())
    assert (settle(run).outcome, TestFigures.objects.count()) == ("complete", 0)


def stored_figures() -> list:
    return list(RunSummary.objects.order_by("pk").values_list("figures", flat=True))


def test_a_new_version_of_its_summary_writes_all_again(project):
    run, lease = measuring(project)
    expire(run)
    settle(run)
    before, n_before = stored_figures(), TestFigures.objects.get().n
    record_seconds(lease=lease, seconds=[second(0), second(1)])
    endings.summarise_late_runs()
    assert len(stored_figures()) == 1
    assert TestFigures.objects.get().n == 2 * n_before
    assert stored_figures() != before


KEY = ("add", "status_unexpected", 404)


def with_examples(number: int, **fields) -> dict:
    example = {
        "kind": "status_unexpected",
        "status": 404,
        "at_us": number * 1_000_000,
        "request": "GET /x?token=t0p HTTP/1.1\nAuthorization: Basic YTpi",
        "reply": "404 Not Found\nSet-Cookie: id=77\n\n<b>no</b>\x00",
        "body_bytes": 10,
        "detail": "",
    }
    return second(number) | {"examples": [example | fields]}


def test_examples_are_stored_without_secrets_even_if_the_injector_left_them(project, alice):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[with_examples(0)])
    ((example,),) = examples_of(Actor(user=alice), run=run).values()
    assert example.request == "GET /x?token=[hidden] HTTP/1.1\nAuthorization: [hidden]"
    assert example.reply == "404 Not Found\nSet-Cookie: id=[hidden]\n\n<b>no</b>\\x00"


def test_the_same_second_twice_changes_nothing(project):
    run, (lease,) = running(project)
    for _ in range(2):
        record_seconds(lease=lease, seconds=[with_examples(0), with_examples(1)])
    assert run.failure_examples.count() == 2


def test_at_most_three_of_a_kind_are_shown_the_first_and_the_last_among_them(project, alice):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[with_examples(number) for number in range(7)])
    examples = examples_of(Actor(user=alice), run=run)
    assert [each.second for each in examples[KEY]] == [0, 3, 6]


def test_examples_go_with_their_run(project):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[with_examples(0)])
    Run.objects.filter(pk=run.pk).delete()
    assert not FailureExample.objects.exists()
