"""Formats numbers for people: rounded once, half-up, with their unit.

All figures on pages, in tables and on the terminal are formatted here.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from math import ceil, floor, isfinite, log10

THIN = "\u202f"  # narrow no-break space, before a unit
MINUS = "\u2212"
DASH = "–"
TO = " to "
MAX_DECIMALS = 3  # a microsecond in milliseconds, the resolution of measurements
_MOST_BESIDE = 6  # of a figure that hardly differs from its limit
_APART = 1.05
_HALF_A_YEAR = 183


def rounded(value: float | Decimal, decimals: int) -> Decimal:
    """Half-up on the decimal digits as written: 99.05 becomes 99.1, not Python's 99.0."""
    exact = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    return exact.quantize(_step(decimals), rounding=ROUND_HALF_UP)


@cache
def _step(decimals: int) -> Decimal:
    return Decimal(1).scaleb(-decimals)


def decimals_for(values: Iterable[float | None], digits: int = 3, most: int = MAX_DECIMALS) -> int:
    """Decimals that give the typical (median) value of a column `digits` significant digits."""
    sizes = sorted(abs(value) for value in values if value and isfinite(value))
    return _decimals_of(sizes[(len(sizes) - 1) // 2] if sizes else 0, digits, most)


def _decimals_of(value: float, digits: int, most: int) -> int:
    if not value or not isfinite(value):
        return min(digits - 1, most)
    return min(max(0, digits - 1 - floor(log10(abs(value)))), most)


def column_decimals(values: Iterable[float | None]) -> int:
    """Decimals of a column: those of its typical value; of its smallest one, where 0 would show."""
    sizes = [abs(value) for value in values if value and isfinite(value)]
    typical = decimals_for(sizes)
    if sizes and not rounded(min(sizes), typical):
        return decimals_for([min(sizes)])
    return typical


def decimals_alone(value: float) -> int:
    """Decimals of a figure that is in no column: none for a whole number."""
    return 0 if value == int(value) else decimals_for([value])


def decimals_to_see(value: float, decimals: int) -> int:
    """`decimals`, or as many more as a value needs not to read 0, up to `MAX_DECIMALS`."""
    if not value or not isfinite(value):
        return decimals
    enough = (places for places in range(decimals, MAX_DECIMALS) if rounded(value, places))
    return next(enough, max(decimals, MAX_DECIMALS))


def decimals_beside(value: float, limit: float, decimals: int) -> int:
    """`decimals`, or as many more as a value needs to be on its own side of a limit: 200.4, not
    200, is above 200. It is at the limit only if it is the limit."""
    side = _side(value, limit)
    enough = (
        places
        for places in range(decimals, _MOST_BESIDE)
        if _side(rounded(value, places), rounded(limit, _MOST_BESIDE)) == side
    )
    return next(enough, max(decimals, _MOST_BESIDE))


def _side(value: float | Decimal, limit: float | Decimal) -> int:
    return (value > limit) - (value < limit)


def decimals_for_parts(values: Iterable[float | None]) -> int:
    """Decimals of values that add up: three significant digits even of the smallest one."""
    return max((decimals_for([value]) for value in values if value), default=decimals_for([]))


def number(value: float | Decimal | None, decimals: int = 0, *, signed: bool = False) -> str:
    """Thousands commas, a true minus sign, plus if `signed`; a dash for None."""
    if value is None:
        return DASH
    # A page has thousands of counts.
    exact = value if type(value) is int and not decimals else rounded(value, decimals)
    return rounded_text(exact, signed=signed)


def rounded_text(exact: Decimal | int, *, signed: bool = False) -> str:
    """What is rounded already, as `number` writes it."""
    sign = MINUS if exact < 0 else "+" if signed and exact > 0 else ""
    return f"{sign}{abs(exact):,}"


def figure(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """One number by itself with three significant digits."""
    if value is None:
        return DASH
    return number(value, _decimals_of(value, digits, MAX_DECIMALS), signed=signed)


def with_unit(text: str, unit: str) -> str:
    return text if text == DASH or not unit else f"{text}{THIN}{unit}"


def in_ms(value_us: float | None) -> float | None:
    """Microseconds as a number of milliseconds."""
    return None if value_us is None else value_us / 1000


def ms(value_us: float | None, *, signed: bool = False) -> str:
    """Microseconds as milliseconds: 18.9 ms."""
    if value_us is None:
        return DASH
    return with_unit(figure(value_us / 1000, signed=signed), "ms")


def percent(
    share: float | None,
    *,
    decimals: int | None = None,
    signed: bool = False,
    limit: float | None = None,
) -> str:
    """A share of 1 as percent: 0.543 is 54.3 %. Unless `decimals` says how many, it has as many as
    it takes that neither some reads as nothing nor most as all, and it is on its own side of a
    limit beside it."""
    if share is None:
        return DASH
    if decimals is None:
        value = round(100 * share, _MOST_BESIDE + 1)
        edges, most = (0, 100, 100 * (limit or 0)), decimals_for([value], most=2)
        decimals = max(decimals_beside(value, edge, most) for edge in edges)
    return with_unit(number(share * 100, decimals, signed=signed), "%")


def typed_percent(share: float) -> str:
    """A share that somebody set, with all its digits: 5 %, 2.5 %."""
    return with_unit(f"{100 * share:.6g}", "%")


_EXACT = 9  # decimals of a percentage that no float disturbs


def change_percent(ratio: float) -> float:
    """1.123 is 12.3, as it would be if floats were exact, and not rounded otherwise: a text rounds
    it once."""
    return round(100 * (ratio - 1), _EXACT)


def percent_at_most(share: float) -> str:
    """The whole percentage that a share does not exceed: 0.954 is at most 96 %."""
    return percent(ceil(round(100 * share, 6)) / 100, decimals=0)


def change_size(ratio: float) -> str:
    """A ratio as a change: 1.123 is +12.3 %; with as many digits as it takes not to read 0."""
    change = change_percent(ratio)
    return with_unit(number(change, decimals_to_see(change, 1), signed=True), "%")


def count(value: int | None) -> str:
    return number(value)


def counted(value: int, nouns: str) -> str:
    """A number with its noun, given in the plural: 1 request, 1,000 requests."""
    if value != 1:
        return f"{value:,} {nouns}"
    if nouns.endswith("ies"):
        return f"1 {nouns.removesuffix('ies')}y"
    return f"1 {nouns.removesuffix('es' if nouns.endswith(('sses', 'ches')) else 's')}"


# Requests take connections that are free; a connection takes a place among those that are open.
_WORDS_OF = {
    "connections": {
        "all connections": "all places",
        "a free connection": "a free place",
        "requests were sent": "connections were begun",
        "request": "connection",
        "Request": "Connection",
    },
    "messages": {"request": "message", "Request": "Message"},
}


def are_apart(low: float | None, high: float) -> bool:
    """Whether both ends of a figure are shown, and not the upper one alone."""
    return low is not None and high > _APART * low


def ends_ms(low_us: float | None, high_us: float | None) -> str:
    """Microseconds as milliseconds without the unit: 3.4, or 3.2 to 3.4 where they are apart."""
    text = figure(in_ms(high_us))
    if high_us is None or not are_apart(low_us, high_us):
        return text
    return f"{figure(low_us / 1000)}{TO}{text}"


def said_of(nouns: str, text: str) -> str:
    """A text that is written of requests, as it reads of what is counted: of a plan's `nouns`."""
    for noun, word in _WORDS_OF.get(nouns, {}).items():
        text = text.replace(noun, word)
    return text


def common_nouns(nouns: Iterable[str]) -> str:
    """Of what is counted in several runs: requests where they differ."""
    different = set(nouns)
    return different.pop() if len(different) == 1 else "requests"


def and_joined(words: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def rate(per_s: float | None) -> str:
    """Requests/s without the unit: 28.4 or 1,997."""
    return figure(per_s)


def size(n_bytes: int, limit: int | None = None) -> str:
    """An amount of data in decimal units: 0 B, 950 B, 2.61 kB, 1.30 GB; on its own side of a limit
    beside it."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            value = n_bytes / factor
            decimals = _decimals_of(value, 3, MAX_DECIMALS)
            if limit is not None:
                decimals = decimals_beside(value, limit / factor, decimals)
            return with_unit(number(value, decimals), unit)
    return with_unit(number(n_bytes), "B")


def duration(value_s: float) -> str:
    """A length of time: 0.4 s, 12 s, 1 min 35 s, 2 h 2 min."""
    if value_s < 59.95:
        return f"{value_s:.1f}".removesuffix(".0") + " s"
    hours, rest = divmod(round(value_s), 3600)
    minutes, whole_s = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min {whole_s} s" if whole_s else f"{minutes} min"


def clock(whole_s: int) -> str:
    """A length of time as a clock shows it: 0:42, 22:22, 1:02:03."""
    minutes, second = divmod(whole_s, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def second_text(second: int) -> str:
    """A second of a run, the warm-up's below zero: −10 s, 42 s, 13:24."""
    return f"{second} s".replace("-", "\u2212") if second < 60 else clock(second)


def rounded_to_sum(parts: dict[str, float], decimals: int) -> tuple[dict[str, Decimal], Decimal]:
    """The parts and their total, rounded so that the shown parts add up to the shown total.

    Largest-remainder method: all are rounded down, and the missing units go to the parts that lost
    most.
    """
    unit = Decimal(1).scaleb(-decimals)
    exact = {name: Decimal(repr(float(value))) for name, value in parts.items()}
    total = rounded(sum(exact.values(), Decimal(0)), decimals)
    floors = {name: (value // unit - (value % unit < 0)) * unit for name, value in exact.items()}
    short = int((total - sum(floors.values(), Decimal(0))) / unit)
    by_loss = sorted(exact, key=lambda name: (floors[name] - exact[name], name))
    for name in by_loss[:short]:
        floors[name] += unit
    return {name: floors[name].quantize(unit) for name in exact}, total


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
    monday, monday_then = (day.toordinal() - day.weekday() for day in (now, then))
    weeks = (monday - monday_then) // 7
    when = ", last week" if weeks == 1 else ""
    return f"{then:%a} {then.day} {then:%b} {clock}{when}"
