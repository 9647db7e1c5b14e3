"""Triage of changes: written down when a campaign has ended, then judged by people.

A change is known by its test (plan, endpoint, connection mode, injectors) and the campaign with
which the new level begins, so it can be written down any number of times. If more campaigns move
it, it is followed (`domain.judged.triage.same_changes`). A new change joins the newest entry of its
target whose range overlaps its own, if nobody has closed that and it has no change of the same test
yet; otherwise it is an entry of its own. What is no longer found stays, for people to judge.
"""

import logging
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, F, OuterRef

from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.judged.changes import Change
from campaigns.domain.judged.histories import TestHistory
from campaigns.domain.judged.triage import (
    NEEDS_WHY,
    TAKES_MORE,
    Sighting,
    TriageState,
    same_changes,
)
from campaigns.models import Campaign, Endpoint, Project, TriageChange, TriageEntry, TriageNote
from campaigns.permissions import Action, Actor, require
from campaigns.queries.history import HistoryKey, histories_of, with_facts_around

logger = logging.getLogger(__name__)

_FOLLOWED = ("since", "since_at", "after_at", "until_at", "before_us", "after_us", "ratio", "low")
_FOLLOWED += ("high", "p_value", "causes")
_LONGEST_WHY, _LONGEST_LINK = 2000, 500


def note_changes_safely(*, campaign_id: int) -> None:
    """The same, where a failure must not keep anything else from ending: the next campaign of
    these tests finds what is missed here."""
    try:
        note_changes(campaign_id=campaign_id)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("The changes after campaign %s were not noted", campaign_id)


@transaction.atomic
def note_changes(*, campaign_id: int) -> int:
    """Write down the changes in the histories of an ended campaign's tests; how many are new."""
    campaign = Campaign.objects.get(pk=campaign_id)
    # One at a time for each project, so that changes which belong together find each other.
    Project.objects.select_for_update(no_key=True).get(pk=campaign.project_id)
    found = {key: each for key, each in histories_of(campaign).items() if each.course.changes}
    known = _known(found)
    moved, new = [], []
    for key, history in found.items():
        same = _same(history, known[key])
        for index, change in enumerate(history.course.changes):
            if index not in same:
                new.append((key, history, change))
            elif _follow(known[key][same[index]], history, change):
                moved.append(known[key][same[index]])
    TriageChange.objects.bulk_update(moved, _FOLLOWED)
    for key, history, change in new:
        _write(campaign.project_id, key, history, change)
    return len(new)


def _known(found: Mapping[HistoryKey, TestHistory]) -> dict[HistoryKey, list[TriageChange]]:
    """What is written down of each test, from the first of its campaigns on; one query for all."""
    known: dict[HistoryKey, list[TriageChange]] = {key: [] for key in found}
    rows = TriageChange.objects.filter(
        plan__in={key.plan for key in found}, endpoint__in={key.endpoint for key in found}
    )
    for row in rows.order_by(F("since").asc(nulls_last=True)):
        key = HistoryKey(row.plan_id, row.endpoint_id, row.connection_mode, row.injectors)
        if key in found and row.since_at >= found[key].points[0].at:
            known[key].append(row)
    return known


def _same(history: TestHistory, known: Sequence[TriageChange]) -> dict[int, int]:
    places = [point.at for point in history.points]
    before = [_known_place(each, places) for each in known]
    return same_changes([_place(each) for each in history.course.changes], before)


def _test(key: HistoryKey) -> dict[str, int | str]:
    return {
        "plan_id": key.plan,
        "endpoint_id": key.endpoint,
        "connection_mode": key.connection_mode,
        "injectors": key.injectors,
    }


def _place(change: Change) -> Sighting:
    return Sighting(change.index, change.earliest, change.latest, change.ratio > 1)


def _known_place(change: TriageChange, places: Sequence) -> Sighting:
    index = bisect_left(places, change.since_at)
    return Sighting(index, index, index, change.ratio > 1)


def _follow(known: TriageChange, history: TestHistory, change: Change) -> bool:
    """Whether more campaigns have moved it; then it has its new values, not yet stored."""
    values = _values(history, change)
    if all(getattr(known, name) == value for name, value in values.items()):
        return False
    if known.since_id != values["since_id"]:
        values |= _causes(history, change)
    for name, value in values.items():
        setattr(known, name, value)
    return True


def _write(project_id: int, key: HistoryKey, history: TestHistory, change: Change) -> None:
    values = {**_values(history, change), **_causes(history, change)}
    target_id = Endpoint.objects.values_list("target_id", flat=True).get(pk=key.endpoint)
    of_this_test = TriageChange.objects.filter(entry=OuterRef("pk"), **_test(key))
    entry = (
        TriageEntry.objects.filter(project=project_id, target=target_id, state__in=TAKES_MORE)
        .filter(changes__after_at__lt=values["until_at"], changes__until_at__gt=values["after_at"])
        .exclude(Exists(of_this_test))
        .order_by("-pk")
        .first()
    )
    if entry is None:
        entry = TriageEntry.objects.create(project_id=project_id, target_id=target_id)
    TriageChange.objects.create(entry=entry, **_test(key), **values)


def _values(history: TestHistory, change: Change) -> dict:
    points = history.points
    return {
        "since_id": points[change.index].campaign,
        "since_at": points[change.index].at,
        "after_at": points[history.before(change)].at,
        "until_at": points[change.latest].at,
        "before_us": change.before,
        "after_us": change.after,
        "ratio": change.ratio,
        "low": change.low,
        "high": change.high,
        "p_value": change.p_value,
    }


def _causes(history: TestHistory, change: Change) -> dict:
    return {"causes": [list(cause) for cause in with_facts_around(history, change).causes(change)]}


@transaction.atomic
def judge_changes(
    *, by: Actor, entry: TriageEntry, state: str, seen: str, why: str = "", link: str = ""
) -> None:
    """Give the entry a state, or say more about the one that it has. `seen` is the state on which
    this was decided: Refused if somebody has changed it since. Raises Forbidden, InvalidFields."""
    require(by, Action.EDIT, entry.project)
    why, link = why.strip(), link.strip()
    _check(state, seen, why, link)
    if not TriageEntry.objects.filter(pk=entry.pk, state=seen).update(state=state):
        raise Refused(
            "Somebody has changed the state since you opened this. Read it and try again."
        )
    TriageNote.objects.create(entry=entry, state=state, by=by.user, why=why, link=link)


def _check(state: str, seen: str, why: str, link: str) -> None:
    if state not in list(TriageState):
        raise InvalidFields({"state": f"Choose one of {', '.join(TriageState)}."})
    if state in NEEDS_WHY and state != seen and not why:
        raise InvalidFields({"why": "Say why, so that others need not find out again."})
    if state == seen and not (why or link):
        raise InvalidFields({"state": "Choose another state, or say more about this one."})
    if len(why) > _LONGEST_WHY:
        raise InvalidFields({"why": f"Use at most {_LONGEST_WHY} characters."})
    if link and not _is_address(link):
        raise InvalidFields({"link": "Give an address that begins with https:// or http://."})


def _is_address(link: str) -> bool:
    try:
        parts = urlsplit(link)
    except ValueError:
        return False
    return len(link) <= _LONGEST_LINK and parts.scheme in {"http", "https"} and bool(parts.netloc)
