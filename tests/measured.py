"""Campaigns that have run, made quickly: rows as the engine leaves them."""

import json
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import connection
from psycopg.types.json import Jsonb

from campaigns.domain.analysis.judgement import Observation, judge
from campaigns.domain.lifecycle import Outcome, RunState, ShardState
from campaigns.domain.metrics.series import pack
from campaigns.domain.metrics.snapshot import Timing
from campaigns.models import Campaign, Run, RunSummary, Test
from campaigns.runs.services import summarise_run
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
ALIKE = """
INSERT INTO campaigns_shardsecond (run_id, shard, second, step, epoch, packed)
SELECT %s, 0, number, %s, 1, %s FROM generate_series(0, %s) AS number
"""
# The state guards take one step at a time; to send each by itself would take longer than they do.
MOVE_SHARDS = """
UPDATE campaigns_shard SET state = %s, worker = 'w', host = 'inj-1', lease_until = now(){also}
WHERE run_id = %s;
"""
# What else a run's summary is made from, and whether all its seconds are those of `measure`.
FOUND = """
SELECT NOT EXISTS (SELECT FROM campaigns_shardsecond WHERE run_id = %s),
  (SELECT json_agg(host ORDER BY name) FROM (SELECT name, facts FROM campaigns_injectorhost) host)
"""
MOVE_RUN = "UPDATE campaigns_run SET state = %s WHERE id = %s;"
TO_DONE = (ShardState.CLAIMED, ShardState.READY, ShardState.RUNNING, ShardState.DONE)
TO_FINALIZING = (RunState.PREPARING, RunState.ARMED, RunState.RUNNING, RunState.FINALIZING)
# What was seen in a second of `measure`, as its line tells it and as it is stored.
_SEEN: dict[str, tuple[dict[str, Any], bytes]] = {}
# What summarise_run wrote for a run of `measure`, by all that it read.
_WRITTEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
_OF_RUN = ("trust", "target_state", "precision", "judgement", "n", "errors", "mean_us")
_OF_RUN += ("typical_us", "p50_us", "p95_us", "p99_us")
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
    parts_us = {"lateness": lateness_us, "connect": connect_us, "tls": tls_us}
    row, data = _second_row(mean_us, n // seconds, parts_us, fields)
    with connection.cursor() as cursor:
        cursor.execute(FOUND, [run.pk])
        is_all, hosts = cursor.fetchone()
        cursor.execute(ALIKE, [run.pk, row["step"], data, seconds - 1])
    facts = {"peers": {peer: n}, "duration_us": seconds * 1_000_000}
    if sending_s is not None:
        facts["sending_us"] = round(sending_s * 1e6)
    end_shards(run, last_second=seconds - 1, end=facts)
    return end(run, outcome, read=_read(run, hosts, row, seconds, facts) if is_all else "")


def _second_row(mean_us: float, n: int, parts_us: dict[str, int], fields: dict[str, Any]):
    """The same again is not packed again: many tests have runs of the same kind."""
    try:
        key = json.dumps([mean_us, n, parts_us, fields])
    except TypeError:  # histograms of its own
        return _make_second_row(mean_us, n, parts_us, fields)
    if key not in _SEEN:
        _SEEN[key] = _make_second_row(mean_us, n, parts_us, fields)
    return _SEEN[key]


def _make_second_row(mean_us: float, n: int, parts_us: dict[str, int], fields: dict[str, Any]):
    values = responses_us(mean_us, n)
    second = make_second(0, values, **fields)
    second.counters["bytes_received"] = 100 * len(values)
    waits = [value - sum(parts_us.values()) for value in values]
    second.timings["wait"] = Timing.of(waits)
    for part, us in parts_us.items():
        if us or part == "lateness":
            second.timings[part] = Timing.of([us] * len(values))
    row = second.to_json()
    return row, pack(row)


def _read(run: Run, *parts: Any) -> str:
    """All that a summary of this run is made from."""
    return json.dumps([run.snapshot["plan"], run.n_shards, settings.JUDGEMENT_LIMITS, parts])


def spoil(run: Run, **values: float) -> None:
    """Judge the run again, by these observed values alone."""
    observations = {code: Observation(value) for code, value in values.items()}
    judgement = judge(observations, Timing.of([10_000] * 2000))
    Run.objects.filter(pk=run.pk).update(
        trust=judgement.measurement.state,
        target_state=judgement.target.state,
        judgement=judgement.to_row(),
    )


def end_shards(run: Run, **fields) -> None:
    """Bring all shards to done the way launchers do."""
    also = "".join(f', "{name}" = %s' for name in fields)
    parameters = [Jsonb(value) if isinstance(value, dict) else value for value in fields.values()]
    _move(run, MOVE_SHARDS.format(also=also), TO_DONE, parameters)


def _move(
    run: Run, statement: str, states: tuple[str, ...], parameters: Sequence[Any] = ()
) -> None:
    values = [value for state in states for value in (state, *parameters, run.pk)]
    with connection.cursor() as cursor:
        cursor.execute(statement * len(states), values)


def end(run: Run, outcome: Outcome, read: str = "") -> Run:
    """Bring the run to done the way the engine does, and summarise it. `read`: all that its summary
    is made from, where an earlier run's may be copied."""
    _move(run, MOVE_RUN, TO_FINALIZING)
    figures = _summarise(run, outcome, read and f"{outcome}: {read}")
    Run.objects.filter(pk=run.pk).update(**figures, state=RunState.DONE, outcome=outcome)
    run.refresh_from_db()
    return run


def _summarise(run: Run, outcome: Outcome, read: str) -> dict[str, Any]:
    """To merge the same seconds again for each test would take most of its time. Returns what is
    still to be stored of the run."""
    if read in _WRITTEN:
        summary, figures = _WRITTEN[read]
        RunSummary.objects.create(run=run, **summary)
        return figures
    run.refresh_from_db()
    run.outcome = outcome
    row = summarise_run(run)
    if read:
        names = {field.attname for field in RunSummary._meta.concrete_fields} - _NOT_COPIED
        figures = Run.objects.values(*_OF_RUN).get(pk=run.pk)
        _WRITTEN[read] = ({name: getattr(row, name) for name in names}, figures)
    return {}


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
