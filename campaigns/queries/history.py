"""Tests over campaigns: a point for each campaign that has ended, from its runs' stored figures."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from django.db.models import (
    Avg,
    Case,
    Count,
    IntegerField,
    Max,
    Min,
    Q,
    QuerySet,
    StdDev,
    Sum,
    When,
)
from django.db.models import Value as Constant
from django.db.models.fields.json import KeyTransform
from django.utils import timezone

from campaigns.domain.judged.changes import Change
from campaigns.domain.judged.histories import CampaignPoint, TestHistory
from campaigns.domain.lifecycle import Outcome, TargetState, Trust
from campaigns.domain.plan.target import Origin
from campaigns.models import Campaign, Endpoint, Project, Run, SavedPlan, Shard, Test
from campaigns.permissions import Actor

METRICS = {"p95": "p95", "p50": "p50", "p99": "p99", "mean": "average"}
RECENT_DAYS = 90
MOST_CAMPAIGNS = 1000  # of one history; its dates lead to older ones

# As in a comparison: a run counts if its measurement is usable and its target was not overloaded.
_COUNTED = Q(outcome=Outcome.COMPLETE, n__gt=0) & ~Q(trust=Trust.NOT_USABLE, trust__isnull=False)
_COUNTED &= Q(target_state=None) | Q(target_state__in=[TargetState.HEALTHY, TargetState.CHANGING])


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """The filters of histories; empty means any. `arm` is scheme and connection mode, such as
    "https keep-alive"; `first` and `last` are days, both included."""

    target: int | None = None
    plan: int | None = None
    tag: str = ""
    arm: str = ""
    first: date | None = None
    last: date | None = None
    metric: str = "p95"


def recent(by: HistoryFilter) -> HistoryFilter:
    """The last 90 days, unless days are chosen: an overview shows what is news."""
    if by.first or by.last:
        return by
    return replace(by, first=timezone.now().date() - timedelta(days=RECENT_DAYS))


@dataclass(frozen=True, slots=True)
class HistoryKey:
    """What makes tests of different campaigns the same one."""

    plan: int
    endpoint: int
    connection_mode: str
    injectors: int


@dataclass(frozen=True)
class NamedHistory:
    """A history with what it is of. `others`: the newest tests of its plan on other arms."""

    key: HistoryKey
    plan: SavedPlan
    endpoint: Endpoint
    history: TestHistory
    n_left_out: int = 0

    @property
    def arm_label(self) -> str:
        return arm_label_of(self.endpoint, self.key.connection_mode, self.key.injectors)

    @property
    def newest_test(self) -> int:
        return self.history.points[-1].test


def arm_label_of(endpoint: Endpoint, connection_mode: str, injectors: int) -> str:
    """HTTPS keep-alive, 2 injectors."""
    more = f", {injectors} injectors" if injectors > 1 else ""
    return f"{endpoint.scheme.upper()} {connection_mode}{more}"


def history_of(actor: Actor, test: Test, by: HistoryFilter) -> NamedHistory:
    """The tests that are the same as this one, over all campaigns that the actor sees."""
    key = key_of(test)
    same = Test.objects.filter(
        plan_version__plan=key.plan,
        endpoint=key.endpoint,
        connection_mode=key.connection_mode,
        injectors=key.injectors,
    )
    points = _points(same.visible_to(actor), by, _runs_of_tests).get(key, [])
    kept = points[-MOST_CAMPAIGNS:]
    return NamedHistory(
        key,
        test.plan_version.plan,
        test.endpoint,
        TestHistory(_with_facts(kept)),
        len(points) - len(kept),
    )


def key_of(test: Test) -> HistoryKey:
    return HistoryKey(
        test.plan_version.plan_id, test.endpoint_id, test.connection_mode, test.injectors
    )


def histories(actor: Actor, project: Project, by: HistoryFilter) -> list[NamedHistory]:
    """Every test of the project with its history. Points have facts where a change needs them."""
    tests = Test.objects.filter(campaign__project=project)
    points = _points(tests.visible_to(actor), by, _runs_of_campaigns)
    plans = SavedPlan.objects.visible_to(actor).filter(project=project).in_bulk()
    endpoints = Endpoint.objects.visible_to(actor).filter(target__project=project)
    endpoints = endpoints.select_related("target").in_bulk()
    found = {key: TestHistory(some[-MOST_CAMPAIGNS:]) for key, some in points.items()}
    changed = {key: history for key, history in found.items() if history.last_change}
    found |= dict(zip(changed, _explained(list(changed.values())), strict=True))
    return [
        NamedHistory(key, plans[key.plan], endpoints[key.endpoint], history)
        for key, history in found.items()
    ]


def histories_of(campaign: Campaign) -> dict[HistoryKey, TestHistory]:
    """Of each of its tests, without facts, for the days that an overview shows. For the engine,
    which sees everything."""
    own = {key_of(test) for test in campaign.tests.select_related("plan_version")}
    same = Test.objects.filter(
        plan_version__plan__in={key.plan for key in own},
        endpoint__in={key.endpoint for key in own},
    )
    points = _points(same, recent(HistoryFilter()), _runs_of_tests)
    return {key: TestHistory(points[key][-MOST_CAMPAIGNS:]) for key in own if key in points}


def with_facts_around(history: TestHistory, change: Change) -> TestHistory:
    """The history with the facts of the campaigns between which the change began."""
    around = history.points[history.before(change) : change.latest + 1]
    return _with(history, _facts([point.test for point in around]))


def arms_of(actor: Actor, test: Test) -> list[Test]:
    """The newest test on each other arm of its plan that has been in a finished campaign."""
    tests = (
        Test.objects.visible_to(actor)
        .filter(
            plan_version__plan=test.plan_version.plan_id,
            campaign__finished_at__isnull=False,
        )
        .order_by("endpoint_id", "connection_mode", "injectors", "-campaign_id")
        .distinct("endpoint_id", "connection_mode", "injectors")
        .select_related("endpoint__target", "plan_version")
    )
    return [each for each in tests if key_of(each) != key_of(test)]


def _points(
    tests: QuerySet[Test],
    by: HistoryFilter,
    runs_of: Callable[[QuerySet[Test], Iterable[int]], QuerySet[Run]],
) -> dict[HistoryKey, list[CampaignPoint]]:
    """The points of these tests by what they are of, in order of time, without facts."""
    tests = _chosen(tests, by)
    started = Campaign.objects.filter(pk__in=tests.values("campaign")).order_by()
    campaigns = {pk: rest for pk, *rest in started.values_list("pk", "name", "started_at")}
    figures = _figures(runs_of(tests, campaigns), by.metric)
    found: dict[HistoryKey, list[CampaignPoint]] = {}
    columns = ("pk", "campaign_id", "plan_version__number", "plan_version__plan_id")
    arm = ("endpoint_id", "connection_mode", "injectors")
    rows = tests.order_by("campaign__started_at", "campaign_id", "position")
    for pk, campaign, version, *key in rows.values_list(*columns, *arm):
        if pk in figures:
            name, at = campaigns[campaign]
            point = CampaignPoint(campaign, name, pk, at, version, **figures[pk])
            some = found.setdefault(HistoryKey(*key), [])
            # To confirm a change, a campaign measures an older version beside the present one.
            if some and some[-1].campaign == campaign:
                point = max(some.pop(), point, key=lambda each: each.plan_version)
            some.append(point)
    return found


def _runs_of_tests(tests: QuerySet[Test], campaigns: Iterable[int]) -> QuerySet[Run]:
    return Run.objects.filter(test__in=tests)


def _runs_of_campaigns(tests: QuerySet[Test], campaigns: Iterable[int]) -> QuerySet[Run]:
    """Of all tests of the campaigns, which lie together: twice as fast as test by test."""
    return Run.objects.filter(campaign__in=list(campaigns))


def _chosen(tests: QuerySet[Test], by: HistoryFilter) -> QuerySet[Test]:
    tests = tests.filter(campaign__started_at__isnull=False, campaign__finished_at__isnull=False)
    scheme, _, mode = by.arm.partition(" ")
    asked = {
        "endpoint__target": by.target,
        "plan_version__plan": by.plan,
        "campaign__tags__contains": [by.tag] if by.tag else None,
        "endpoint__scheme": scheme,
        "connection_mode": mode,
        "campaign__started_at__date__gte": by.first,
        "campaign__started_at__date__lte": by.last,
    }
    return tests.filter(**{lookup: value for lookup, value in asked.items() if value})


_TRUSTS, _STATES = list(Trust), list(TargetState)


def _figures(runs: QuerySet[Run], metric: str) -> dict[int, dict[str, Any]]:
    """The figures of a `CampaignPoint` by test; none of a test of which nothing was measured."""
    value = f"{metric}_us"
    rows = (
        runs.filter(n__isnull=False)
        .order_by()
        .values_list("test_id")
        .annotate(
            k=Count(value, filter=_COUNTED),
            value=Avg(value, filter=_COUNTED),
            sd=StdDev(value, sample=True, filter=_COUNTED),
            aside=Avg(value, filter=~_COUNTED),
            p50=Avg("p50_us", filter=_COUNTED),
            p95=Avg("p95_us", filter=_COUNTED),
            p99=Avg("p99_us", filter=_COUNTED),
            requests=Sum("n"),
            failed=Sum("errors"),
            best=Min(_rank("trust", _TRUSTS)),
            worst=Max(_rank("trust", _TRUSTS)),
            state=Max(_rank("target_state", _STATES)),
        )
    )
    return {
        test: {
            "k": k,
            "value_us": value,
            "sd_us": sd,
            "aside_us": aside,
            "p50_us": p50,
            "p95_us": p95,
            "p99_us": p99,
            "n": int(n),
            "errors": int(errors),
            "trust": "" if worst is None else _TRUSTS[worst] if best == worst else Trust.DOUBTFUL,
            "target_state": "" if state is None else _STATES[state],
        }
        for test, k, value, sd, aside, p50, p95, p99, n, errors, best, worst, state in rows
    }


def _rank(column: str, states: Sequence[str]) -> Case:
    """A state's place in this order, so that the database can tell the worst one."""
    ranks = (When(**{column: state}, then=Constant(i)) for i, state in enumerate(states))
    return Case(*ranks, output_field=IntegerField())


def _explained(histories: Sequence[TestHistory]) -> list[TestHistory]:
    """With the facts of the campaigns around each last change, which may be its cause."""
    spans = [
        slice(each.before(each.last_change), each.last_change.latest + 1) for each in histories
    ]
    around = [each.points[span] for each, span in zip(histories, spans, strict=True)]
    facts = _facts([point.test for points in around for point in points])
    return [_with(each, facts) for each in histories]


def _with_facts(points: Sequence[CampaignPoint]) -> list[CampaignPoint]:
    return list(_with(TestHistory(points), _facts([point.test for point in points])).points)


def _with(history: TestHistory, facts: Mapping[int, Mapping[str, str]]) -> TestHistory:
    return TestHistory(
        [
            replace(point, facts=facts[point.test]) if point.test in facts else point
            for point in history.points
        ]
    )


def _facts(tests: Sequence[int]) -> dict[int, dict[str, str]]:
    """What may change from campaign to campaign, by test: as of its first complete run."""
    runs = (
        Run.objects.filter(test__in=tests, outcome=Outcome.COMPLETE)
        .order_by("test_id", "position")
        .distinct("test_id")
        .values_list(
            "pk",
            "test_id",
            KeyTransform("environment", "snapshot"),
            KeyTransform("endpoint", "snapshot"),
        )
    )
    rows = {pk: rest for pk, *rest in runs}
    shards = Shard.objects.filter(run__in=rows).values_list(
        "run_id", "host", *_keys("end", "servers", "tls")
    )
    seen: dict[int, list] = {}
    for run, *rest in shards.order_by("run_id", "number"):
        seen.setdefault(run, []).append(rest)
    said = {run: (rest[1:], seen.get(run, [])) for run, rest in rows.items()}
    # Most campaigns are alike, and TLS options take a while to read.
    read = {repr(each): _facts_of(*each[0], each[1]) for each in _different(said.values())}
    return {rest[0]: read[repr(said[run])] for run, rest in rows.items()}


def _different(values: Iterable[Any]) -> Iterable[Any]:
    return {repr(value): value for value in values}.values()


def _keys(column: str, *names: str) -> list[KeyTransform]:
    """Only these keys of a JSON column: the whole of it is a plan or an end line."""
    return [KeyTransform(name, column) for name in names]


def _facts_of(
    environment: Iterable[Sequence[str]], endpoint: Mapping[str, Any], shards: Iterable[Any]
) -> dict[str, str]:
    origin = Origin.from_json(endpoint)
    hosts, servers, tls = ({} for _ in range(3))
    for host, said, handshakes in shards:
        hosts[host] = servers[", ".join(said or ())] = True
        tls |= {f"{each['version']}, {each['cipher']}": True for each in handshakes or ()}
    found = {
        "Endpoint": str(origin),
        "TLS options": ", ".join(origin.tls.words()),
        "Injector hosts": ", ".join(sorted(filter(None, hosts))),
        "Server": ", ".join(sorted(filter(None, servers))),
        "TLS": "; ".join(sorted(tls)),
    }
    return {**dict(environment), **{name: words for name, words in found.items() if words}}
