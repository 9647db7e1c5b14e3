"""When something began, as people say it."""

from datetime import datetime


def when_words(then: datetime, now: datetime) -> str:
    """Such as "today 14:02", "yesterday 14:02", "Fri 11 Dec 02:00, last week", "Fri 11 Dec 2026".

    Both in the time zone in which days are counted.
    """
    clock = f"{then:%H:%M}"
    days = (now.date() - then.date()).days
    if days in {0, 1}:
        return f"{('today', 'yesterday')[days]} {clock}"
    if then.year != now.year and days > _HALF_A_YEAR:
        return f"{then:%a} {then.day} {then:%b %Y}"
    weeks = (_monday(now) - _monday(then)) // 7
    told = ", last week" if weeks == 1 else ""
    return f"{then:%a} {then.day} {then:%b} {clock}{told}"


_HALF_A_YEAR = 183


def _monday(day: datetime) -> int:
    return day.toordinal() - day.weekday()
