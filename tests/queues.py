"""Many campaigns with a run each, queued or preparing, in a few statements."""

from django.utils import timezone

from campaigns.domain.lifecycle import RunState
from campaigns.models import Campaign, Endpoint, Project, Run, Shard, Target, Test
from tests.factories import make_plan
from tests.histories import frozen_of


def make_queue(project: Project, n: int, *, state: RunState = RunState.QUEUED) -> list[Run]:
    """A run of each campaign, on targets and machines of their own."""
    version = make_plan(project)
    targets = Target.objects.bulk_create(
        Target(project=project, name=f"{version.plan.name} {i}") for i in range(n)
    )
    hosts = [
        f"10.{target.pk >> 16 & 255}.{target.pk >> 8 & 255}.{target.pk & 255}" for target in targets
    ]
    ends = Endpoint.objects.bulk_create(
        Endpoint(target=target, scheme="http", host=host, port=80)
        for target, host in zip(targets, hosts, strict=True)
    )
    now = timezone.now()
    campaigns = Campaign.objects.bulk_create(
        Campaign(project=project, name=f"{i}", seed=1, repeats=1, started_at=now, opened_at=now)
        for i in range(n)
    )
    tests = Test.objects.bulk_create(
        Test(
            campaign=campaign,
            position=0,
            plan_version=version,
            endpoint=ends[i],
            connection_mode="new",
        )
        for i, campaign in enumerate(campaigns)
    )
    snapshot = frozen_of(tests[0]) | {"plan": version.spec} if tests else {}
    runs = Run.objects.bulk_create(
        Run(
            campaign=test.campaign,
            test=test,
            target=test.endpoint.target,
            machines=[test.endpoint.host],
            position=1,
            repeat=1,
            state=state,
            snapshot=snapshot,
        )
        for test in tests
    )
    Shard.objects.bulk_create(Shard(run=run, number=0) for run in runs)
    return runs
