"""Searches for a capacity against each other, in comparisons, baselines and histories: by their
capacities, never by the response times of their trials, each of which has a rate of its own."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from campaigns.compare.queries.columns import ComparisonSide
from campaigns.core.permissions import Actor
from campaigns.domain.analysis.capacity import (
    CapacityAnswer,
    CapacityInterval,
    CapacityWord,
    capacity_ratio,
    capacity_word,
    has_kept_more,
)
from campaigns.domain.analysis.messages import advise, say
from campaigns.domain.analysis.ratio import Against
from campaigns.domain.presentation.capacity_words import capacity_text
from campaigns.domain.presentation.compared import ComparedCapacity, Difference
from campaigns.domain.units import DASH
from campaigns.history.models import HistoryKey
from campaigns.models import Baseline, Run, Search, Test
from campaigns.search.queries import SearchReport, report_of_search

_MOST_SEARCHES = 50  # of one history, the newest


@dataclass(frozen=True, slots=True)
class SearchColumn:
    """A search that is compared; `test` is its only one. Its report has no trials."""

    column: ComparisonSide
    report: SearchReport
    test: Test

    @property
    def capacity(self) -> CapacityInterval | None:
        return self.report.capacity

    @property
    def text(self) -> str:
        return capacity_text(self.report.answer, self.capacity)


def searches_among(columns: Sequence[ComparisonSide]) -> dict[str, SearchColumn]:
    """By letter, the columns that are searches. A single trial is a run like any other."""
    pks = {each.campaign.pk for each in columns if each.noun != "run"}
    rows = Search.objects.filter(pk__in=pks).select_related("campaign")
    by_campaign = {each.report.search.pk: each for each in search_columns(rows)}
    return {
        each.letter: replace(by_campaign[each.campaign.pk], column=each)
        for each in columns
        if each.noun != "run" and each.campaign.pk in by_campaign
    }


def search_columns(searches: Iterable[Search]) -> list[SearchColumn]:
    """Each with its campaign as the column; in two queries, if all have their answers stored."""
    by_pk = {each.pk: each for each in searches}
    if not by_pk:
        return []
    relations = ("plan_version__plan", "endpoint__target")
    tests = Test.objects.filter(campaign__in=by_pk).select_related(*relations)
    by_campaign = {test.campaign_id: test for test in tests}
    firsts = Run.objects.filter(campaign__in=by_pk, repeat=1)
    rules = {run.campaign_id: run.frozen.plan.thresholds for run in firsts}
    columns = []
    for pk, each in by_pk.items():
        if each.answer is None:
            report = report_of_search(each)
        else:  # without its trials
            answer = CapacityAnswer.from_json(each.answer)
            report = SearchReport(each, [], answer, rules.get(pk, ()), answer.ending)
        side = ComparisonSide("", "campaign", each.campaign)
        columns.append(SearchColumn(side, report, by_campaign[pk]))
    return columns


def searches_of(actor: Actor, key: HistoryKey) -> list[SearchColumn]:
    """The searches of a test that have ended, newest first."""
    rows = Search.objects.visible_to(actor).filter(
        ending__isnull=False,
        campaign__tests__plan_version__plan=key.plan,
        campaign__tests__endpoint=key.endpoint,
        campaign__tests__connection_mode=key.connection_mode,
        campaign__tests__injectors=key.injectors,
    )
    newest = rows.select_related("campaign").order_by("-campaign__started_at", "-pk")
    return search_columns(newest[:_MOST_SEARCHES])


def over_time(
    columns: Sequence[SearchColumn],
) -> list[tuple[SearchColumn, SearchColumn | None, ComparedCapacity | None]]:
    """Each, newest first, with the one before it that found a capacity for the same objective, and
    what it is against that; None without such a one."""
    comparisons = []
    for place, each in enumerate(columns):
        earlier = (
            other
            for other in columns[place + 1 :]
            if other.capacity is not None
            and other.capacity.low is not None
            and not any(fact.forbids for fact in _differences(other, each))
        )
        before = next(earlier, None)
        comparisons.append((each, before, before and _between(before, each)))
    return comparisons


def against_search(baseline: Baseline, search: Search) -> Against:
    both = Search.objects.filter(pk__in=[baseline.test.campaign_id, search.pk])
    columns = {each.report.search.pk: each for each in search_columns(both)}
    comparison = _between(columns[baseline.test.campaign_id], columns[search.pk])
    ends = (
        (comparison.ratio.ratio, comparison.ratio.low, comparison.ratio.high)
        if comparison.ratio
        else ()
    )
    why = f"{comparison.why[:1].upper()}{comparison.why[1:]}"
    return Against(baseline.name, "capacity", comparison.word, why, *ends)


def compared_capacity(
    baseline: ComparisonSide, candidate: ComparisonSide, searches: Mapping[str, SearchColumn]
) -> ComparedCapacity:
    """Of two columns, of which at least one is a search."""
    sides = [searches.get(each.letter) for each in (baseline, candidate)]
    if all(sides):
        return _between(*sides)
    first, second = (each.capacity if each else None for each in sides)
    texts = tuple(each.text if each else DASH for each in sides)
    other = next(each for each in (baseline, candidate) if each.letter not in searches)
    why = advise("no_search", first=other.name)
    return ComparedCapacity(candidate.letter, first, second, None, "", why, texts)


def _between(baseline: SearchColumn, candidate: SearchColumn) -> ComparedCapacity:
    first, second = baseline.capacity, candidate.capacity
    forbidden = any(each.forbids for each in _differences(baseline, candidate))
    ratio = capacity_ratio(first, second) if first and second and not forbidden else None
    why, texts = "", (baseline.text, candidate.text)
    rates = {"ours": candidate.text, "theirs": baseline.text}
    if ratio:
        word = capacity_word(ratio, candidate.column.campaign.practical_threshold)
    elif not forbidden and has_kept_more(candidate.report.answer, first):
        word, why = CapacityWord.MORE, say("bounded_rates", **rates)
    elif not forbidden and has_kept_more(baseline.report.answer, second):
        word, why = CapacityWord.LESS, say("bounded_rates", **rates)
    else:
        word, why = "", _why(baseline, candidate)
    return ComparedCapacity(candidate.column.letter, first, second, ratio, str(word), why, texts)


def capacity_differences(
    baseline: ComparisonSide,
    candidates: Sequence[ComparisonSide],
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


def _why(*sides: SearchColumn) -> str:
    if any(each.forbids for each in _differences(*sides)):
        return advise("unlike_searches")
    lacking = [
        each.column.name for each in sides if each.capacity is None or each.capacity.low is None
    ]
    has = "has" if len(lacking) == 1 else "have"
    return advise("no_interval_of", names=" and ".join(lacking), has=has)


def _differences(baseline: SearchColumn, candidate: SearchColumn) -> Iterator[Difference]:
    """A verdict takes the same objective and plan; all else is part of what is compared."""
    for name, of, forbids in _FACTS:
        one, other = of(baseline), of(candidate)
        if one != other:
            yield Difference(name, candidate.column.letter, one, other, forbids=forbids)


_FACTS: tuple[tuple[str, Callable[[SearchColumn], str], bool], ...] = (
    ("objective", lambda side: ", ".join(rule.rule for rule in side.report.rules), True),
    ("plan", lambda side: side.test.plan_version.plan.name, True),
    ("version of the plan", lambda side: f"v{side.test.plan_version.number}", False),
    ("endpoint", lambda side: str(side.test.endpoint), False),
    ("connections", lambda side: side.test.connection_mode, False),
    ("injector processes", lambda side: str(side.test.injectors), False),
    ("one trial", lambda side: f"{side.report.search.trial_s:g} s", False),
)
