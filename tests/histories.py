"""Campaigns over weeks, made quickly: ended, with the figures of their runs and nothing else."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from campaigns.domain.lifecycle import Outcome, RunState, TargetState, Trust
from campaigns.domain.plan.frozen_run import FrozenRun
from campaigns.models import Campaign, Endpoint, PlanVersion, Project, Run, Shard, Test
from campaigns.runs.services import keep_figures
from tests.factories import make_endpoint, make_plan, make_target

BEGIN = datetime(2026, 11, 1, 2, tzinfo=UTC)
SPREAD = (0.99, 1.0, 1.01)


def make_history(
    project: Project,
    levels_ms: Sequence[float],
    *,
    tests: Sequence[tuple[PlanVersion, Endpoint, str]] | None = None,
    begin: datetime = BEGIN,
    spread: Sequence[float] = SPREAD,
    server: str = "nginx",
    tags: Sequence[str] = (),
    end: Mapping[str, Any] | None = None,
    **run_fields,
) -> list[Test]:
    """A campaign each night with these medians and p95; returns the tests of the last one. `end`:
    what its injectors said at their ends, beside the server's name."""
    tests = tests or [(make_plan(project), make_endpoint(make_target(project)), "new")]
    starts = [begin + timedelta(days=night) for night in range(len(levels_ms))]
    campaigns = Campaign.objects.bulk_create(
        Campaign(
            project=project,
            name=f"night {night}",
            seed=1,
            repeats=len(spread),
            started_at=at,
            finished_at=at + timedelta(hours=1),
            tags=list(tags),
        )
        for night, at in enumerate(starts)
    )
    all_tests = Test.objects.bulk_create(
        Test(
            campaign=campaign,
            position=position,
            plan_version=version,
            endpoint=endpoint,
            connection_mode=mode,
        )
        for campaign in campaigns
        for position, (version, endpoint, mode) in enumerate(tests)
    )
    values_us = [[level * share * 1000 for share in spread] for level in levels_ms]
    levels_us = dict(zip(campaigns, values_us, strict=True))
    _run(all_tests, levels_us, {"servers": [server], **(end or {})}, **run_fields)
    keep_figures(test.pk for test in all_tests)
    return all_tests[-len(tests) :]


def _run(
    tests: Sequence[Test],
    levels_us: Mapping[Campaign, Sequence[float]],
    end: Mapping[str, Any],
    **fields,
) -> None:
    """A run of each test for each value of its campaign, as the engine leaves them."""
    usual = {"outcome": Outcome.COMPLETE, "trust": Trust.TRUSTED, "n": 2000, "errors": 2}
    # Night after night the same, by their place in a campaign.
    snapshots: dict[int, dict] = {}
    for test in tests:
        if test.position not in snapshots:
            snapshots[test.position] = frozen_of(test)
    runs = Run.objects.bulk_create(
        Run(
            campaign=test.campaign,
            test=test,
            target=test.endpoint.target,
            position=test.position * len(values_us) + repeat,
            repeat=repeat,
            state=RunState.DONE,
            t0=test.campaign.started_at,
            ended_at=test.campaign.finished_at,
            snapshot=snapshots[test.position],
            mean_us=value * 0.6,
            typical_us=value,
            p50_us=value * 0.5,
            p95_us=value,
            p99_us=value * 1.5,
            **{"target_state": TargetState.HEALTHY, **usual, **fields},
        )
        for test in tests
        for values_us in [levels_us[test.campaign]]
        for repeat, value in enumerate(values_us, 1)
    )
    Shard.objects.bulk_create(Shard(run=run, number=0, host="inj-1", end=dict(end)) for run in runs)


def frozen_of(test: Test) -> dict:
    return FrozenRun(
        plan_json=test.plan_version.spec,
        plan_name=test.plan_version.plan.name,
        plan_number=test.plan_version.number,
        endpoint=test.endpoint.frozen(),
        connection_mode=test.connection_mode,
        target=test.endpoint.target.name,
        environment=(),
        seed=1,
        allowed_networks=(),
    ).to_json()
