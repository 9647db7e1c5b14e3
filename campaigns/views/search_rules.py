"""How a search goes about it, as a list beside its drawing: objective, one trial, limits, end."""

from collections import Counter

from campaigns.domain.judged.capacity import MOST_SEARCHES, NARROW, Ending, TrialResult
from campaigns.domain.shown.capacity_words import objective_words
from campaigns.domain.units import duration, percent, rate
from campaigns.queries.searches import SearchReport


def search_rules(report: SearchReport, warm_up_s: float) -> list[tuple[str, str]]:
    """[(what, words)]"""
    search = report.search
    measured = f"{duration(search.trial_s)} measured"
    return [
        ("Objective", objective_words(report.rules)),
        ("One trial", f"{duration(warm_up_s)} warm-up, {measured}" if warm_up_s else measured),
        ("After a failed trial", "waits until the first request is answered again"),
        ("Trials", _trials(report)),
        ("Starts at", f"{rate(search.start_per_s)} requests/s"),
        ("Never above", f"{rate(search.limit_per_s)} requests/s"),
        ("Ends", _end(report)),
    ]


def _trials(report: SearchReport) -> str:
    n = Counter(each.trial.result for each in report.made)
    doubtful = n[TrialResult.UNTRUSTED]
    left = f", {doubtful} not counted" if doubtful else ""
    return f"{n[TrialResult.PASSED]} passed, {n[TrialResult.FAILED]} failed{left}"


def _end(report: SearchReport) -> str:
    found, asked = report.answer.capacity, percent(NARROW, decimals=0)
    if report.ending == Ending.FOUND and found and found.low is not None:
        return f"interval {percent(found.width)} wide, asked for {asked}"
    latest = f"{report.search.deadline:%H:%M} UTC"
    if report.ending is None:
        return f"interval at most {asked} wide, {MOST_SEARCHES} searches, or {latest}"
    return f"at the latest {latest}"
