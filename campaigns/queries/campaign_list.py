"""Reads for the list of campaigns: its filters, its views and how many are in each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from campaigns.domain.lifecycle import Precision, RunState, TargetState, Trust
from campaigns.models import Campaign, Project, Run, RunSummary, Test
from campaigns.permissions import Actor
from campaigns.queries.items import ItemFilter, count_of, narrowed


@dataclass(frozen=True, slots=True)
class CampaignFilter(ItemFilter):
    """The list's filters; empty means any."""

    state: str = ""
    target: int | None = None
    measurement: str = ""
    target_state: str = ""
    precision: str = ""
    since: datetime | None = None


STATE_IS = {
    "draft": Q(started_at=None, finished_at=None),
    "running": Q(started_at__isnull=False, finished_at=None, stop_requested_at=None),
    "stopping": Q(finished_at=None, stop_requested_at__isnull=False),
    "done": Q(finished_at__isnull=False),
}
UNDER_WAY = Q(started_at__isnull=False, finished_at=None)


def list_campaigns(actor: Actor, project: Project, by: CampaignFilter) -> QuerySet[Campaign]:
    """The project's campaigns, each with its counts, tests, targets and plans."""
    found = Campaign.objects.visible_to(actor).filter(project=project)
    views = campaign_views(actor)
    if by.view in views:
        found = found.filter(views[by.view])
    if by.state:
        found = found.filter(STATE_IS[by.state])
    if by.target:
        tests = Test.objects.filter(campaign=OuterRef("pk"), endpoint__target=by.target)
        found = found.filter(Exists(tests))
    if by.measurement:
        found = found.filter(trust_is(by.measurement))
    if by.target_state:
        found = found.filter(target_state_is(by.target_state))
    if by.precision:
        found = found.filter(precision_is(by.precision))
    if by.since:
        found = found.filter(created_at__gte=by.since)
    return narrowed(with_counts(found), by)


def with_counts(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    tests = Test.objects.select_related("endpoint__target", "plan_version__plan")
    return (
        campaigns.annotate(
            n_tests=count_of(Test.objects.filter(campaign=OuterRef("pk"))),
            n_runs=count_of(Run.objects.filter(campaign=OuterRef("pk"))),
            n_done=count_of(Run.objects.filter(campaign=OuterRef("pk"), state=RunState.DONE)),
        )
        .select_related("created_by")
        .prefetch_related(Prefetch("tests", queryset=tests))
        .order_by("-pk")
    )


def going_on(actor: Actor, project: Project) -> QuerySet[Campaign]:
    """Started, unfinished campaigns, by start time."""
    found = Campaign.objects.visible_to(actor).filter(project=project)
    return with_counts(found.filter(UNDER_WAY)).order_by("started_at")


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
    """As `queries.measured.trust_of` for each test: a test is not usable if none of its runs is,
    and a campaign has the trust of its worst test."""
    runs = Run.objects.filter(test=OuterRef("pk"))
    some_usable = Exists(runs.filter(trust__in=[Trust.TRUSTED, Trust.DOUBTFUL]))
    unusable = Test.objects.filter(Exists(runs.filter(trust=Trust.NOT_USABLE)), ~some_usable)
    not_usable = Exists(unusable.filter(campaign=OuterRef("pk")))
    if word == Trust.NOT_USABLE:
        return Q(not_usable)
    judged = Run.objects.filter(campaign=OuterRef("pk"), trust__isnull=False)
    in_doubt = Exists(judged.exclude(trust=Trust.TRUSTED))
    if word == Trust.DOUBTFUL:
        return in_doubt & ~not_usable
    return Exists(judged) & ~in_doubt


# --- views ---------------------------------------------------------------------------------------

VIEWS = {"look": "Needs a look", "mine": "Mine", "running": "Running"}


def campaign_views(actor: Actor) -> dict[str, Q]:
    """The campaigns of each of the VIEWS."""
    return {"look": needs_a_look(), "mine": Q(created_by=actor.user), "running": UNDER_WAY}


def needs_a_look() -> Q:
    """Finished campaigns that found something wrong, until the same is measured again: the target
    failed, a threshold was broken, a test is not usable, or it stopped by itself."""
    broken = RunSummary.objects.filter(
        run__campaign=OuterRef("pk"), thresholds__contains=[{"passed": False}]
    )
    failing = Run.objects.filter(campaign=OuterRef("pk"), target_state=TargetState.FAILING)
    wrong = ~Q(stop_reason="") | Exists(failing) | Exists(broken) | trust_is(Trust.NOT_USABLE)
    return Q(finished_at__isnull=False) & wrong & ~Exists(_measured_again())


def _measured_again() -> QuerySet[Test]:
    """Tests of a campaign that a later one has made as well, and nobody stopped."""
    later = Test.objects.filter(
        plan_version__plan=OuterRef("plan_version__plan"),
        endpoint=OuterRef("endpoint"),
        connection_mode=OuterRef("connection_mode"),
        injectors=OuterRef("injectors"),
        campaign__gt=OuterRef("campaign"),
        campaign__finished_at__isnull=False,
        campaign__stop_requested_by=None,
    )
    return Test.objects.filter(Exists(later), campaign=OuterRef("pk"))
