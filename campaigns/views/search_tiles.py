"""The tiles of a search's page, and where its trials passed and failed side by side."""

from dataclasses import dataclass

from django.utils import timezone

from campaigns.domain.judged.busy import Busy
from campaigns.domain.judged.capacity import Ending, TrialResult
from campaigns.domain.shown.capacity_limiter import Limiter
from campaigns.domain.shown.capacity_words import lacks_its_rule, objective_words
from campaigns.domain.units import DASH, duration, percent, rate
from campaigns.queries.searches import MadeTrial, SearchReport

_REQUESTS = "requests/s"


@dataclass(frozen=True, slots=True)
class SearchTile:
    title: str
    value: str
    unit: str
    lines: tuple[str, ...]


def search_tiles(
    report: SearchReport, limiter: Limiter, near: Busy, now_per_s: float | None
) -> list[SearchTile]:
    """`near`: how busy everyone was near the answer."""
    tiles = [_capacity(report), _trials(report), _time(report)]
    if now_per_s:
        words = objective_words(report.rules)
        tiles.insert(1, SearchTile("Now trying", rate(now_per_s), _REQUESTS, (words,)))
    lines = (limiter.why, *_near(report, near))
    return [*tiles, SearchTile("What limited it", limiter.word, "", lines)]


def _near(report: SearchReport, near: Busy) -> tuple[str, ...]:
    told = [("target CPU", near.target_cpu), ("injector CPU", near.injector_cpu)]
    words = [f"{name} {percent(share, decimals=0)}" for name, share in told if share is not None]
    return (f"{_where_it_was(report)}: {', '.join(words)}",) if words else ()


def _where_it_was(report: SearchReport) -> str:
    """Of which trials it is, see `near_the_answer`."""
    if report.ending == Ending.INJECTOR:
        return "in trials that do not count"
    if report.capacity:
        return "near the limit"
    passed = bool(_trials_with(report, TrialResult.PASSED))
    return "at the highest rate that passed" if passed else "in the trial that failed"


def _capacity(report: SearchReport) -> SearchTile:
    found, least, below = report.answer.capacity, report.answer.at_least, report.answer.below
    words = objective_words(report.rules)
    is_bound = report.ending in (Ending.LIMIT, Ending.INJECTOR) and least
    if report.ending == Ending.DRIFTED:
        return SearchTile("Capacity", DASH, "", ("no steady answer", words))
    if lacks_its_rule(report.answer):
        return SearchTile("Capacity", DASH, "", ("made under an earlier rule", words))
    if found and found.low is not None and not is_bound:
        interval = f"{rate(found.low)} to {rate(found.high)}, {percent(found.width)} wide"
        return SearchTile("Capacity", rate(found.rate_per_s), _REQUESTS, (interval, words))
    if found and not is_bound:
        line = f"no interval: {len(report.answer.searches)} of at least 3 searches"
        return SearchTile("Capacity", f"≈ {rate(found.rate_per_s)}", _REQUESTS, (line, words))
    if least:
        line = f"the lowest that failed: {rate(below)}" if below else "no rate failed"
        return SearchTile("Capacity", f"≥ {rate(least)}", _REQUESTS, (line, words))
    if below:
        return SearchTile("Capacity", f"< {rate(below)}", _REQUESTS, (words,))
    return SearchTile("Capacity", DASH, "", (words,))


def _trials(report: SearchReport) -> SearchTile:
    results = [each.trial.result for each in report.made]
    passed, failed, doubtful = (results.count(each) for each in TrialResult)
    lines = (f"{passed} passed, {failed} failed", f"{doubtful} not counted" if doubtful else "")
    return SearchTile("Trials", str(len(results)), "", tuple(filter(None, lines)))


def _time(report: SearchReport) -> SearchTile:
    campaign = report.search.campaign
    began = campaign.started_at
    took = ((campaign.finished_at or timezone.now()) - began).total_seconds()
    longest = (report.search.deadline - began).total_seconds()
    lines = (f"of at most {duration(round(longest))}", f"each trial {report.search.trial_s:g} s")
    return SearchTile("Time", duration(round(took)), "", lines)


def overlap_of(report: SearchReport) -> tuple[str, str] | None:
    """The rates between which trials passed and failed side by side; None if there are none."""
    lowest = min(map(_rate, _trials_with(report, TrialResult.FAILED)), default=None)
    highest = max(map(_rate, _trials_with(report, TrialResult.PASSED)), default=None)
    if lowest is None or highest is None or highest < lowest:
        return None
    return rate(lowest), rate(highest)


def _trials_with(report: SearchReport, result: TrialResult) -> list[MadeTrial]:
    return [each for each in report.made if each.trial.result == result]


def _rate(made: MadeTrial) -> float:
    return made.trial.rate_per_s
