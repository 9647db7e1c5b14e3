"""Make runs the baseline of their tests, stop comparing with it, and judge campaigns by it. Triage
of changes: written down when a campaign has ended, then acknowledged by people. A change is known
by its test (plan, endpoint, connection mode, injectors) and the campaign with which the new level
begins, so it can be written down any number of times. If more campaigns move it, it is followed
(`analysis.histories.same_changes`). A new change joins the newest entry of its target whose range
overlaps its own, if nobody has acknowledged that and it has no change of the same test yet;
otherwise it is an entry of its own. What is no longer found stays until people acknowledge it.
Marks of deploys and other events stand on the time axis of histories."""

import logging
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import BooleanField, ExpressionWrapper, F
from django.db.models.functions import Now
from django.utils import timezone

from campaigns.campaigns.queries.references import references_between
from campaigns.compare.queries.compared_searches import against_search, search_columns
from campaigns.core import audit
from campaigns.core.database import text_faults
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.analysis.changes import Change
from campaigns.domain.analysis.histories import Sighting, TestHistory, same_changes
from campaigns.domain.analysis.ratio import MIN_REPEATS
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.typed_text import check_unchanged, clean_name, storable
from campaigns.history.models import HistoryKey
from campaigns.history.queries.baselines import against_baselines, counted_of, with_baselines
from campaigns.history.queries.history import histories_of, with_facts_around
from campaigns.models import (
    Baseline,
    Campaign,
    Endpoint,
    Project,
    Run,
    Search,
    Target,
    Test,
    TestFigures,
    TimeMark,
    TriageChange,
    TriageEntry,
)
from campaigns.operations.models import AuditEvent
from campaigns.runs.models import IN_TURNS
from campaigns.search.queries import trial_runs

logger = logging.getLogger(__name__)

_NO_CAPACITY = (
    "This search found no capacity with an interval. Choose one that did, or search again."
)


@transaction.atomic
def make_baseline(
    *, by: Actor, project: Project, name: str, tests: Sequence[Test], seen: int | None = None
) -> list[Baseline]:
    """Compare what these tests measure from now on with their runs that count; of a search, what
    later searches find with its capacity. Tests that are the same one in several campaigns become
    one baseline. `seen` is the newest baseline of the project that the user has seen: what somebody
    else chose meanwhile is not replaced. Replaced baselines are kept. Raises InvalidFields, or
    Refused with what to do."""
    require(by, Action.EDIT, project)
    name = clean_name(name)
    if not name:
        raise InvalidFields({"name": "Give the baseline a name, such as “release 1.4”."})
    if faults := text_faults(Baseline, {"name": name}):
        raise InvalidFields(faults)
    campaigns = {test.campaign_id for test in tests}
    # Against their deletion meanwhile, see services.items.
    campaigns_under_lock = Campaign.objects.select_for_update().filter(
        pk__in=campaigns, project=project
    )
    if {each.pk for each in campaigns_under_lock.order_by("pk") if each.finished_at} != campaigns:
        elsewhere = Campaign.objects.filter(pk__in=campaigns).exclude(project=project)
        raise Refused(
            "This belongs to another project. Make it a baseline there."
            if elsewhere.exists()
            else "A campaign can be a baseline once it has ended."
        )
    if searches := list(Search.objects.filter(campaign__in=campaigns)):
        if len(tests) > 1:
            raise Refused("Choose only one search.")
        (column,) = search_columns(searches)
        if column.capacity is None or column.capacity.low is None:
            raise Refused(_NO_CAPACITY)
        key, runs = HistoryKey.of(column.test), trial_runs(searches[0])
        return [_make(by, project, name, key, runs, seen, of_search=True)]
    groups: dict[HistoryKey, list[Run]] = {}
    # A campaign that confirms a change has two versions of a plan, of which the newer one counts.
    # Points of a sweep are no tests that come again.
    versions = Test.objects.filter(pk__in=[test.pk for test in tests], swept="")
    versions = versions.select_related("plan_version").order_by("plan_version__number")
    newest = {(test.campaign_id, HistoryKey.of(test)): test for test in versions}
    rows = (
        counted_of(list(newest.values()))
        .select_related("test__plan_version")
        .annotate(in_turns=ExpressionWrapper(IN_TURNS, BooleanField()))
        .defer("snapshot", "judgement")
    )
    for run in rows.order_by("campaign_id", "position"):
        groups.setdefault(HistoryKey.of(run.test), []).append(run)
    groups = {
        key: runs
        for key, runs in groups.items()
        if len(runs) >= MIN_REPEATS or any(run.in_turns for run in runs)
    }
    if not groups:
        raise Refused(
            f"A baseline needs {MIN_REPEATS} usable runs of a test. Add blocks to this campaign, "
            "or choose another one."
        )
    baselines = [_make(by, project, name, key, runs, seen) for key, runs in groups.items()]
    _judge([pair for baseline in baselines for pair in _newest_of(baseline)])
    return baselines


def _make(
    by: Actor,
    project: Project,
    name: str,
    key: HistoryKey,
    runs: Sequence[Run],
    token: int | None,
    *,
    of_search: bool = False,
) -> Baseline:
    current = Baseline.objects.filter(replaced_at=None, of_search=of_search, **key.columns)
    if token is not None and (newer := current.filter(pk__gt=token).first()):
        raise Refused(_meanwhile(newer.name))
    current.update(replaced_at=Now(), replaced_by=by.user)
    try:
        with transaction.atomic():
            baseline = Baseline.objects.create(
                project=project,
                name=name,
                **key.columns,
                of_search=of_search,
                test=runs[-1].test,
                created_by=by.user,
            )
    except IntegrityError:
        raise Refused(_meanwhile("another one")) from None
    baseline.runs.set(runs)
    return baseline


def _meanwhile(name: str) -> str:
    return (
        f"“{name}” has become the baseline since you opened this. Look at it, then decide "
        "whether to replace it."
    )


def release_baseline(*, by: Actor, baseline: Baseline) -> None:
    """Compare nothing with it any more; then its runs can be deleted. What was said stays."""
    require(by, Action.EDIT, baseline.project)
    current = Baseline.objects.filter(pk=baseline.pk, replaced_at=None)
    current.update(replaced_at=Now(), replaced_by=by.user)


def _newest_of(baseline: Baseline) -> Iterator[tuple[Baseline, Test]]:
    """The newest campaign of the test, so that its history speaks at once."""
    same = HistoryKey.read(baseline).columns
    rows = TestFigures.objects.outside_trash()
    rows = rows.filter(campaign__finished_at__isnull=False, **same)
    newest = rows.order_by("-started_at", "-pk").select_related("test__campaign").first()
    if newest and newest.test.campaign_id != baseline.test.campaign_id:
        yield baseline, newest.test


def judge_by_baselines(campaign: Campaign) -> None:
    """Store what the campaign's tests are against their baselines. May be done any number of
    times."""
    if not hasattr(campaign, "search"):
        _judge(with_baselines(campaign))
        return
    # Once: a search's answer never changes, nor does what was said of it.
    test = campaign.search.campaign.tests.select_related("plan_version").get()
    current = Baseline.objects.filter(
        replaced_at=None, of_search=True, **HistoryKey.of(test).columns
    )
    current = current.exclude(test__campaign=campaign.search.pk).filter(test__isnull=False)
    if baseline := current.select_related("test").first():
        against = against_search(baseline, campaign.search).to_json()
        Search.objects.filter(pk=campaign.search.pk, against__isnull=True).update(against=against)


def _judge(pairs: Sequence[tuple[Baseline, Test]]) -> None:
    """In as many statements for 200 tests as for one."""
    between = [(baseline.test.campaign_id, test.campaign_id) for baseline, test in pairs]
    references = references_between(between)
    triples = zip(pairs, between, against_baselines(pairs), strict=True)
    rows = [
        TestFigures(
            pk=test.pk,
            baseline=baseline,
            against=replace(against, reference=str(references[campaigns] or "")).to_json(),
        )
        for (baseline, test), campaigns, against in triples
    ]
    TestFigures.objects.bulk_update(rows, ["baseline", "against"])


# What follows a change that more campaigns move.
_FOLLOWED = ("since", "since_at", "after_at", "until_at", "before_us", "after_us", "ratio", "low")
_FOLLOWED += ("high", "p_value", "causes")
_LONGEST_NOTE = 10_000


@transaction.atomic
def note_changes(*, campaign_id: int) -> int:
    """Write down the changes in the histories of an ended campaign's tests; how many are new. What
    is missed here, the next campaign of these tests finds."""
    campaign = Campaign.objects.get(pk=campaign_id)
    # One at a time for each project, so that changes which belong together find each other.
    Project.objects.select_for_update(no_key=True).get(pk=campaign.project_id)
    by_key = {key: each for key, each in histories_of(campaign).items() if each.course.changes}
    # What is written down of each test, from the first of its campaigns on; one query for all.
    changes_by_key: dict[HistoryKey, list[TriageChange]] = {key: [] for key in by_key}
    earlier = TriageChange.objects.filter(
        plan__in={key.plan for key in by_key}, endpoint__in={key.endpoint for key in by_key}
    )
    for row in earlier.order_by(F("since").asc(nulls_last=True)):
        key = HistoryKey.read(row)
        if key in by_key and row.since_at >= by_key[key].points[0].at:
            changes_by_key[key].append(row)
    sightings: list[tuple[TestHistory, Change]] = []
    rows: list[TriageChange] = []
    for key, history in by_key.items():
        changes, places = history.course.changes, [point.at for point in history.points]
        same = same_changes(
            [Sighting(each.index, each.earliest, each.latest, each.ratio > 1) for each in changes],
            [
                Sighting(at := bisect_left(places, each.since_at), at, at, each.ratio > 1)
                for each in changes_by_key[key]
            ],
        )
        for number, change in enumerate(changes):
            is_known = number in same
            rows.append(
                changes_by_key[key][same[number]] if is_known else TriageChange(**key.columns)
            )
            sightings.append((history, change))
    for row, (history, change), whole in zip(
        rows, sightings, with_facts_around(sightings), strict=True
    ):
        since = history.points[change.index]
        row.since_id, row.since_at = since.campaign, since.at
        row.after_at, row.until_at = history.range_of(change)
        row.before_us, row.after_us = change.before, change.after
        row.ratio, row.low, row.high = change.ratio, change.low, change.high
        row.p_value = change.p_value
        row.causes = [list(cause) for cause in whole.causes(change)]
    TriageChange.objects.bulk_update([row for row in rows if row.pk], _FOLLOWED)
    new = [row for row in rows if not row.pk]
    _join_entries(campaign.project_id, new)
    return len(new)


def _join_entries(project_id: int, new: Sequence[TriageChange]) -> None:
    """Each joins the newest entry that takes it, or begins one, which later ones may join."""
    endpoints = Endpoint.objects.filter(pk__in={row.endpoint_id for row in new})
    targets = dict(endpoints.values_list("pk", "target_id"))
    waiting = TriageEntry.objects.filter(
        project=project_id, target__in=set(targets.values()), acknowledged_at=None
    )
    waiting = waiting.order_by("pk").prefetch_related("changes")
    entries = [(entry, list(entry.changes.all())) for entry in waiting]
    new_entries = []
    for row in new:
        target = targets[row.endpoint_id]
        takers = (
            (entry, changes)
            for entry, changes in reversed(entries)
            if entry.target_id == target and _takes(changes, row)
        )
        entry, changes = next(takers, (None, []))
        if entry is None:
            entry = TriageEntry(project_id=project_id, target_id=target)
            new_entries.append(entry)
            entries.append((entry, changes))
        changes.append(row)
        row.entry = entry
    TriageEntry.objects.bulk_create(new_entries)
    TriageChange.objects.bulk_create(new)


def _takes(changes: Sequence[TriageChange], new: TriageChange) -> bool:
    """If one of them may have begun at the same time, and none is of the same test."""
    key = HistoryKey.read(new)
    return all(HistoryKey.read(each) != key for each in changes) and any(
        each.after_at < new.until_at and each.until_at > new.after_at for each in changes
    )


def content_of(entry: TriageEntry) -> dict[str, Any]:
    """What people say of it, which an edit of it may replace."""
    return {
        "acknowledged": entry.acknowledged_at is not None,
        "note": entry.note,
        "link": entry.link,
    }


@transaction.atomic
def edit_entry(
    *,
    by: Actor,
    entry: TriageEntry,
    acknowledged: bool | None = None,
    note: str | None = None,
    link: str | None = None,
    opened: str | None = None,
) -> None:
    """Acknowledge the changes or open them again, and keep a note and a link with them. What is
    None stays as it is. Raises Forbidden, InvalidFields, ChangedMeanwhile."""
    require(by, Action.EDIT, entry.project)
    values = {"acknowledged": acknowledged, "note": note, "link": link}
    values = {
        name: storable(each) if isinstance(each, str) else each
        for name, each in values.items()
        if each is not None
    }
    if len(values.get("note", "")) > _LONGEST_NOTE:
        raise InvalidFields({"note": f"Use at most {_LONGEST_NOTE:,} characters."})
    if faults := text_faults(TriageEntry, {"link": values.get("link", "")}):
        raise InvalidFields(faults)
    row = TriageEntry.objects.select_for_update(no_key=True).get(pk=entry.pk)
    content_now = content_of(row)
    content = content_now | values
    check_unchanged(opened, stored=content_now, wanted=content)
    row.note, row.link = content["note"], content["link"]
    if content["acknowledged"] != content_now["acknowledged"]:
        row.acknowledged_at = timezone.now() if content["acknowledged"] else None
        row.acknowledged_by = by.user if content["acknowledged"] else None
    row.save(update_fields=["note", "link", "acknowledged_at", "acknowledged_by"])


def set_mark(
    *,
    by: Actor,
    project: Project,
    text: str,
    at: datetime | None = None,
    link: str = "",
    target: Target | None = None,
    key: str = "",
) -> tuple[TimeMark, bool]:
    """The mark, and whether it is new. `at` is now by default. A mark of the same target with the
    same key is the same mark, and stays as it is. By default the key is the text, with the time if
    one is given: so a job that runs twice leaves one mark. Raises InvalidFields."""
    require(by, Action.EDIT, project)
    text, link = text.strip(), link.strip()
    key = key.strip() or (f"{text} {at.isoformat()}" if at else text)
    text = clean_name(text)
    errors = text_faults(TimeMark, {"text": text, "link": link, "key": key})
    if not text:
        errors["text"] = "Say what happened, such as “version 1.4.2 deployed”."
    if at and not 2000 <= at.year < 2100:  # no page can show the last year of all in every zone
        errors["at"] = "Choose a time in the years 2000 to 2099."
    if target and target.project_id != project.pk:
        errors["target"] = "Choose a target of this project."
    if errors:
        raise InvalidFields(errors)
    return TimeMark.objects.get_or_create(
        project=project,
        target=target,
        key=key,
        defaults={"text": text, "link": link, "at": at or timezone.now(), "created_by": by.user},
    )


@transaction.atomic
def delete_mark(*, by: Actor, mark: TimeMark) -> None:
    """Take a mark off the time axis. No result depends on it."""
    require(by, Action.EDIT, mark.project)
    label = f"mark {mark.pk}: {mark.text}"
    n_deleted, _ = TimeMark.objects.filter(pk=mark.pk).delete()
    if n_deleted:
        audit.note(by, AuditEvent.DELETED, label, project=mark.project)
