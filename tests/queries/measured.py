"""Campaigns that have run, made quickly: rows as the engine leaves them."""

import json
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from campaigns.domain.judged.criteria import Observed
from campaigns.domain.judged.judgement import judge
from campaigns.domain.lifecycle import Outcome, RunState, ShardState
from campaigns.domain.measured.snapshot import Timing
from campaigns.models import Campaign, InjectorHost, Run, RunSummary, ShardSecond, Test
from campaigns.services.summaries import summarise_run
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
)
from tests.values import make_second, plan_spec

# Spread as real responses are: a few slow ones, the rest close together.
SHAPE = (0.90, 0.94, 0.96, 0.98, 1.0, 1.0, 1.02, 1.04, 1.06, 1.10)
COPY = """
INSERT INTO campaigns_shardsecond (run_id, shard, second, step, epoch, packed)
SELECT run_id, shard, number, step, epoch, packed
FROM campaigns_shardsecond, generate_series(1, %s) AS number
WHERE (run_id, second, step, shard) = (%s, %s, %s, %s)
"""
# What summarise_run wrote for a run of `measure`, by all that it read.
_WRITTEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
_OF_RUN = ("trust", "target_state", "precision", "judgement", "n", "errors", "mean_us")
_OF_RUN += ("p50_us", "p95_us", "p99_us")
_NOT_COPIED = {"id", "run_id", "made_at"}


def responses_us(mean_us: float, n: int = 1000) -> list[int]:
    """n whole microseconds with about this mean."""
    return [round(mean_us * SHAPE[index % len(SHAPE)]) for index in range(n)]


def measure(
    run: Run,
    mean_us: float,
    n: int = 2000,
    seconds: int = 10,
    peer: str = "10.1.2.3:8081",
    lateness_us: int = 50,
    tls_us: int = 0,
    connect_us: int = 0,
    sending_s: float | None = None,
    outcome: Outcome = Outcome.COMPLETE,
    **fields,
) -> Run:
    """Give the run its seconds, its end and its summary, as a finished run has them."""
    is_all = not run.seconds.exists()
    values = responses_us(mean_us, n // seconds)
    seen = make_second(0, values, **fields)
    seen.counters["bytes_received"] = 100 * len(values)
    seen.timings["lateness"] = Timing.of([lateness_us] * len(values))
    waits = [value - lateness_us - connect_us - tls_us for value in values]
    seen.timings["wait"] = Timing.of(waits)
    if connect_us:
        seen.timings["connect"] = Timing.of([connect_us] * len(values))
    if tls_us:
        seen.timings["tls"] = Timing.of([tls_us] * len(values))
    row = seen.to_json()
    store_alike(run, row, seconds)
    facts = {"peers": {peer: n}, "duration_us": seconds * 1_000_000}
    if sending_s is not None:
        facts["sending_us"] = round(sending_s * 1e6)
    end_shards(run, last_second=seconds - 1, end=facts)
    return end(run, outcome, read=_read(run, row, seconds, facts) if is_all else "")


def store_alike(run: Run, second: dict[str, Any], count: int) -> None:
    """So many seconds in which the same was seen; the database copies the first one."""
    first = ShardSecond.of(second, run_id=run.pk, shard=0, epoch=1)
    first.save(force_insert=True)
    with connection.cursor() as cursor:
        cursor.execute(COPY, [count - 1, *first.pk])


def _read(run: Run, *seen: Any) -> str:
    """All that a summary of this run is made from."""
    hosts = list(InjectorHost.objects.values_list("name", "facts"))
    return json.dumps([run.snapshot["plan"], run.n_shards, hosts, settings.JUDGEMENT_LIMITS, seen])


def spoil(run: Run, **values: float) -> None:
    """Judge the run again, by these observed values alone."""
    observed = {code: Observed(value) for code, value in values.items()}
    judgement = judge(observed, Timing.of([10_000] * 2000))
    Run.objects.filter(pk=run.pk).update(
        trust=judgement.measurement.state,
        target_state=judgement.target.state,
        judgement=judgement.to_json(),
    )


def end_shards(run: Run, **fields) -> None:
    """Bring all shards to done the way launchers do."""
    lease = {"worker": "w", "host": "inj-1", "lease_until": timezone.now()}
    for state in (ShardState.CLAIMED, ShardState.READY, ShardState.RUNNING, ShardState.DONE):
        run.shards.update(state=state, **lease)
    run.shards.update(**fields)


def end(run: Run, outcome: Outcome, read: str = "") -> Run:
    """Bring the run to done the way the engine does, and summarise it. `read`: all that its summary
    is made from, where an earlier run's may be copied."""
    moves = [
        RunState.PREPARING,
        RunState.ARMED,
        RunState.RUNNING,
        RunState.FINALIZING,
    ]
    for state in moves:
        Run.objects.filter(pk=run.pk).update(state=state)
    run.refresh_from_db()
    run.outcome = outcome
    _summarise(run, read and f"{outcome}: {read}")
    Run.objects.filter(pk=run.pk).update(state=RunState.DONE, outcome=outcome)
    run.refresh_from_db()
    return run


def _summarise(run: Run, read: str) -> None:
    """To merge the same seconds again for each test would take most of its time."""
    if read in _WRITTEN:
        summary, judged = _WRITTEN[read]
        RunSummary.objects.create(run=run, **summary)
        Run.objects.filter(pk=run.pk).update(**judged)
        return
    made = summarise_run(run)
    if read:
        names = {field.attname for field in RunSummary._meta.concrete_fields} - _NOT_COPIED
        judged = Run.objects.values(*_OF_RUN).get(pk=run.pk)
        _WRITTEN[read] = ({name: getattr(made, name) for name in names}, judged)


def https_campaign(
    project, repeats: int = 3, modes=("new",), **fields
) -> tuple[Campaign, list[Test]]:
    """A campaign of one plan over HTTP and HTTPS of one target, not started."""
    campaign = make_campaign(project, repeats=repeats, **fields)
    target = make_target(project)
    version = make_plan(project, spec=plan_spec(model="over", requests=2000, over_s=10))
    tests = [
        make_test(
            campaign,
            version,
            endpoint=target.endpoints.filter(scheme=scheme).first()
            or make_endpoint(target, scheme),
            connection_mode=mode,
        )
        for mode in modes
        for scheme in ("http", "https")
    ]
    return campaign, tests


def same_again(tests: list[Test], **fields) -> list[Test]:
    """The same tests in a later campaign, not started."""
    earlier = tests[0].campaign
    later = make_campaign(earlier.project, repeats=earlier.repeats, **fields)
    return [
        make_test(
            later, test.plan_version, endpoint=test.endpoint, connection_mode=test.connection_mode
        )
        for test in tests
    ]


def run_in_blocks(tests: list[Test], means_us: list[list[float]], **fields) -> list[Run]:
    """Runs of all tests block by block; means_us[i] are the means of tests[i], a repeat each."""
    runs = []
    for repeat in range(1, len(means_us[0]) + 1):
        for test, means in zip(tests, means_us, strict=True):
            tls = 9000 if test.endpoint.scheme == "https" else 0
            runs.append(measure(make_run(test, repeat), means[repeat - 1], tls_us=tls, **fields))
    return runs
