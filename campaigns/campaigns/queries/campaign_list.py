"""Reads for the list of campaigns: its filters, its views and how many are in each."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import (
    Aggregate,
    Exists,
    F,
    FloatField,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
)
from django.db.models.functions import JSONObject

from campaigns.campaigns.models import UNDER_WAY
from campaigns.core.database import count_of
from campaigns.core.permissions import Actor
from campaigns.domain.analysis.ratio import Against
from campaigns.domain.errors import InvalidPlan
from campaigns.domain.lifecycle import (
    ACTIVE_STATES,
    Outcome,
    Precision,
    RunState,
    TargetState,
    Trust,
)
from campaigns.items.queries.items import ARCHIVED, IN_USE
from campaigns.models import Campaign, PlanVersion, Project, Run, RunSummary, Test

STATE_IS = {
    "draft": Q(started_at=None, finished_at=None),
    "running": Q(started_at__isnull=False, finished_at=None, stop_requested_at=None),
    "stopping": Q(finished_at=None, stop_requested_at__isnull=False),
    "done": Q(finished_at__isnull=False),
}


def list_campaigns(actor: Actor) -> QuerySet[Campaign]:
    """Each with its counts."""
    return with_counts(Campaign.objects.visible_to(actor))


def with_counts(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    return (
        campaigns.annotate(
            n_tests=count_of(Test.objects.filter(campaign=OuterRef("pk"))),
            n_runs=count_of(Run.objects.filter(campaign=OuterRef("pk"))),
            n_done=count_of(Run.objects.filter(campaign=OuterRef("pk"), state=RunState.DONE)),
        )
        .select_related("created_by", "looked_by")
        .order_by("-pk")
    )


def with_tests(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """Each with its tests, and their plans and targets."""
    tests = Test.objects.select_related("endpoint__target", "plan_version__plan")
    return campaigns.prefetch_related(Prefetch("tests", queryset=tests))


def makers_of(project: Project) -> list[str]:
    """The usernames of who has made campaigns of the project."""
    users = get_user_model().objects.filter(pk__in=project.campaigns.values("created_by"))
    return list(users.order_by("username").values_list("username", flat=True))


_MOST_NAMES = 50


def latest_by_name(actor: Actor, project: Project) -> dict[str, Campaign]:
    """The newest campaigns that were started, one of each name; no search, which starts anew."""
    rows = Campaign.objects.visible_to(actor).filter(IN_USE, project=project, search=None)
    rows = rows.filter(started_at__isnull=False).order_by("-pk")[: 4 * _MOST_NAMES]
    latest: dict[str, Campaign] = {}
    for campaign in rows:
        latest.setdefault(campaign.name, campaign)
    return dict([*latest.items()][:_MOST_NAMES])


def on_target(target: int) -> Q:
    """Has a test of this target."""
    return Q(Exists(Test.objects.filter(campaign=OuterRef("pk"), endpoint__target=target)))


def going_on(actor: Actor, project: Project) -> QuerySet[Campaign]:
    """Started, unfinished campaigns: those with a run under way, then those that wait for one, by
    start time."""
    campaigns = Campaign.objects.visible_to(actor).filter(UNDER_WAY, project=project)
    campaigns = campaigns.select_related("search")
    active = Run.objects.filter(campaign=OuterRef("pk"), state__in=ACTIVE_STATES)
    return campaigns.order_by(Exists(active).desc(), "started_at", "pk")


# --- the three answers of a campaign, as its list says them --------------------------------------


def target_state_is(word: str) -> Q:
    """The worst of its runs decides."""
    return _last_is("target_state", word, list(TargetState))


def precision_is(word: str) -> Q:
    """The least precise of its runs decides."""
    return _last_is("precision", word, list(reversed(Precision)))


def _last_is(column: str, word: str, states: Sequence[str]) -> Q:
    """Of the states of its runs this one comes last."""
    worse = states[states.index(word) + 1 :]
    runs = Run.objects.filter(campaign=OuterRef("pk"))
    return Exists(runs.filter(**{column: word})) & ~Exists(runs.filter(**{f"{column}__in": worse}))


def trust_is(word: str) -> Q:
    """As `queries.measurements.trust_of` for each test, the best of its runs; a campaign has the
    trust of its worst test."""
    runs, states = Run.objects.filter(test=OuterRef("pk")), list(Trust)

    def has_test(state: Trust) -> Q:
        better = states[: states.index(state)]
        has_it, has_better = Exists(runs.filter(trust=state)), Exists(runs.filter(trust__in=better))
        return Q(Exists(Test.objects.filter(has_it, ~has_better, campaign=OuterRef("pk"))))

    condition = has_test(Trust(word))
    for worse in states[states.index(word) + 1 :]:
        condition &= ~has_test(worse)
    return condition


# --- views ---------------------------------------------------------------------------------------


def campaign_views(actor: Actor) -> dict[str, Q]:
    """Drafts have a view of their own, so that they hide no results."""
    has_begun = IN_USE & ~STATE_IS["draft"]
    return {
        "": has_begun,
        "look": IN_USE & needs_a_look(actor),
        "mine": has_begun & Q(created_by=actor.user),
        "running": IN_USE & UNDER_WAY,
        "drafts": IN_USE & STATE_IS["draft"],
        ARCHIVED: ~IN_USE,
    }


def needs_a_look(actor: Actor) -> Q:
    """Finished campaigns that are not healthy, as their badge says, and that nobody has looked at
    since: stopped, spoilt, with a target in trouble or with a broken threshold."""
    runs = Run.objects.filter(campaign=OuterRef("pk"))
    spoilt = trust_is(Trust.BUSY) | trust_is(Trust.NO_ANSWER)
    in_trouble = runs.filter(target_state__in=[TargetState.CHANGING, TargetState.FAILING])
    overloads = runs.filter(target_state=TargetState.OVERLOADED)
    # Some plans overload a target because they look for its limit.
    state = TargetState.OVERLOADED
    of_version = Run.objects.filter(target_state=state, test__plan_version=OuterRef("pk"))
    versions = PlanVersion.objects.visible_to(actor).filter(Exists(of_version))
    seekers = [version.pk for version in versions if _seeks_limit(version)]
    overloads = overloads.exclude(test__plan_version__in=seekers)
    broken = RunSummary.objects.filter(
        run__campaign=OuterRef("pk"), thresholds__contains=[{"passed": False}]
    )
    was_stopped = Q(stop_requested_at__isnull=False) | ~Q(stop_reason="")
    wrong = was_stopped | spoilt | Exists(in_trouble) | Exists(overloads) | Exists(broken)
    unseen = Q(looked_at=None) | Q(looked_at__lt=F("finished_at"))
    return Q(finished_at__isnull=False) & wrong & unseen


def _seeks_limit(version: PlanVersion) -> bool:
    try:
        return version.value().seeks_limit
    except InvalidPlan:  # stored by an older version
        return False


MOST = 12  # campaigns in a trend


@dataclass(frozen=True, slots=True)
class P95Trend:
    """Of a campaign's first test. `p95s_ms`: its p95 and those of the same test before, the newest
    last: the median over the runs that ended as planned and are usable, None without any.
    `against`: what was stored of its comparison with a baseline."""

    p95s_ms: list[float | None]
    against: Against | None


_SAME_TEST = (
    *("plan_version__plan", "endpoint", "connection_mode", "injectors"),
    *("swept", "swept_value"),
)


def trends_of(campaigns: Sequence[Campaign]) -> dict[int, P95Trend]:
    """By campaign, in two or three queries that bring no run; a campaign without tests has none.
    Campaigns of one test that follow each other share what is read of it: PostgreSQL sorts all
    campaigns of a test for each time that it is asked."""
    firsts = Test.objects.filter(campaign__in=campaigns, position=0).order_by()
    alike, against = defaultdict(list), {}
    rows = firsts.values_list("campaign", "pk", "figures__against", *_SAME_TEST)
    for campaign, test, answer, *same in rows:
        alike[tuple(same)].append((campaign, test))
        against[campaign, test] = Against.from_json(answer) if answer else None
    most = MOST + max(map(len, alike.values()), default=0)
    newest = [max(each) for each in alike.values()]
    until_newest = _p95s_until([test for _, test in newest], most)
    p95s_us: dict[int, list[float | None]] = {}
    for (_, last), each in zip(newest, alike.values(), strict=True):
        earlier = until_newest.get(last, [])
        for campaign, test in each:
            until = [p95 for at, p95 in earlier if at <= campaign][:MOST]
            if len(until) == MOST or len(earlier) < most:
                p95s_us[test] = until
    if apart := [test for _, test in against if test not in p95s_us]:
        alone = _p95s_until(apart, MOST)
        p95s_us |= {test: [p95 for _, p95 in earlier] for test, earlier in alone.items()}
    return {
        campaign: P95Trend(
            [None if us is None else us / 1000 for us in reversed(p95s_us.get(test, ()))], answer
        )
        for (campaign, test), answer in against.items()
    }


def _p95s_until(tests: Sequence[int], most: int) -> dict[int, list[tuple[int, float | None]]]:
    """(campaign, p95) of the same test in its campaign and those before, the newest first."""
    same = Test.objects.filter(**{name: OuterRef(name) for name in _SAME_TEST})
    same = same.filter(campaign__lte=OuterRef("campaign"), campaign__started_at__isnull=False)
    same = same.filter(campaign__deleted_at=None).order_by("-campaign_id")
    runs = Run.objects.filter(test=OuterRef("pk"), outcome=Outcome.COMPLETE, p95_us__isnull=False)
    runs = runs.exclude(trust__in=[Trust.BUSY, Trust.NO_ANSWER]).exclude(is_alone=True).order_by()
    point = JSONObject(
        at="campaign_id",
        us=Subquery(runs.values("test").annotate(median=_Median("p95_us")).values("median")),
    )
    point = ArraySubquery(same.values(told=point)[:most])
    rows = Test.objects.filter(pk__in=tests).order_by().annotate(told=point)
    return {
        test: [(each["at"], each["us"]) for each in points]
        for test, points in rows.values_list("pk", "told")
    }


class _Median(Aggregate):
    template = "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()
