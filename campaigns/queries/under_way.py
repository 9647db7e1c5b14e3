"""What the dispatcher may have to act on, in one statement that counts nothing: it is asked five
times a second, however much is queued, and whatever has ended.
"""

from enum import StrEnum
from functools import cache

from django.db.models import CharField, QuerySet, Value

from campaigns.domain.lifecycle import RunState
from campaigns.models import Campaign, Probe, Run, Search
from campaigns.models.campaigns import UNDER_WAY
from campaigns.queries.load_control import Compiled


class Waiting(StrEnum):
    """Beside the states of runs."""

    CAMPAIGN = "a started campaign that is not finished"
    FIRST_REQUESTS = "a started campaign whose runs may not begin yet"
    REQUEST = "a single request without its result"
    SEARCH = "a search that has not ended"


def under_way() -> frozenset[str]:
    """The states but done that any run is in, and what else is `Waiting`."""
    return frozenset(word for (word,) in _statement().rows())


@cache
def _statement() -> Compiled:
    going_on = Campaign.objects.filter(UNDER_WAY)
    first, *others = (
        *(
            _exists(Run.objects.filter(state=each), each)
            for each in RunState
            if each != RunState.DONE
        ),
        _exists(going_on, Waiting.CAMPAIGN),
        _exists(going_on.filter(opened_at=None, stop_requested_at=None), Waiting.FIRST_REQUESTS),
        _exists(Probe.objects.filter(finished_at=None), Waiting.REQUEST),
        _exists(Search.objects.filter(ending=None), Waiting.SEARCH),
    )
    return Compiled(first.union(*others, all=True))


def _exists(rows: QuerySet, word: str) -> QuerySet:
    return rows.order_by().values_list(Value(str(word), output_field=CharField()))[:1]
