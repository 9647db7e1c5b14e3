"""What the lists share: what an address asks for, the chips of its filters, a page of the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from django.utils import timezone

from campaigns.core.access import actor_of
from campaigns.core.pages import page_of
from campaigns.core.permissions import Actor
from campaigns.domain.lifecycle import TargetState, Trust
from campaigns.items.queries.filters import ListFilterSet, ordered

PAGE_SIZE = 100
SINCE_DAYS = {"1": "Last 24 hours", "7": "Last 7 days", "30": "Last 30 days", "90": "Last 90 days"}
# Of parameters, in addresses of earlier releases.
_OLD_NAMES = {"name": "search", "sort": "ordering"}


# What a result was judged to be, of a run or of a campaign.
MEASUREMENTS = {each: each.words.capitalize() for each in Trust}
TARGET_STATES = {each: each.capitalize() for each in TargetState}
PRECISIONS = {"none": "No figures", "coarse": "Too few requests for a p99", "fine": "Up to p99"}


@dataclass(slots=True)
class Chip:
    """A filter that people choose: its parameter, and pairs of value and words. `of_result`: it is
    behind the chip of that name."""

    name: str
    title: str
    options: Sequence[tuple[Any, str]]
    of_result: bool = False
    value: str = ""
    without: str = ""  # the address without it

    @property
    def words(self) -> str:
        words_by_value = {str(value): words for value, words in self.options}
        return words_by_value.get(self.value, self.value)


def since_chip() -> Chip:
    return Chip("since", "Any time", list(SINCE_DAYS.items()))


def result_chips() -> list[Chip]:
    return [
        Chip("measurement", "Reliability", list(MEASUREMENTS.items()), of_result=True),
        Chip("target_state", "Target", list(TARGET_STATES.items()), of_result=True),
        Chip("precision", "Precision", list(PRECISIONS.items()), of_result=True),
    ]


def asked_of(request: HttpRequest) -> QueryDict:
    """The parameters of the address, by their names of today."""
    params = request.GET.copy()
    for old, name in _OLD_NAMES.items():
        if old in params and name not in params:
            params[name] = params.pop(old)[-1]
    return params


def filter_rows(actor: Actor, filters: type[ListFilterSet], rows: QuerySet, params: QueryDict):
    """The filters with the rows that they leave. What has no value is ignored."""
    if (days := params.get("since")) in SINCE_DAYS:
        params = params.copy()
        params["since"] = (timezone.now() - timedelta(days=int(days))).isoformat()
    return filters(params, rows, actor=actor)


def list_context(
    request: HttpRequest,
    filters: type[ListFilterSet],
    rows: QuerySet,
    chips: Sequence[Chip],
    *,
    nouns: str,
    finds: str = "",
    ordering: str = "",
    n_rows: int | None = None,
    size: int | None = None,
) -> dict[str, Any]:
    """A page of the rows that the filters leave. `nouns`: of rows; `finds`: what a search looks
    into, "" for no search. `ordering`: where the address has none. `n_rows`: how many there are,
    where that is known."""
    actor, params = actor_of(request), asked_of(request)
    filterset = filter_rows(actor, filters, rows, params)
    filterset.form.is_valid()
    values = {name: value for name, value in filterset.form.cleaned_data.items() if value}
    narrowing = [name for name in ("search", *(chip.name for chip in chips)) if name in values]
    for chip in chips:
        if chip.name in values:
            chip.value, chip.without = params[chip.name], _without(params, chip.name)
    rows_left = filterset.qs
    if ordering and "ordering" not in values:
        rows_left = ordered(rows_left, ordering)
    page = page_of(
        rows_left, size or PAGE_SIZE, params.get("page", ""), None if narrowing else n_rows
    )
    ways_out = []
    if not page.count:
        words = {"search": f"“{params.get('search')}”", **{chip.name: chip.words for chip in chips}}
        for name in narrowing:
            query = params.copy()
            query.pop(name)
            if n := filter_rows(actor, filters, rows, query).qs.count():
                ways_out.append((words[name], n, _without(params, name)))
    return {
        "page": page,
        "nouns": nouns,
        "finds": finds,
        "chips": chips,
        "has_result_chips": any(chip.of_result for chip in chips),
        "is_of_result": any(chip.of_result and chip.value for chip in chips),
        "searched": params.get("search", ""),
        "ordering": values.get("ordering", ordering),
        "chosen": values,
        "is_filtered": bool(narrowing),
        "ways_out": ways_out,
        # What the form of the filters sends along.
        "along": [(name, params[name]) for name in _ALONG if params.get(name)],
    }


_ALONG = ("view", "ordering", "active", "campaign", "test")


def _without(params: QueryDict, name: str) -> str:
    query = params.copy()
    for each in (name, "page"):
        query.pop(each, None)
    return f"?{query.urlencode()}"
