"""What somebody typed into a field of one's own words; tags: short words to find campaigns, plans,
targets and projects by; and durations and rates with a unit.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import count
from typing import Any
from unicodedata import bidirectional, category, combining, normalize
from urllib.parse import urlsplit

from campaigns.domain.errors import InvalidFields

# What no page shows, or what turns round the line that it is in: controls that are no space, marks
# of direction, and all else that Unicode lets a page ignore.
_INVISIBLE = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINERS = "\u200c\u200d"
_STYLES = "\ufe0e\ufe0f"  # of an emoji: as text, or in colours
_SKINS = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_VIRAMA = 9  # the class of the sign that takes an Indic letter its vowel


LONGEST_NAME = 150  # of a campaign


def storable(text: str) -> str:
    """Without space around it, and without NUL, which no keyboard has and PostgreSQL refuses."""
    return text.replace("\0", "").strip()


def whole(text: str) -> str:
    """Without halves of characters, which JSON may have and nothing can send or store."""
    halves = text.encode("utf-16", "surrogatepass")
    return text if text.isascii() else halves.decode("utf-16", "replace")


def clean_name(text: str) -> str:
    """As a name is stored, so that no two look alike: pages show any space as one blank, and what
    is invisible not at all."""
    return " ".join(composed(text).split())


_NUMBERED_NAME = re.compile(r" \((\d{1,6})\)$")


def next_name(name: str, taken: Collection[str]) -> str:
    """Nightly → Nightly (2) → Nightly (3): the first number that is not taken."""
    numbered = _NUMBERED_NAME.search(name)
    base = _NUMBERED_NAME.sub("", name)
    first = int(numbered[1]) + 1 if numbered else 2
    suffixes = (f" ({number})" for number in count(first))
    names = (base[: LONGEST_NAME - len(suffix)] + suffix for suffix in suffixes)
    return next(each for each in names if each not in taken)


def composed(text: str) -> str:
    """Each letter in the one form that Unicode has for it: é may also be typed as e with an accent
    after it. Without what is invisible, which comes along when a name is pasted."""
    return normalize("NFC", _visible(text))


def _visible(text: str) -> str:
    if not _INVISIBLE.search(text):  # nearly every name
        return text
    text_shown = ""
    for each in text:
        if not _INVISIBLE.match(each) or (text_shown and _is_part_of(text_shown[-1], each)):
            text_shown += each
    return text_shown.rstrip(_JOINERS)


def _is_part_of(before: str, mark: str) -> bool:
    """Whether what it is written with looks different without it: an emoji, Arabic, an Indic letter
    without its vowel."""
    is_emoji = category(before) == "So" or before in _SKINS
    if mark in _STYLES:
        return is_emoji
    is_joining = bidirectional(before) == "AL" or combining(before) == _VIRAMA
    return mark in _JOINERS and (is_emoji or before in _STYLES or is_joining)


def is_web_address(text: str) -> bool:
    """Whether it may stand in a link."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)


def is_digest(text: str) -> bool:
    """Whether it looks like the whole digest of a commit (SHA-1 or SHA-256)."""
    return len(text) in {40, 64} and not set(text) - set("0123456789abcdef")


MOST_TAGS = 20
LONGEST_TAG = 30
# A target with this tag is measured beside others to see whether the environment has moved.
REFERENCE_TAG = "reference"


def tags_in(text: str) -> list[str]:
    """The tags in what somebody typed: "nightly, release". Raises InvalidFields for "tags"."""
    return clean_tags(text.split(","))


def clean_tag(text: str) -> str:
    """As it is stored and looked for: a name in lower case."""
    return clean_name(text).lower()


def clean_tags(tags: Iterable[str]) -> list[str]:
    """Lower case, each once, sorted; empty ones are dropped. Raises InvalidFields for "tags"."""
    clean = sorted({clean_tag(tag) for tag in tags} - {""})
    if len(clean) > MOST_TAGS:
        raise InvalidFields({"tags": f"Use at most {MOST_TAGS} tags."})
    for tag in clean:
        if len(tag) > LONGEST_TAG:
            raise InvalidFields(
                {"tags": f"The tag {tag} is too long: use at most {LONGEST_TAG} characters."}
            )
        if "," in tag:
            raise InvalidFields({"tags": "Tags cannot contain commas."})
    return clean


SECONDS: Mapping[str, float] = {"ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
PER_SECOND: Mapping[str, float] = {"/s": 1, "/sec": 1, "/m": 1 / 60, "/min": 1 / 60, "/h": 1 / 3600}
# Pages write narrow spaces before units.
_AMOUNT = re.compile(r"(-?[0-9.]+(?:e[+-]?[0-9]+)?)\s*(/?)\s*([a-z]*)", re.IGNORECASE)


def has_unit(value: Any) -> bool:
    """Whether it is a text that ends with a letter."""
    return isinstance(value, str) and value.strip()[-1:].isalpha()


def seconds_in(text: str) -> float:
    """Of "500ms", "2s", "5 min" or "1h"; a number alone is seconds. Raises ValueError."""
    return _amount(text, SECONDS, "write seconds, or such as 500ms, 2s, 5min or 1h")


def per_second_in(text: str) -> float:
    """Of "10/s", "1/min" or "5 /h"; a number alone is per second. Raises ValueError."""
    return _amount(text, PER_SECOND, "write a rate per second, or such as 10/s or 1/min")


def _amount(text: str, units: Mapping[str, float], what: str) -> float:
    match = _AMOUNT.fullmatch(text.strip())
    try:
        number, slash, word = match.groups()
        unit = slash + word
        # Divided where that is exact: 30/min are 0.5 a second.
        times = units[unit.lower()] if unit else 1
        return float(number) / round(1 / times) if times < 1 else float(number) * times
    except (AttributeError, KeyError, ValueError):
        raise ValueError(f"{text!r}: {what}") from None


# How what has this unit is read, where it is typed as text.
AMOUNTS: Mapping[str, Callable[[str], float]] = {
    "s": seconds_in,
    "requests/s": per_second_in,
    "messages/s": per_second_in,
}
