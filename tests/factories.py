"""Rows with sensible defaults; a test names only what it is about."""

import json
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from campaigns.core.permissions import Role
from campaigns.domain.metrics.snapshot import Second
from campaigns.domain.plan.addresses import written_addresses
from campaigns.domain.plan.frozen_run import FrozenRun
from campaigns.models import (
    Campaign,
    Endpoint,
    Membership,
    PlanVersion,
    Project,
    Run,
    SavedPlan,
    Shard,
    ShardSecond,
    Target,
    Test,
)
from tests.values import plan_spec

_numbers = count(1)
_PLANS: dict[str, str] = {}  # as JSON, by what they were read from


def make_user(username: str = "", **fields) -> User:
    return User.objects.create_user(username or f"user{next(_numbers)}", password="pw", **fields)


def make_project(name: str = "", owner: User | None = None) -> Project:
    project = Project.objects.create(name=name or f"Project {next(_numbers)}")
    if owner:
        make_membership(project, owner, Role.OWNER)
    return project


def make_membership(project: Project, user: User, role: Role) -> Membership:
    return Membership.objects.create(project=project, user=user, role=role)


def make_target(project: Project, name: str = "", **fields) -> Target:
    return Target.objects.create(project=project, name=name or f"target {next(_numbers)}", **fields)


def make_endpoint(target: Target, scheme: str = "http", port: int | None = None, **fields):
    port = port or {"http": 8081, "https": 8444}[scheme]
    return Endpoint.objects.create(
        target=target, scheme=scheme, host=fields.pop("host", "127.0.0.1"), port=port, **fields
    )


def make_plan(project: Project, name: str = "", spec: dict | None = None) -> PlanVersion:
    plan = SavedPlan.objects.create(project=project, name=name or f"plan {next(_numbers)}")
    return PlanVersion.objects.create(plan=plan, number=1, spec=spec or plan_spec())


def just_now() -> dict[str, Any]:
    """The fields of a campaign that has started and finished."""
    now = timezone.now()
    return {"started_at": now, "finished_at": now}


def make_campaign(project: Project, name: str = "", **fields) -> Campaign:
    fields = {"seed": 1, "repeats": 3, "opened_at": fields.get("started_at"), **fields}
    return Campaign.objects.create(
        project=project, name=name or f"campaign {next(_numbers)}", **fields
    )


def make_test(campaign: Campaign, version: PlanVersion | None = None, **fields) -> Test:
    version = version or make_plan(campaign.project)
    endpoint = fields.pop("endpoint", None) or make_endpoint(make_target(campaign.project))
    if "position" not in fields:
        fields["position"] = campaign.tests.count()
    return Test.objects.create(
        campaign=campaign,
        plan_version=version,
        endpoint=endpoint,
        connection_mode=fields.pop("connection_mode", "new"),
        injectors=fields.pop("injectors", 1),
        **fields,
    )


def make_test_of(
    project: Project, plan: str, target: str, campaign: str = "", scheme: str = "http"
) -> Test:
    """A test of a campaign, a plan and a target with these names."""
    endpoint = make_endpoint(make_target(project, target), scheme)
    return make_test(make_campaign(project, campaign), make_plan(project, plan), endpoint=endpoint)


def make_run(test: Test, repeat: int = 1, n_shards: int = 1, **fields) -> Run:
    """A run with its shards; `state`, `outcome` and the like as given (default: queued)."""
    if "position" not in fields:
        fields["position"] = test.campaign.runs.count() + 1
    run = Run.objects.create(
        campaign=test.campaign,
        test=test,
        target=test.endpoint.target,
        machines=written_addresses(test.endpoint.host),
        repeat=repeat,
        n_shards=n_shards,
        snapshot=FrozenRun(
            plan_json=plan_json_of(test),
            plan_name=test.plan_version.plan.name,
            plan_number=test.plan_version.number,
            endpoint=test.endpoint.frozen(),
            connection_mode=test.connection_mode,
            target=test.endpoint.target.name,
            environment=test.endpoint.target.environment,
            seed=test.campaign.seed,
            allowed_networks=("127.0.0.0/8", "::1/128"),
        ).to_json(),
        **fields,
    )
    Shard.objects.bulk_create(Shard(run=run, number=number) for number in range(n_shards))
    return run


def plan_json_of(test: Test) -> dict[str, Any]:
    """What its runs freeze: read once for all tests of the same plan."""
    key = json.dumps([test.plan_version.spec, test.swept, test.swept_value])
    if key not in _PLANS:
        _PLANS[key] = json.dumps(test.plan().to_json())
    return json.loads(_PLANS[key])


def begin_run(run: Run, **fields) -> None:
    """It sends: through each state, as the database asks for; `fields` of the run besides."""
    for state in ("preparing", "armed", "running"):
        Run.objects.filter(pk=run.pk).update(state=state, **fields)


def begin_shards(run: Run, **fields) -> None:
    lease = {"worker": "w", "lease_until": timezone.now(), **fields}
    for state in ("claimed", "ready", "running"):
        run.shards.update(state=state, **lease)


def store_second(run: Run, second: Second, shard: int = 0, epoch: int = 1) -> ShardSecond:
    row = ShardSecond.of(second.to_json(), run_id=run.pk, shard=shard, epoch=epoch)
    row.save(force_insert=True)
    return row
