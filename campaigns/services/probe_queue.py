"""The queue of single requests: whose turn it is, and what ends without one.

Each project has two lanes: its campaigns' first requests, which come before all others, and what
its people try. A lane with nothing under way gets the next free slot; the longer a lane already
holds slots, the more have to be free for another one. So servers that say nothing never hold all.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F, Q, Window
from django.db.models.functions import RowNumber

from campaigns.models import Probe
from campaigns.models.dbtime import db_now
from campaigns.queries.load_control import LOAD_IS_OFF, why_load_is_off
from campaigns.queries.probes import GIVEN_UP_AFTER, words_of_queue
from campaigns.services.dispatch import lock_admission
from campaigns.services.probes import ANSWER_WITHIN_S, claim_probe, finish_probe

# Each slot is an injector process of some 40 MB. A lane that is alone gets 8 (`AT_ONCE`).
SLOTS, RESERVED = 20, 4
# Later there is no time for an answer within GIVEN_UP_AFTER. Nobody expects it any more, either.
SENT_WITHIN_S = GIVEN_UP_AFTER.total_seconds() - ANSWER_WITHIN_S
_STORED_WITHIN_S = 10
_DIED = "The dispatcher stopped before it had an answer. Try again."
_LATE = "Not sent within {:.0f} s: {} Try again."
_STOPPED = "The campaign was stopped before the reply was there."


class Lane(NamedTuple):
    project: int
    is_first: bool


def lane_of(probe: Probe) -> Lane:
    return Lane(probe.endpoint.target.project_id, probe.campaign_id is not None)


def claim_in_turn(*, busy: Collection[Probe], most: int = SLOTS) -> list[Probe]:
    """Claim up to `most` requests whose turn it is; `busy` are those that have a slot already.
    None while load is off."""
    if most <= 0 or len(busy) >= SLOTS or not (waiting := _waiting()):
        return []
    with transaction.atomic():
        # Whoever switches load off holds this lock too: nothing is claimed after that.
        lock_admission()
        if why_load_is_off():
            return []
        taken = Counter(map(lane_of, busy))
        chosen: list[int] = []
        free = SLOTS - taken.total()
        while len(chosen) < most:
            able = [lane for lane, pks in waiting.items() if pks and _may(taken[lane], free)]
            if not able:
                break
            lane = min(able, key=lambda each: (not each.is_first, taken[each], waiting[each][0]))
            chosen.append(waiting[lane].popleft())
            taken[lane] += 1
            free -= 1
        return [claimed for pk in chosen if (claimed := claim_probe(probe_id=pk))]


def _waiting() -> dict[Lane, deque[int]]:
    """The oldest of each lane, as many as there are slots."""
    is_first = Q(campaign__isnull=False)
    in_time = is_first | Q(requested_at__gt=db_now(-SENT_WITHIN_S))
    project = F("endpoint__target__project")
    place = Window(RowNumber(), partition_by=[project, is_first], order_by="pk")
    found = Probe.objects.filter(in_time, finished_at=None, claimed_at=None)
    heads = found.annotate(place=place).filter(place__lte=SLOTS).order_by("pk")
    lanes: dict[Lane, deque[int]] = defaultdict(deque)
    for pk, project_id, campaign in heads.values_list("pk", project, "campaign"):
        lanes[Lane(project_id, campaign is not None)].append(pk)
    return lanes


def _may(n_taken: int, free: int) -> bool:
    """Whether a lane that holds so many slots may have one more of the free ones."""
    return free > (n_taken + RESERVED if n_taken else 0)


def unwanted(*, asked: Collection[int]) -> dict[int, dict[str, Any]]:
    """Of the requests under way those to end, each with its result: nobody waits for it any more,
    or load was switched off. Then campaigns that go on, as while load is drained, get theirs."""
    wanted = Probe.objects.filter(pk__in=asked, finished_at=None)
    found = dict(wanted.values_list("pk", "campaign__stop_requested_at"))
    ended = {pk: _ended(_STOPPED) for pk in asked if found.get(pk, True)}
    if why_load_is_off():
        singles = wanted.filter(campaign=None).values_list("pk", flat=True)
        ended |= {pk: _ended(LOAD_IS_OFF) for pk in singles}
    return ended


def died() -> dict[str, Any]:
    """The result of one under way when the dispatcher ended."""
    return _ended(_DIED)


def expire_probes() -> int:
    """Give overdue requests a result that says why; returns their number. A campaign's first
    requests wait for their turn as long as it takes; one that was being sent when the dispatcher
    died waits for no more than what a living one needs."""
    unfinished = Probe.objects.filter(finished_at=None)
    lost = unfinished.filter(claimed_at__lt=db_now(-ANSWER_WITHIN_S - _STORED_WITHIN_S))
    ended = {pk: died() for pk in lost.values_list("pk", flat=True)}
    unsent = unfinished.filter(campaign=None, claimed_at=None)
    if why_load_is_off():
        ended |= {pk: _unsent(LOAD_IS_OFF) for pk in unsent.values_list("pk", flat=True)}
    else:
        late = unsent.filter(requested_at__lte=db_now(-SENT_WITHIN_S))
        for probe in late.select_related("endpoint__target"):
            ended[probe.pk] = _unsent(_LATE.format(SENT_WITHIN_S, words_of_queue(probe)))
    return sum(finish_probe(probe_id=pk, result=result) for pk, result in ended.items())


def _unsent(why: str) -> dict[str, Any]:
    return {"type": "probe", "error": "client_other", "detail": why, "not_sent": True}


def _ended(why: str) -> dict[str, Any]:
    return {"type": "probe", "error": "client_other", "detail": why, "ended": True}
