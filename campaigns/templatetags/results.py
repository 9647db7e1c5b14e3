"""Words of campaign and run pages: durations, arms, names, and parts of names."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from math import ceil

from django import template
from django.utils import timezone

from campaigns.domain.plan.target import SCHEMES
from campaigns.domain.presentation.cost_words import duration_words, requests_words
from campaigns.domain.presentation.sentences import MODES, plain_text
from campaigns.domain.units import second_text
from campaigns.models import Campaign, NamedTest, Run, without_references

register = template.Library()
register.filter("plain_words", plain_text)
register.filter("duration_words", duration_words)
register.filter("requests_words", requests_words)


@register.filter
def clock_words(seconds: float | None) -> str:
    """A duration: 46 min 40 s, 1 h 3 min, 12 s."""
    if seconds is None:
        return "–"
    whole = max(0, ceil(seconds))
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {whole % 60} s" if whole % 60 else f"{minutes} min"
    return f"{whole} s"


@register.filter
def ends_at(seconds: float) -> datetime:
    return timezone.now() + timedelta(seconds=seconds)


@register.filter
def took(campaign: Campaign) -> str:
    if not (campaign.started_at and campaign.finished_at):
        return "–"
    return clock_words((campaign.finished_at - campaign.started_at).total_seconds())


@register.filter
def mode_words(mode: str) -> str:
    return MODES.get(mode, mode)


@register.filter
def arm_words(run: Run) -> str:
    """HTTPS keep-alive, from the run's frozen copy."""
    return run.frozen.arm_label


@register.filter
def target_names(tests: Iterable[NamedTest]) -> str:
    counted, _ = without_references(tests)
    return _first_names(test.target_name for test in counted) or "–"


@register.filter
def plan_names(tests: Iterable[NamedTest]) -> str:
    counted, _ = without_references(tests)
    return _first_names(test.version_name for test in counted)


def _first_names(every: Iterable[str]) -> str:
    """shop, cart, search and 17 more"""
    names = list(dict.fromkeys(every))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


@register.filter
def signed_second(second: int | None) -> str:
    """27 s, −10 s, 13:24; "" where it is not known."""
    return "" if second is None else second_text(second)


@register.filter
def percent_words(share: float) -> str:
    return f"{share * 100:g}\u202f%"


@register.filter
def without_scheme(label: str) -> str:
    """The arm's name after its scheme, which is shown beside it in its colour."""
    head, _, rest = label.partition(" ")
    return rest if head.lower() in SCHEMES else label


@register.filter
def without_query(path: str) -> str:
    """A path as strangers may see it: what follows the question mark may be a secret."""
    return path.partition("?")[0]
