"""What lists of campaigns, plans, targets and projects have in common: views, tags, counts. What
is lost with an item that is deleted, and why it can not be. Reads of plans and the changes between
their versions; of projects and members; the installation in a few lines."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from django.conf import settings
from django.db.models import Count, Exists, F, Func, OuterRef, Q, QuerySet, Subquery, TextField

from campaigns.campaigns.models import UNDER_WAY
from campaigns.core.database import count_of
from campaigns.core.permissions import Actor, Role
from campaigns.domain.lifecycle import RunState
from campaigns.domain.presentation.plan_words import changes_between
from campaigns.domain.units import counted
from campaigns.engine.queries.injector_hosts import hosts
from campaigns.models import (
    Baseline,
    Campaign,
    Endpoint,
    Membership,
    PlanVersion,
    Probe,
    Project,
    Run,
    SavedPlan,
    ShardSecond,
    StoredBody,
    Target,
    Test,
)
from campaigns.projects.models import Item

# The views that every list has: what is in use, and the rest.
ARCHIVED = "archived"
IN_USE = Q(archived_at=None)
ITEM_VIEWS: Mapping[str, Q] = {"": IN_USE, ARCHIVED: ~IN_USE}


def view_counts(rows: QuerySet, views: Mapping[str, Q]) -> dict[str, int]:
    """How many of the rows are in each view."""
    counts = {f"n_{view}": Count("pk", filter=each) for view, each in views.items()}
    totals = rows.order_by().aggregate(**counts)
    return {view: totals[f"n_{view}"] for view in views}


def tag_counts(rows: QuerySet) -> list[tuple[str, int]]:
    """The tags of the rows with how many have each, the most frequent first."""
    tag = Func(F("tags"), function="unnest", output_field=TextField(), set_returning=True)
    counts = rows.order_by().values(tag=tag).annotate(n=Count("pk")).values_list("tag", "n")
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))


def losses_of(items: Sequence[Item]) -> list[str]:
    """What would be lost with these items, all of one kind, as counts in words."""
    pks = [item.pk for item in items]
    counts = {words: rows.count() for words, rows in _LOST[type(items[0])](pks).items()}
    return [counted(n, words) for words, n in counts.items() if n]


def refusal_to_delete(item: Item) -> str:
    """Why the item cannot be deleted now and what to do, in a sentence; "" if it can."""
    if isinstance(item, Campaign):
        return refusal_to_archive(item) or _is_baseline(item)
    if isinstance(item, Project):
        return project_is_busy(item)
    tests = Test.objects.filter(campaign=OuterRef("pk"))
    what = "endpoint__target" if isinstance(item, Target) else "plan_version__plan"
    campaigns = Campaign.objects.filter(Exists(tests.filter(**{what: item.pk})))
    n_campaigns = campaigns.count()
    if not n_campaigns:
        return ""
    these = "this campaign" if n_campaigns == 1 else "these campaigns"
    instead = "Delete" if item.archived_at else "Archive it instead, or delete"
    place, end = "", ""
    if not campaigns.outside_trash().exists():
        place, end = " of the trash", " forever"
    return (
        f"{item.name} is used by {counted(n_campaigns, 'campaigns')}{place}, whose results need "
        f"it. {instead} {these}{end} first."
    )


def refusal_to_archive(item: Item) -> str:
    """As of deleting, "" if it can."""
    if isinstance(item, Campaign):
        return _is_running(item) if item.is_under_way else ""
    if isinstance(item, Project):
        return project_is_busy(item)
    if isinstance(item, Target) and item.runs.exclude(state=RunState.DONE).exists():
        return f"{item.name} has runs that have not ended. Stop its campaigns first."
    return ""


def _is_baseline(campaign: Campaign) -> str:
    current = Baseline.objects.filter(replaced_at=None, runs__campaign=campaign).first()
    if current is None:
        return ""
    return (
        f"Runs of {campaign.name} are the baseline “{current.name}” of later campaigns. Make "
        "others the baseline, or stop comparing with it in the history of its test, then delete it."
    )


def project_is_busy(project: Project) -> str:
    """A sentence about the project's campaign that is under way; "" if there is none."""
    going = project.campaigns.filter(UNDER_WAY).first()
    return _is_running(going) if going else ""


def _is_running(campaign: Campaign) -> str:
    return f"{campaign.name} is running. Stop it first."


def _of_results(runs: QuerySet[Run]) -> dict[str, QuerySet]:
    return {"runs": runs, "measured seconds": ShardSecond.objects.filter(run__in=runs.values("pk"))}


# What is lost with items of a kind, in the words that count it.
_LOST: dict[type[Item], Callable[[Sequence[int]], dict[str, QuerySet]]] = {
    Campaign: lambda pks: _of_results(Run.objects.filter(campaign__in=pks)),
    SavedPlan: lambda pks: {"versions": PlanVersion.objects.filter(plan__in=pks)},
    Target: lambda pks: {
        "endpoints": Endpoint.objects.filter(target__in=pks),
        "single requests": Probe.objects.filter(endpoint__target__in=pks),
    },
    Project: lambda pks: {
        "campaigns": Campaign.objects.filter(project__in=pks),
        **_of_results(Run.objects.filter(campaign__project__in=pks)),
        "targets": Target.objects.filter(project__in=pks),
        "plans": SavedPlan.objects.filter(project__in=pks),
        "memberships": Membership.objects.filter(project__in=pks),
    },
}


def list_plans(actor: Actor) -> QuerySet[SavedPlan]:
    return with_latest(SavedPlan.objects.visible_to(actor))


def with_latest(plans: QuerySet[SavedPlan]) -> QuerySet[SavedPlan]:
    """Each with its latest version's id and when that was made."""
    latest = PlanVersion.objects.filter(plan=OuterRef("pk")).order_by("-number")
    return plans.annotate(
        newest_id=Subquery(latest.values("pk")[:1]),
        changed_at=Subquery(latest.values("created_at")[:1]),
    )


def with_newest(plans: Iterable[SavedPlan]) -> list[SavedPlan]:
    """The plans of `list_plans`, each with its latest version as `newest`; those that were deleted
    meanwhile are left out."""
    plans = list(plans)
    versions = PlanVersion.objects.in_bulk([plan.newest_id for plan in plans])
    plans = [plan for plan in plans if plan.newest_id in versions]
    for plan in plans:
        plan.newest = versions[plan.newest_id]
    return plans


def versions_of(plan: SavedPlan) -> list[PlanVersion]:
    """Newest first, each with its `changes`: [(field, before, after), …]. Raises DoesNotExist for a
    plan that was deleted meanwhile."""
    versions = list(plan.versions.select_related("created_by").order_by("number"))
    if not versions:
        raise PlanVersion.DoesNotExist
    for before, after in zip([None, *versions], versions, strict=False):
        # Compared in their full form, so that an omitted default is no change.
        specs = [each.value().to_json() for each in (before, after) if each]
        after.changes = changes_between(*specs) if before else []
    return versions[::-1]


def file_of(plan: SavedPlan, sha256: str) -> tuple[str, bytes] | None:
    """(name, bytes) of a file that one of the plan's versions sends; None if there is none."""
    for version in plan.versions.order_by("-number"):
        for number, step in enumerate(version.value().steps, 1):
            files = [(f"body-of-step-{number}", step.body_file)]
            files += [(part.filename, part.file) for part in step.multipart]
            for name, blob in files:
                if blob and blob.sha256 == sha256:
                    bodies = StoredBody.objects.filter(project=plan.project_id, sha256=sha256)
                    data = blob.data or bodies.values_list("data", flat=True).first()
                    return None if data is None else (name, bytes(data))
    return None


# What each role may do, in one line; tests compare it with core/permissions.py.
ROLES: dict[str, str] = {
    Role.OWNER: "everything, including members",
    Role.EDITOR: "creates targets, plans and campaigns, starts and stops them, shares results",
    Role.OPERATOR: "starts and stops existing campaigns",
    Role.VIEWER: "read-only access",
}


def list_projects(actor: Actor) -> QuerySet[Project]:
    return with_counts(Project.objects.visible_to(actor), actor)


def with_counts(projects: QuerySet[Project], actor: Actor) -> QuerySet[Project]:
    """Each with counts, the actor's role in it and the date of its latest campaign."""
    mine = OuterRef("pk")
    role = Membership.objects.filter(project=mine, user=actor.user.pk).values("role")[:1]
    latest = (
        Campaign.objects.outside_trash().filter(project=mine).order_by("-pk").values("created_at")
    )
    return projects.annotate(
        n_targets=count_of(Target.objects.filter(project=mine, archived_at=None, is_kept=True)),
        n_campaigns=count_of(Campaign.objects.filter(project=mine, archived_at=None)),
        n_members=count_of(Membership.objects.filter(project=mine)),
        role=Subquery(role),
        latest_campaign_at=Subquery(latest[:1]),
    )


def installation() -> dict[str, str]:
    """In words: who sends (`injectors`), how much at once (`slots`), and where to (`networks`)."""
    alive = [host for host in hosts() if host.is_alive]
    slots = sum(host.slots for host in alive)
    return {
        "injectors": ", ".join(host.name for host in alive) or "none is online",
        "slots": f"{counted(slots, 'injector processes')} at a time" if slots else "",
        "networks": ", ".join(settings.ALLOWED_NETWORKS) or "no network yet",
    }


# One sample is stored, and one measured here: `make run` does so at its first start.
SAMPLE_PROJECT, SAMPLE_CAMPAIGN = "Sample", "HTTP against HTTPS"
STORED_SAMPLE = "Stored sample: what does HTTPS cost?"


def samples(actor: Actor) -> QuerySet[Campaign]:
    """Those measured here, the newest first."""
    mine = Campaign.objects.visible_to(actor).order_by("-pk")
    return mine.filter(project__name=SAMPLE_PROJECT, name=SAMPLE_CAMPAIGN)


def stored_sample(actor: Actor) -> Campaign | None:
    mine = Campaign.objects.visible_to(actor).filter(archived_at=None, name=STORED_SAMPLE)
    return mine.filter(project__name=SAMPLE_PROJECT).order_by("pk").first()


def is_first_visit(project: Project) -> bool:
    """Whether nobody has made a campaign in it but the samples."""
    campaigns = project.campaigns.exclude(name__in=(SAMPLE_CAMPAIGN, STORED_SAMPLE))
    return not campaigns.exists()
