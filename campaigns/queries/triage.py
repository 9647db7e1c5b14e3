"""Reads of triage: a project's entries, those of a test, and which changes stay quiet. What a
reference did is written down like any change, but it is nothing for people to judge: it says of the
changes of others that the environment changed as well."""

from collections.abc import Callable, Iterable
from datetime import datetime

from django.db.models import Count, F, Max, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.functions import Abs, Ln

from campaigns.domain.judged.histories import TestHistory
from campaigns.domain.judged.triage import TriageState
from campaigns.domain.tags import REFERENCE_TAG
from campaigns.models import Project, Test, TriageChange, TriageEntry, TriageNote
from campaigns.permissions import Actor
from campaigns.queries.history import HistoryKey


def triaged() -> QuerySet[TriageEntry]:
    """The entries of tests."""
    return TriageEntry.objects.exclude(target__tags__contains=[REFERENCE_TAG])


def entries_of(actor: Actor, project: Project, states: Iterable[str] = ()) -> QuerySet[TriageEntry]:
    """With changes, the largest first, and notes, the newest first. Entries by the newest change;
    without `states`, all of them."""
    found = triaged().visible_to(actor).filter(project=project)
    if states := list(states):
        found = found.filter(state__in=states)
    return _with_all(found)


def entries_of_test(actor: Actor, key: HistoryKey) -> QuerySet[TriageEntry]:
    """Those with a change of this test, the newest first."""
    return _with_all(
        triaged()
        .visible_to(actor)
        .filter(
            pk__in=TriageChange.objects.filter(
                plan=key.plan,
                endpoint=key.endpoint,
                connection_mode=key.connection_mode,
                injectors=key.injectors,
            ).values("entry")
        )
    )


def _with_all(entries: QuerySet[TriageEntry]) -> QuerySet[TriageEntry]:
    of_test = Test.objects.filter(
        plan_version__plan=OuterRef("plan"),
        endpoint=OuterRef("endpoint"),
        connection_mode=OuterRef("connection_mode"),
        injectors=OuterRef("injectors"),
        campaign__finished_at__isnull=False,
    ).order_by("-campaign__started_at", "-plan_version__number")
    before = of_test.filter(campaign__started_at__lte=OuterRef("after_at"))
    changes = (
        TriageChange.objects.select_related("plan", "endpoint")
        .annotate(
            newest_test=Subquery(of_test.values("pk")[:1]),
            old_test=Subquery(before.values("pk")[:1]),
            reference_ratio=Subquery(_of_references().values("ratio")[:1]),
        )
        .order_by(Abs(Ln("ratio")).desc(), "pk")
    )
    notes = TriageNote.objects.select_related("by").order_by("-pk")
    return (
        entries.select_related("target", "project")
        .prefetch_related(Prefetch("changes", changes), Prefetch("notes", notes))
        .annotate(newest_at=Max("changes__since_at"))
        .order_by("-newest_at", "-pk")
    )


def _of_references() -> QuerySet[TriageChange]:
    """What the project's references did in the range of an outer change, the largest first."""
    return TriageChange.objects.filter(
        entry__project=OuterRef("entry__project"),
        entry__target__tags__contains=[REFERENCE_TAG],
        after_at__lt=OuterRef("until_at"),
        until_at__gt=OuterRef("after_at"),
    ).order_by(Abs(Ln("ratio")).desc(), "pk")


def count_by_state(actor: Actor, project: Project) -> dict[str, int]:
    found = triaged().visible_to(actor).filter(project=project).order_by()
    return dict(found.values_list("state").annotate(Count("pk")))


def open_tests(actor: Actor, project: Project) -> set[HistoryKey]:
    """The tests with a change that nobody has judged yet."""
    rows = TriageChange.objects.filter(
        entry__in=triaged().visible_to(actor).filter(project=project), entry__state=TriageState.OPEN
    ).values_list("plan", "endpoint", "connection_mode", "injectors")
    return {HistoryKey(*key) for key in rows}


def quiet_changes(actor: Actor, project: Project) -> Callable[[HistoryKey, TestHistory], bool]:
    """Whether the last change of a history is one that somebody has judged: it stays quiet until
    the test moves again."""
    rows = (
        TriageChange.objects.filter(entry__in=triaged().visible_to(actor))
        .filter(entry__project=project)
        .exclude(entry__state=TriageState.OPEN)
        .values_list("plan", "endpoint", "connection_mode", "injectors", F("since_at"))
    )
    judged: dict[HistoryKey, list[datetime]] = {}
    for *key, since_at in rows:
        judged.setdefault(HistoryKey(*key), []).append(since_at)

    def is_quiet(key: HistoryKey, history: TestHistory) -> bool:
        if key not in judged or (change := history.last_change) is None:
            return False
        first, last = (history.points[index].at for index in (change.earliest, change.latest))
        return any(first <= at <= last for at in judged[key])

    return is_quiet
