"""Results as the engine leaves them, in numbers that only the database can make: a few runs are
summarised from their seconds, and all others are copies of these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.utils import timezone

from campaigns.domain.lifecycle import Outcome, RunState
from campaigns.domain.metrics.snapshot import Second, Timing
from campaigns.models import (
    Campaign,
    PlanVersion,
    Project,
    Run,
    RunSummary,
    Shard,
    ShardSecond,
    Test,
    TestFigures,
)
from campaigns.runs.services import keep_figures
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
)
from tests.histories import frozen_of
from tests.measured import end, end_shards
from tests.values import plan_spec

PER_S = 100  # requests
SPREAD = (0.98, 0.99, 1.0, 1.01, 1.02)
_OF_RUN = ("trust", "target_state", "precision", "judgement", "n", "errors")
_OF_RUN += ("mean_us", "p50_us", "p95_us", "p99_us")
_NOT_COPIED = {"run_id", "made_at"}


@dataclass(frozen=True, slots=True)
class SampleRun:
    """What copies of a run have: the columns of its row and of its summary, and its end."""

    columns: dict[str, Any]
    summary: dict[str, Any]
    end: dict[str, Any]


def sample_runs(owner: User, seconds: int, n: int, step: float) -> list[SampleRun]:
    """Of `n` runs of so many seconds, each of them slower than the one before by the share."""
    project = make_project(owner=owner)
    load = {"model": "over", "requests": PER_S * seconds, "over_s": seconds}
    test = make_test(make_campaign(project), make_plan(project, spec=plan_spec(**load)))
    return [
        _sample(make_run(test, number + 1), seconds, 10_000 * (1 + step) ** number)
        for number in range(n)
    ]


def _sample(run: Run, seconds: int, mean_us: float) -> SampleRun:
    rng = np.random.default_rng(run.repeat)
    ShardSecond.objects.bulk_create(
        ShardSecond.of(_second(number, mean_us, rng).to_json(), run_id=run.pk, shard=0, epoch=1)
        for number in range(seconds)
    )
    peers = {"10.1.2.3:8081": PER_S * seconds}
    said = {"peers": peers, "duration_us": seconds * 1_000_000, "servers": ["nginx"]}
    end_shards(run, last_second=seconds - 1, end=said)
    end(run, Outcome.COMPLETE)
    summary = RunSummary.objects.get(run=run)
    names = {field.attname for field in RunSummary._meta.concrete_fields} - _NOT_COPIED
    return SampleRun(
        {name: getattr(run, name) for name in _OF_RUN},
        {name: getattr(summary, name) for name in names},
        said,
    )


def _second(number: int, mean_us: float, rng: np.random.Generator) -> Second:
    """Response times and their parts, spread as real ones are."""
    values = (mean_us * rng.lognormal(0, 0.4, PER_S)).astype(int)
    small = Timing.of(values // 50)
    timings = {name: Timing.of(values) for name in ("response", "service", "wait")}
    timings |= dict.fromkeys(("lateness", "own_delay", "send", "receive", "connect"), small)
    vitals = {"cpu_share": 0.2, "hub_lag_max_us": 900, "own_delay_p99_us": 90, "rss_bytes": 4e7}
    counters = {"started": PER_S, "ok": PER_S, "bytes_received": 4000 * PER_S}
    return Second(number, 0, counters, {}, {"200": PER_S}, 4, timings, vitals)


def _finished(project: Project, repeats: int, days_ago: float) -> Campaign:
    at = timezone.now() - timedelta(days=days_ago)
    ended = at + timedelta(hours=1)
    return make_campaign(project, repeats=repeats, order="blocks", started_at=at, finished_at=ended)


def _run_all(tests: Sequence[Test], samples: Sequence[Sequence[SampleRun]]) -> None:
    """A run of tests[i] for each of samples[i], block by block."""
    blocks = enumerate(zip(*samples, strict=True), 1)
    copies = [
        (test, repeat, sample)
        for repeat, block in blocks
        for test, sample in zip(tests, block, strict=True)
    ]
    _store([(test, repeat, at, sample) for at, (test, repeat, sample) in enumerate(copies, 1)])
    keep_figures([test.pk for test in tests])


def _store(copies: Sequence[tuple[Test, int, int, SampleRun]], n_summaries: int = 2**31) -> None:
    """The runs with this repeat and position, and the summaries of the last of them."""
    tests = {test.pk: test for test, *_ in copies}
    snapshots = {
        pk: frozen_of(test) | {"plan": test.plan().to_json()} for pk, test in tests.items()
    }
    runs = Run.objects.bulk_create(
        Run(
            campaign=test.campaign,
            test=test,
            target=test.endpoint.target,
            position=position,
            repeat=repeat,
            state=RunState.DONE,
            outcome=Outcome.COMPLETE,
            t0=test.campaign.started_at + timedelta(seconds=position),
            ended_at=test.campaign.finished_at,
            snapshot=snapshots[test.pk],
            **sample.columns,
        )
        for test, repeat, position, sample in copies
    )
    made = [(run, sample) for run, (*_, sample) in zip(runs, copies, strict=True)]
    Shard.objects.bulk_create(Shard(run=run, number=0, host="inj-1", end=m.end) for run, m in made)
    RunSummary.objects.bulk_create(
        (RunSummary(run=run, **sample.summary) for run, sample in made[-n_summaries:]),
        batch_size=200,
    )


def _shifted(samples: Sequence[SampleRun], first: int, repeats: int) -> list[SampleRun]:
    """A few neighbours among the samples in turn: the runs of a test that is not quite steady."""
    return [samples[(first + repeat % 3) % len(samples)] for repeat in range(repeats)]


def compared_campaigns(
    project: Project, samples: Sequence[SampleRun], n_tests: int
) -> Iterator[Campaign]:
    """Two campaigns of the same tests with 5 repeats; the later one is a little slower."""
    target = make_target(project)
    version = make_plan(project, spec=_spec(samples))
    ends = [make_endpoint(target, port=9000 + number) for number in range(n_tests)]
    for slower, days in enumerate((8, 1)):
        campaign = _finished(project, 5, days)
        tests = [make_test(campaign, version, endpoint=end) for end in ends]
        _run_all(tests, [_shifted(samples, n + slower, 5) for n in range(n_tests)])
        yield campaign


def matrix(
    project: Project, samples: Sequence[SampleRun], n_servers: int, n_plans: int, repeats: int
) -> Campaign:
    """Every server at every plan."""
    campaign = _finished(project, repeats, 1)
    ends = [make_endpoint(make_target(project, f"server {n}")) for n in range(n_servers)]
    versions = [make_plan(project, spec=_spec(samples)) for _ in range(n_plans)]
    tests = [make_test(campaign, version, endpoint=end) for version, end in product(versions, ends)]
    _run_all(tests, [_shifted(samples, n % n_servers, repeats) for n in range(len(tests))])
    return campaign


def _spec(samples: Sequence[SampleRun]) -> dict[str, Any]:
    requests, over_s = samples[0].columns["n"], round(samples[0].summary["duration_s"])
    return plan_spec(model="over", requests=requests, over_s=over_s)


def many_campaigns(project: Project, samples: Sequence[SampleRun], n: int) -> Test:
    """The newest test of a plan that was measured in so many campaigns, a run in each. Only runs
    that a list shows have their summaries."""
    version, end = make_plan(project, spec=_spec(samples)), make_endpoint(make_target(project))
    now, levels = timezone.now(), _levels_ms(n, 5, change=1.09)
    begun = [now - timedelta(hours=n - number) for number in range(n)]
    campaigns = Campaign.objects.bulk_create(
        Campaign(project=project, name="hourly", seed=1, repeats=1, started_at=at, finished_at=at)
        for at in begun
    )
    tests = Test.objects.bulk_create(
        Test(campaign=each, position=0, plan_version=version, endpoint=end, connection_mode="new")
        for each in campaigns
    )
    TestFigures.objects.bulk_create(
        _figures(test, version, level) for test, level in zip(tests, levels, strict=True)
    )
    _store([(test, 1, 1, samples[0]) for test in tests], n_summaries=100)
    return tests[-1]


def wide_history(project: Project, n_tests: int, n_changed: int) -> Campaign:
    """The newest of 40 nightly campaigns with so many tests, on ten endpoints; some have changed.
    Only what histories read of them is there."""
    ends = [make_endpoint(make_target(project)) for _ in range(10)]
    plans = [make_plan(project) for _ in range(n_tests)]
    levels = [
        _levels_ms(40, 1000 + n, change=1.15 if n < n_changed else 1.0) for n in range(n_tests)
    ]
    for night in range(40):
        campaign = _finished(project, len(SPREAD), 41 - night)
        tests = Test.objects.bulk_create(
            Test(
                campaign=campaign,
                position=n,
                plan_version=version,
                endpoint=ends[n % 10],
                connection_mode=("new", "keep-alive")[n % 2],
            )
            for n, version in enumerate(plans)
        )
        TestFigures.objects.bulk_create(
            _figures(test, version, levels[n][night])
            for n, (test, version) in enumerate(zip(tests, plans, strict=True))
        )
    return campaign


def _figures(test: Test, version: PlanVersion, level_ms: float) -> TestFigures:
    factors = {"mean": 0.6, "typical": 0.5, "p50": 0.5, "p95": 1.0, "p99": 1.5}
    values = {
        f"{name}_us": [1000 * level_ms * factor * share for share in SPREAD]
        for name, factor in factors.items()
    }
    return TestFigures(
        test=test,
        campaign=test.campaign,
        project_id=test.campaign.project_id,
        plan_id=version.plan_id,
        plan_number=version.number,
        endpoint=test.endpoint,
        connection_mode=test.connection_mode,
        injectors=test.injectors,
        started_at=test.campaign.started_at,
        n=10_000,
        errors=2,
        trust="trusted",
        target_state="healthy",
        facts={"Server": "nginx", "Injector hosts": "inj-1"},
        **values,
    )


def _levels_ms(n: int, seed: int, change: float) -> list[float]:
    """A level with the noise of real campaigns, from its last third on times `change`."""
    levels = 26 * np.exp(np.random.default_rng(seed).normal(0, 0.012, n))
    levels[2 * n // 3 :] *= change
    return list(map(float, levels))
