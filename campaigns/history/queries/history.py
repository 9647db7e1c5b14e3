"""Tests over campaigns: a point for each campaign that has ended, from the figures kept of it.
Marks on the time axis of histories, such as deploys, and the days and marks that bound it."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Any

from django.db.models import BooleanField, Count, F, Func, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast
from django.utils import timezone

from campaigns.core.pages import sorted_by
from campaigns.core.permissions import Actor
from campaigns.domain.analysis.changes import Change
from campaigns.domain.analysis.histories import CampaignPoint, Ends, TestHistory
from campaigns.domain.analysis.ratio import Against
from campaigns.domain.typed_text import REFERENCE_TAG, clean_tag
from campaigns.history.models import HistoryKey
from campaigns.history.queries.baselines import triaged
from campaigns.models import (
    Campaign,
    Endpoint,
    Project,
    Run,
    SavedPlan,
    Target,
    Test,
    TestFigures,
    TimeMark,
    TriageChange,
)

RECENT_DAYS = 90
MOST_CAMPAIGNS = 1000  # of one history; its dates lead to older ones


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """The filters of histories; empty means any. `arm` is scheme and connection mode, such as
    "https keep-alive". A campaign counts if it started at `since` or later, and before `until`."""

    target: int | None = None
    plan: int | None = None
    tag: str = ""
    arm: str = ""
    since: datetime | None = None
    until: datetime | None = None
    metric: str = "typical"


def recent(by: HistoryFilter) -> HistoryFilter:
    """The last 90 days, unless a time is chosen: an overview shows what is news."""
    if by.since or by.until:
        return by
    return replace(by, since=timezone.now() - timedelta(days=RECENT_DAYS))


def latest_figures(key: HistoryKey) -> TestFigures | None:
    """Of the newest campaign with figures that count. Checks no permissions: callers pass the key
    of a row found with visible_to, or shared."""
    rows = TestFigures.objects.filter(campaign__deleted_at=None, **key.columns)
    return rows.exclude(typical_us=[]).order_by("-started_at", "-pk").first()


@dataclass(frozen=True)
class HistorySeries:
    """A history with what it is of."""

    key: HistoryKey
    plan: SavedPlan
    endpoint: Endpoint
    history: TestHistory
    n_left_out: int = 0
    marks: Sequence[TimeMark] = ()
    reference: "HistorySeries | None" = None
    metric: str = "typical"

    def beside(self, reference: "HistorySeries | None") -> "HistorySeries":
        """With the reference that was measured at the same time."""
        if reference is None:
            return self
        history = replace(self.history, reference=reference.history)
        return replace(self, history=history, reference=reference)

    @property
    def is_of_reference(self) -> bool:
        return self.endpoint.target.is_reference

    @property
    def arm_label(self) -> str:
        return arm_label_of(self.endpoint, self.key.connection_mode, self.key.injectors)

    @property
    def newest_test(self) -> int:
        return self.history.points[-1].test


def arm_label_of(endpoint: Endpoint, connection_mode: str, injectors: int) -> str:
    """HTTPS keep-alive, TLS 1.2 only, 2 injector processes."""
    more = f"{injectors} injector processes" if injectors > 1 else ""
    words = [f"{endpoint.scheme.upper()} {connection_mode}", endpoint.tls_profile, more]
    return ", ".join(filter(None, words))


def history_of(actor: Actor, test: Test, by: HistoryFilter) -> HistorySeries:
    """The tests that are the same as this one, over all campaigns that the actor sees, with the
    reference."""
    key = HistoryKey.of(test)
    rows = _matching(TestFigures.objects.visible_to(actor), by).filter(**key.columns)
    # Of its newest campaigns.
    starts, n_left_out = rows.order_by("-started_at").values_list("started_at", flat=True), 0
    if oldest := starts[MOST_CAMPAIGNS - 1 : MOST_CAMPAIGNS].first():
        older = rows.filter(started_at__lt=oldest)
        n_left_out = older.aggregate(n=Count("campaign", distinct=True))["n"]
        rows = rows.filter(started_at__gte=oldest)
    # With both ends, facts, and what they are against their baseline.
    bare = _points(rows, by).get(key, [])
    more = _further([point.test for point in bare])
    points = [point._replace(**more[point.test]) for point in bare]
    marks = []
    if points:  # up to the end of the time that is asked for
        marks = marks_of(actor, test.endpoint.target).filter(at__gte=points[0].at)
        if by.until:
            marks = marks.filter(at__lt=by.until)
        marks = list(marks[:MOST_MARKS])[::-1]
    series = HistorySeries(
        key,
        test.plan_version.plan,
        test.endpoint,
        TestHistory(points),
        n_left_out,
        marks,
        metric=by.metric,
    )
    return series.beside(_reference_of(actor, series, by))


def _reference_of(actor: Actor, series: HistorySeries, by: HistoryFilter) -> HistorySeries | None:
    """Of the project's tests on a target with the tag `reference`, the one that was measured in
    most of this test's campaigns, over the same days; rather with the same plan and connections.
    None without one, and for a reference itself. Its points are not whole."""
    points, own = series.history.points, series.key
    if not points or series.is_of_reference:
        return None
    rows = _matching(TestFigures.objects.visible_to(actor), replace(by, target=None)).filter(
        project=series.endpoint.target.project_id,
        endpoint__target__tags__contains=[REFERENCE_TAG],
        started_at__range=(points[0].at, points[-1].at),
    )
    n_common = Count("pk", filter=among("campaign", [point.campaign for point in points]))
    arms = (
        rows.order_by()
        .values_list(*HistoryKey._fields)
        .annotate(n_shared=n_common, n_all=Count("pk"))
    )
    references = [
        ((n_shared, *_likeness(key, own), n), key)
        for *arm, n_shared, n in arms
        for key in [HistoryKey(*arm)]
    ]
    if not references:
        return None
    _, key = max(references, key=lambda pair: (pair[0], -pair[1].endpoint, -pair[1].plan))
    of_key = _points(rows.filter(**key.columns), by)[key]
    return HistorySeries(
        key,
        SavedPlan.objects.get(pk=key.plan),
        Endpoint.objects.select_related("target").get(pk=key.endpoint),
        TestHistory(of_key[-MOST_CAMPAIGNS:]),
    )


def runs_of_history(actor: Actor, history: TestHistory) -> QuerySet[Run]:
    """Every run of its campaigns, the newest campaign first."""
    tests = [point.test for point in history.points]
    runs = Run.objects.visible_to(actor).filter(among("test", tests))
    runs = runs.select_related("campaign").defer("snapshot", "judgement", "machines")
    return sorted_by(runs, F("campaign__started_at"), falls=True)


def marks_of(actor: Actor, target: Target) -> QuerySet[TimeMark]:
    """Of this target and of all targets, the newest first."""
    marks = TimeMark.objects.visible_to(actor).filter(project=target.project_id)
    return marks.filter(Q(target=None) | Q(target=target)).order_by("-at", "-pk")


def histories(actor: Actor, project: Project, by: HistoryFilter) -> list[HistorySeries]:
    """Every test of the project with its history, and the references whatever target, plan or arm
    is asked for. Whole are the newest point of each, and those around a change, whose facts may be
    its cause."""
    visible = TestFigures.objects.visible_to(actor)
    rows = _matching(visible, by)
    if by.target or by.plan or by.arm:
        references = _matching(visible, replace(by, target=None, plan=None, arm=""))
        rows |= references.filter(endpoint__target__tags__contains=[REFERENCE_TAG])
    rows = rows.filter(project=project)
    plans = SavedPlan.objects.visible_to(actor).filter(project=project).in_bulk()
    endpoints = Endpoint.objects.visible_to(actor).filter(target__project=project)
    endpoints = endpoints.select_related("target").in_bulk()
    by_key = {key: TestHistory(some[-MOST_CAMPAIGNS:]) for key, some in _points(rows, by).items()}
    bare = list(by_key.values())
    every = [
        HistorySeries(key, plans[key.plan], endpoints[key.endpoint], history, metric=by.metric)
        for key, history in zip(by_key, _with_whole(bare, [*map(_to_explain, bare)]), strict=True)
    ]
    references = [series for series in every if series.is_of_reference]
    return [series.beside(_reference_among(references, series)) for series in every]


def _reference_among(references: Sequence[HistorySeries], series: HistorySeries):
    """For a test that changed the one of its project's references that `history_of` would have."""
    if series.is_of_reference or not series.history.last_change:
        return None
    own = {point.campaign for point in series.history.points}
    return max(
        references,
        key=lambda each: (
            sum(point.campaign in own for point in each.history.points),
            *_likeness(each.key, series.key),
            len(each.history.points),
            -each.key.endpoint,
            -each.key.plan,
        ),
        default=None,
    )


def _likeness(one: HistoryKey, other: HistoryKey) -> tuple[bool, bool]:
    return one.plan == other.plan, one.connection_mode == other.connection_mode


def histories_of(campaign: Campaign) -> dict[HistoryKey, TestHistory]:
    """Of each of its tests, without facts, for the days that an overview shows. For the engine,
    which sees everything."""
    tests = campaign.tests.select_related("plan_version").order_by("position")
    own = dict.fromkeys(map(HistoryKey.of, tests))
    by = recent(HistoryFilter())
    same = TestFigures.objects.outside_trash().filter(
        plan__in={key.plan for key in own}, endpoint__in={key.endpoint for key in own}
    )
    points = _points(_matching(same, by), by)
    return {key: TestHistory(points[key][-MOST_CAMPAIGNS:]) for key in own if key in points}


def with_facts_around(changes: Sequence[tuple[TestHistory, Change]]) -> list[TestHistory]:
    """Each history with the facts of the campaigns between which its change began."""
    around = [range(history.before(change), change.latest + 1) for history, change in changes]
    return _with_whole([history for history, _ in changes], around)


def arms_of(actor: Actor, test: Test) -> list[TestFigures]:
    """The newest test on each other arm of its plan that has been in a finished campaign."""
    arm = ("endpoint_id", "connection_mode", "injectors")
    newest = (
        TestFigures.objects.visible_to(actor)
        .filter(plan=test.plan_version.plan_id, campaign__finished_at__isnull=False)
        .order_by(*arm, "-started_at", "-test_id")
        .distinct(*arm)
        .values_list("pk", flat=True)
    )
    # Read first: as a subquery PostgreSQL may sort the whole history again for each of its rows.
    rows = TestFigures.objects.filter(pk__in=list(newest)).select_related("endpoint__target")
    own = HistoryKey.of(test)
    return [row for row in rows.order_by(*arm) if HistoryKey.read(row) != own]


def _matching(rows: QuerySet[TestFigures], by: HistoryFilter) -> QuerySet[TestFigures]:
    scheme, _, mode = by.arm.partition(" ")
    conditions = {
        "endpoint__target": by.target,
        "plan": by.plan,
        "campaign__tags__contains": [clean_tag(by.tag)] if by.tag else None,
        "endpoint__scheme": scheme,
        "connection_mode": mode,
        "started_at__gte": by.since,
        "started_at__lt": by.until,
    }
    return rows.filter(
        campaign__finished_at__isnull=False,
        **{lookup: value for lookup, value in conditions.items() if value},
    )


def _points(
    rows: QuerySet[TestFigures], by: HistoryFilter
) -> dict[HistoryKey, list[CampaignPoint]]:
    """The points of these tests by what they are of, in order of time; none is whole yet."""
    columns = ("campaign_id", "test_id", "plan_number", f"{by.metric}_us")
    answers = ("n", "errors", "trust", "target_state")
    by_key: dict[tuple, list[CampaignPoint]] = {}
    in_order = rows.order_by("started_at", "campaign_id", "test_id")
    values = list(in_order.values_list(*columns, *answers, *HistoryKey._fields))
    # Once for each campaign, not for each row: to read an instant takes long. By number: as a
    # subquery PostgreSQL may look through the whole history again for each campaign.
    of_rows = Campaign.objects.filter(among("pk", {campaign for campaign, *_ in values}))
    campaigns = {
        pk: (name, timezone.localtime(at))
        for pk, name, at in of_rows.values_list("pk", "name", "started_at")
    }
    for campaign, test, *rest, plan, endpoint, mode, injectors in values:
        name, at = campaigns[campaign]
        point = CampaignPoint(campaign, name, test, at, *rest)
        some = by_key.setdefault((plan, endpoint, mode, injectors), [])
        # To confirm a change, a campaign measures an older version beside the present one.
        if some and some[-1].campaign == campaign:
            point = max(some.pop(), point, key=lambda each: each.plan_version)
        some.append(point)
    return {HistoryKey(*key): points for key, points in by_key.items()}


def _with_whole(
    histories: Sequence[TestHistory], places: Sequence[Iterable[int]]
) -> list[TestHistory]:
    """Each with whole points at these places; one query for all."""
    both = list(zip(histories, places, strict=True))
    rows = _further([each.points[index].test for each, indices in both for index in indices])
    whole = []
    for history, indices in both:
        points = list(history.points)
        for index in indices:
            points[index] = points[index]._replace(**rows[points[index].test])
        whole.append(TestHistory(points, history.course))
    return whole


def _to_explain(history: TestHistory) -> Iterable[int]:
    """Where a change may have its cause, and the end."""
    last = len(history.points) - 1
    change = history.last_change
    return [*range(history.before(change), change.latest + 1), last] if change else [last]


def _further(tests: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The fields of a `CampaignPoint` that only whole ones have, by test."""
    rows = TestFigures.objects.filter(among("pk", tests))
    columns = ("pk", Cast("facts", TextField()), "against", "ends_us")
    parse = cache(json.loads)  # most campaigns have the facts of the one before
    return {
        pk: {
            "facts": parse(facts),
            "against": Against.from_json(against),
            "ends_us": {name: Ends(*ends) for name, ends in ends_us.items()},
        }
        for pk, facts, against, ends_us in rows.values_list(*columns)
    }


def among(column: str, numbers: Collection[int]) -> Func:
    """As `Q(column__in=numbers)`: `rows.filter(among("campaign", numbers))`."""
    return Func(
        F(column),
        Value(f"{{{','.join(map(str, numbers))}}}"),
        template="%(expressions)s::bigint[])",
        arg_joiner=" = ANY(",
        output_field=BooleanField(),
    )


def quiet_changes(actor: Actor, project: Project) -> Callable[[HistoryKey, TestHistory], bool]:
    """Whether the last change of a history is one that somebody has acknowledged: it stays quiet
    until the test moves again."""
    entries = triaged().visible_to(actor).filter(project=project, acknowledged_at__isnull=False)
    rows = TriageChange.objects.filter(entry__in=entries).values_list(
        *HistoryKey._fields, "since_at"
    )
    times_by_key: dict[HistoryKey, list[datetime]] = {}
    for *key, since_at in rows:
        times_by_key.setdefault(HistoryKey(*key), []).append(since_at)

    def is_quiet(key: HistoryKey, history: TestHistory) -> bool:
        if key not in times_by_key or (change := history.last_change) is None:
            return False
        first, last = (history.points[index].at for index in (change.earliest, change.latest))
        return any(first <= at <= last for at in times_by_key[key])

    return is_quiet


MOST_MARKS = 200  # of one history; its dates lead to older ones
_REFERENCE = re.compile(r"mark-([1-9][0-9]{0,17})", re.ASCII)
HOW = "Write a day, such as 2026-11-01, or a mark, such as mark-12."


def begin_of(project: Project, text: str) -> datetime:
    """The instant of "mark-12", or the begin of a day. Raises ValueError."""
    return _mark_at(project, text) or _midnight(text)


def end_of(project: Project, text: str) -> datetime:
    """The instant of "mark-12", or the end of a day. Raises ValueError."""
    return _mark_at(project, text) or _midnight(text, days=1)


def is_mark(text: str) -> bool:
    return bool(_REFERENCE.fullmatch(text))


def _mark_at(project: Project, text: str) -> datetime | None:
    if not is_mark(text):
        return None
    marks = project.marks.filter(pk=text.removeprefix("mark-"))
    at = marks.values_list("at", flat=True).first()
    if at is None:
        raise ValueError(f"This project has no {text}.")
    return at


def _midnight(text: str, days: int = 0) -> datetime:
    try:
        day = date.fromisoformat(text) + timedelta(days=days)
        return timezone.make_aware(datetime.combine(day, time()))
    except (OverflowError, ValueError):
        raise ValueError(HOW) from None
