"""Campaigns that are protocol ladders, made quickly, and the fixtures that make them."""

from copy import deepcopy
from functools import partial

import pytest
from django.utils import timezone

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.domain.metrics.injector_end import InjectorEnd, TlsHandshakes
from campaigns.domain.plan.rungs import RUNGS
from campaigns.models import Shard
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_target,
    make_test,
    make_user,
)
from tests.kept_rows import forget
from tests.measured import run_in_blocks
from tests.values import plan_spec

NEW = ("new-http", "new-tls12", "new-tls13", "new-hybrid", "new-resumed", "new-http2")
MEANS_US = (18_900, 33_400, 29_100, 29_300, 25_000, 25_100)
HUNG_US = 29_100
HYBRID, CLASSICAL = "X25519MLKEM768", "X25519"


def around(mean_us: float, repeats: int = 5) -> list[float]:
    factors = (0.999, 1.001, 1.0, 0.9995, 1.0005)
    return [mean_us * factor for factor in factors[:repeats]]


def unlike_each_other(mean_us: int, repeats: int = 5) -> list[float]:
    """They differ by more than any rung does, in another order for each rung."""
    return [mean_us * (1 + nth * (mean_us // 1000) % 7 / 2) for nth in range(repeats)]


def with_one_hung(mean_us: int, repeats: int = 5) -> list[float]:
    """The last run of the rung of HUNG_US took 60 times as long as its others."""
    runs = around(mean_us, repeats)
    return [*runs[:-1], runs[-1] * 60] if mean_us == HUNG_US else runs


def make_ladder(project, keys=NEW, means_us=MEANS_US, repeats=5, runs_of=around, **fields):
    """A finished campaign of these rungs with these means, and its runs, a list for each rung.
    `runs_of`: a rung's runs from its mean. `fields` of `measure`."""
    now = timezone.now()
    campaign = make_campaign(
        project, repeats=repeats, order="blocks", started_at=now, finished_at=now
    )
    target = make_target(project, "shop")
    endpoints, plans, tests = {}, {}, []
    for key in keys:
        rung = RUNGS[key]
        at = (rung.scheme, rung.profile)
        tls = {"profile": rung.profile} if rung.profile else {}
        endpoints.setdefault(at, None)
        endpoints[at] = endpoints[at] or make_endpoint(target, rung.scheme, tls=tls)
        load = (
            {"model": "closed", "connections": rung.connections, "duration_s": 10}
            if rung.connections
            else {"model": "over", "requests": 2000, "over_s": 10}
        )
        spec = plan_spec(**load) | {"http_version": str(rung.http), "streams": rung.streams}
        plan = (str(rung.http), rung.streams, rung.connections)
        plans.setdefault(plan, None)
        plans[plan] = plans[plan] or make_plan(project, spec=spec)
        tests.append(
            make_test(campaign, plans[plan], endpoint=endpoints[at], connection_mode=str(rung.mode))
        )
    means = [runs_of(mean, repeats) for mean in means_us]
    runs = run_in_blocks(tests, means, **fields) if means else []
    return campaign, [[run for run in runs if run.test_id == test.pk] for test in tests]


@pytest.fixture(scope="module")
def usual_ladder(rows_of_the_file):
    return make_ladder(make_project(owner=make_user("climber")))


@pytest.fixture
def ladder(usual_ladder, db):
    """The ladder of NEW with MEANS_US; what a test changes of it is undone."""
    forget()
    return deepcopy(usual_ladder)


@pytest.fixture
def climb(project):
    """Makes any other ladder."""
    return partial(make_ladder, project)


def agree(runs, **agreed) -> None:
    """Let the injectors of these runs say what their handshakes agreed on."""
    handshakes = TlsHandshakes(**{"version": "TLSv1.3", "cipher": "AES", "count": 2000, **agreed})
    end = InjectorEnd(tls=(handshakes,), cpu_us=400_000, totals={"ok": 2000}).to_json()
    Shard.objects.filter(run__in=runs).update(end=end)


def rungs_of(campaign, **asked):
    return campaign_answer(campaign, **asked).ladder.rungs
