"""What people type and send: a field of one's own words; tags, short words to find campaigns,
plans, targets and projects by; durations and rates with a unit; and values in JSON.

And what a form was opened with, so that saving it puts nothing back that was changed since: a form
replaces every part of what it edits. It carries a short digest of each part as it was when it was
opened; who saves it compares these with what is stored by then.
"""

import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from hashlib import blake2s
from itertools import count
from typing import Any
from unicodedata import bidirectional, category, combining, normalize
from urllib.parse import urlsplit

from campaigns.domain.errors import ChangedMeanwhile, InvalidFields

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
    match = _NUMBERED_NAME.search(name)
    base = _NUMBERED_NAME.sub("", name)
    suffixes = (f" ({number})" for number in count(int(match[1]) + 1 if match else 2))
    names = (base[: LONGEST_NAME - len(suffix)] + suffix for suffix in suffixes)
    return next(each for each in names if each not in taken)


def composed(text: str) -> str:
    """Each letter in the one form that Unicode has for it: é may also be typed as e with an accent
    after it. Without what is invisible, which comes along when a name is pasted."""
    if _INVISIBLE.search(text):  # hardly any name
        plain = ""
        for each in text:
            if not _INVISIBLE.match(each) or (plain and _is_part_of(plain[-1], each)):
                plain += each
        text = plain.rstrip(_JOINERS)
    return normalize("NFC", text)


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


class JsonReader:
    """Reads values from JSON and collects errors, so that all are reported at once."""

    def __init__(self, data: Any, path: str = "", errors: dict[str, str] | None = None):
        self.errors = {} if errors is None else errors
        self.path = path
        self.data = data if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            self.errors[path or "plan"] = "Write an object with named fields."

    def child(self, name: str) -> "JsonReader":
        return JsonReader(self.data.get(name, {}), self._path(name), self.errors)

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def fail(self, name: str, sentence: str) -> None:
        self.errors.setdefault(self._path(name), sentence)

    def refuse_unknown(self, *known: str) -> None:
        for name in sorted(set(self.data) - set(known)):
            self.fail(name, f"There is no field {name!r} here. Known: {', '.join(known)}.")

    def number(
        self,
        name: str,
        default: float | None = None,
        *,
        low: float,
        high: float,
        whole: bool = False,
        above_low: bool = False,
        amount: Callable[[str], float] | None = None,
    ) -> float | None:
        """A number in [low, high] (or above low), or the default if missing. `amount` reads a text
        that ends with a unit, such as 500ms."""
        value = self.data.get(name)
        if amount and has_unit(value):
            try:
                value = amount(value)
            except ValueError as fault:
                self.fail(name, f"{fault}.")
                return default
        if value is None or value == "":
            return default
        bounds = f"{'above' if above_low else 'from'} {_digits(low)} to {_digits(high)}"
        kind = "a whole number" if whole else "a number"
        if not is_number(value) or (whole and value != int(value)):
            self.fail(name, f"Write {kind} {bounds}.")
            return default
        if value > high or value < low or (above_low and value == low):
            self.fail(name, f"{_digits(value)} is outside: write {kind} {bounds}.")
            return default
        return int(value) if whole else float(value)

    def text(self, name: str, default: str = "", limit: int = 2000) -> str:
        value = self.data.get(name, default)
        if not isinstance(value, str):
            self.fail(name, "Write text.")
            return default
        if len(value) > limit:
            self.fail(name, f"{len(value):,} characters are too many; at most {limit:,}.")
            return default
        return value

    def boolean(self, name: str, default: bool) -> bool:
        value = self.data.get(name, default)
        if not isinstance(value, bool):
            self.fail(name, "Write true or false.")
            return default
        return value

    def choice(self, name: str, kind: type[StrEnum], default: Any) -> Any:
        value = self.data.get(name, default)
        try:
            return kind(value)
        except ValueError:
            self.fail(name, f"Choose one of: {', '.join(kind)}.")
            return default


def is_number(value: Any) -> bool:
    """Python reads NaN and Infinity, too, and whole numbers that are larger than any float."""
    is_any = isinstance(value, int | float) and not isinstance(value, bool)
    return is_any and abs(value) <= sys.float_info.max


def _digits(number: float) -> str:
    """All of them: rounded, a number just outside would look like its bound."""
    return f"{int(number):,}" if abs(number) < 1e15 and number == int(number) else f"{number:,}"


Content = Mapping[str, Any]  # JSON; of an object in it, each field is a part


def version_token(content: Content) -> str:
    """What a form carries: "name=0f3c8a21 load.rate_per_s=…"."""
    return " ".join(f"{path}={digest}" for path, digest in _digests(content).items())


def check_unchanged(opened: str | None, *, stored: Content, wanted: Content) -> None:
    """Raise ChangedMeanwhile if saving what is `wanted` would put back a part that is `stored` in
    another way since the form was `opened`. None: nobody looked at it before."""
    if opened is None:
        return
    before = dict(part.partition("=")[::2] for part in opened.split())
    now, after = _digests(stored), _digests(wanted)
    paths = [*now, *(path for path in before if path not in now)]
    if changes := [
        path
        for path in paths
        if before.get(path) != now.get(path) and now.get(path) != after.get(path)
    ]:
        raise ChangedMeanwhile(changes, version_token(stored))


def _digests(content: Content) -> dict[str, str]:
    return {
        path: blake2s(json.dumps(value, sort_keys=True).encode(), digest_size=4).hexdigest()
        for path, value in _parts(content)
    }


def _parts(content: Content, start: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _parts(value, f"{start}{name}.")
        else:
            yield f"{start}{name}", value
