"""Searches for a capacity as columns of a comparison: their capacities, never the response times of
their trials, each of which has a rate of its own."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from campaigns.domain.judged.capacity import Ending
from campaigns.domain.judged.capacity_interval import CapacityInterval
from campaigns.domain.judged.capacity_ratio import capacity_ratio
from campaigns.domain.shown.compared import Difference
from campaigns.domain.shown.compared_capacity import ComparedCapacity
from campaigns.models import Search, Test
from campaigns.queries.columns import ComparedColumn
from campaigns.queries.searches import SearchReport, report_of_search

_DIFFERS = "Search with the same objective and plan, then compare."


@dataclass(frozen=True, slots=True)
class SearchColumn:
    """A search that is compared; `test` is its only one."""

    column: ComparedColumn
    report: SearchReport
    test: Test

    @property
    def capacity(self) -> CapacityInterval | None:
        """None as well of a target that drifted, and where only a bound is known."""
        answer, ending = self.report.answer, self.report.ending
        is_bound = ending in (Ending.LIMIT, Ending.INJECTOR)
        return None if is_bound or ending == Ending.DRIFTED else answer.capacity


def searches_among(columns: Sequence[ComparedColumn]) -> dict[str, SearchColumn]:
    """By letter, the columns that are searches. A single trial is a run like any other."""
    wanted = {each.campaign.pk for each in columns if each.noun != "run"}
    found = Search.objects.filter(pk__in=wanted).select_related("campaign")
    reports = {each.pk: report_of_search(each) for each in found}
    if not reports:
        return {}
    related = ("plan_version__plan", "endpoint__target")
    tests = Test.objects.filter(campaign__in=list(reports)).select_related(*related)
    by_campaign = {test.campaign_id: test for test in tests}
    return {
        each.letter: SearchColumn(each, reports[each.campaign.pk], by_campaign[each.campaign.pk])
        for each in columns
        if each.noun != "run" and each.campaign.pk in reports
    }


def compared_capacity(
    baseline: ComparedColumn, candidate: ComparedColumn, searches: Mapping[str, SearchColumn]
) -> ComparedCapacity:
    """Of two columns, of which at least one is a search."""
    sides = [searches.get(each.letter) for each in (baseline, candidate)]
    first, second = (each.capacity if each else None for each in sides)
    forbidden = any(each.forbids for each in _differences(*sides)) if all(sides) else True
    ratio = capacity_ratio(first, second) if first and second and not forbidden else None
    threshold = candidate.campaign.practical_threshold
    return ComparedCapacity(
        candidate.letter,
        first,
        second,
        ratio,
        str(ratio.word(threshold)) if ratio else "",
        "" if ratio else _why(baseline, candidate, searches),
    )


def capacity_differences(
    baseline: ComparedColumn,
    candidates: Sequence[ComparedColumn],
    searches: Mapping[str, SearchColumn],
) -> list[Difference]:
    """What was not alike in two searches, for each candidate."""
    if baseline.letter not in searches:
        return []
    return [
        difference
        for each in candidates
        if each.letter in searches
        for difference in _differences(searches[baseline.letter], searches[each.letter])
    ]


def _why(
    baseline: ComparedColumn, candidate: ComparedColumn, searches: Mapping[str, SearchColumn]
) -> str:
    columns = (baseline, candidate)
    others = [each.name for each in columns if each.letter not in searches]
    if others:
        return f"{others[0]} is no search for a capacity. Compare two searches, or single runs."
    sides = [searches[each.letter] for each in columns]
    if any(each.forbids for each in _differences(*sides)):
        return f"the two did not search for the same. {_DIFFERS}"
    lacking = [
        each.column.name for each in sides if each.capacity is None or each.capacity.low is None
    ]
    has = "has" if len(lacking) == 1 else "have"
    return f"{' and '.join(lacking)} {has} no capacity with an interval. Search again."


def _differences(baseline: SearchColumn, candidate: SearchColumn) -> Iterator[Difference]:
    """A verdict takes the same objective and plan; all else is part of what is compared."""
    for name, of, forbids in _FACTS:
        one, other = of(baseline), of(candidate)
        if one != other:
            yield Difference(name, candidate.column.letter, one, other, forbids=forbids)


def _objective(side: SearchColumn) -> str:
    return ", ".join(rule.rule for rule in side.report.rules)


def _plan(side: SearchColumn) -> str:
    return side.test.plan_version.plan.name


def _version(side: SearchColumn) -> str:
    return f"v{side.test.plan_version.number}"


def _endpoint(side: SearchColumn) -> str:
    return str(side.test.endpoint)


def _mode(side: SearchColumn) -> str:
    return side.test.connection_mode


def _injectors(side: SearchColumn) -> str:
    return str(side.test.injectors)


def _trial(side: SearchColumn) -> str:
    return f"{side.report.search.trial_s:g} s"


_FACTS = (
    ("objective", _objective, True),
    ("plan", _plan, True),
    ("version of the plan", _version, False),
    ("endpoint", _endpoint, False),
    ("connections", _mode, False),
    ("injector processes", _injectors, False),
    ("one trial", _trial, False),
)
