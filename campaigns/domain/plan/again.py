"""The name of a campaign that is run again."""

import re
from collections.abc import Collection
from itertools import count

LONGEST_NAME = 150
_NUMBERED = re.compile(r" \((\d{1,6})\)$")


def next_name(name: str, taken: Collection[str]) -> str:
    """Nightly → Nightly (2) → Nightly (3): the first number that no other campaign has."""
    numbered = _NUMBERED.search(name)
    base = _NUMBERED.sub("", name)
    first = int(numbered[1]) + 1 if numbered else 2
    names = (_suffixed(base, number) for number in count(first))
    return next(each for each in names if each not in taken)


def _suffixed(base: str, number: int) -> str:
    suffix = f" ({number})"
    return base[: LONGEST_NAME - len(suffix)] + suffix
