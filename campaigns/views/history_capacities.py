"""The rows of the searches for a test's capacity, and the newest in a sentence."""

from dataclasses import dataclass

from django.urls import reverse

from campaigns.domain.judged.capacity import Ending
from campaigns.domain.shown.capacity_words import bound_words, objective_words
from campaigns.domain.shown.compared_capacity import ComparedCapacity, capacity_words
from campaigns.domain.shown.results import Sentence
from campaigns.domain.units import DASH
from campaigns.models import Campaign
from campaigns.permissions import Actor
from campaigns.queries.compared_searches import SearchColumn, over_time, searches_of
from campaigns.queries.history import HistoryKey

_NOT_STEADY = "not steady"


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """A search; `against` is what it is against the comparable one before it."""

    campaign: Campaign
    objective: str
    capacity: str
    against: ComparedCapacity | None
    compare: str


def capacity_rows(actor: Actor, key: HistoryKey) -> list[CapacityRow]:
    return [_row(*each) for each in over_time(searches_of(actor, key))]


def capacity_history_sentence(rows: list[CapacityRow]) -> Sentence:
    """Of a test that has been in searches only."""
    newest = rows[0]
    if newest.capacity == DASH:
        return [("The newest search found no capacity", True), (f" for {newest.objective}.", False)]
    unit = "" if newest.capacity == _NOT_STEADY else " requests/s"
    said = [
        (f"Capacity {newest.capacity}{unit}", True),
        (f" in the newest search, for {newest.objective}", False),
    ]
    if newest.against and newest.against.word:
        change = f"{newest.against.word}, {newest.against.change_words}"
        return [*said, (f": {change} against the one before.", False)]
    return [*said, (".", False)]


def _row(search: SearchColumn, before: SearchColumn | None, found: ComparedCapacity | None):
    campaign = search.column.campaign
    columns = f"a=campaign-{before.column.campaign.pk}&b=campaign-{campaign.pk}" if before else ""
    return CapacityRow(
        campaign,
        objective_words(search.report.rules),
        _said(search),
        found,
        f"{reverse('comparison')}?{columns}",
    )


def _said(search: SearchColumn) -> str:
    """1,850 (1,790 to 1,910), or what is known without it; a dash for nothing."""
    if search.capacity is not None:
        return capacity_words(search.capacity)
    answer = search.report.answer
    return _NOT_STEADY if answer.ending == Ending.DRIFTED else bound_words(answer) or DASH
