"""Patterns and JSON paths of a plan, compiled so that no reply makes a search take long."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import re2

MAX_PATTERN_LENGTH = 500
# In instructions of RE2. A search of 64 KiB then takes at most about 0.2 s, where pattern and reply
# were made for each other, and below a millisecond as a rule.
MAX_PROGRAM = 4_000
_MAX_MEMORY_BYTES = 1 << 20
# A larger upper bound is none: it costs a program, and nobody counts that far.
_MAX_BOUND = 400
_RANGE = re.compile(r"\{(\d+),(\d+)\}")


class PatternFault(ValueError):
    """What is wrong with a pattern or a path, as a sentence."""


def bounded(pattern: str, *, has_group: bool = True):
    """The pattern, compiled by RE2; `has_group`: its one group is what is taken. Raises
    PatternFault."""
    if not pattern:
        raise PatternFault("There is no pattern; write such as token = body: id=([0-9]+)")
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise PatternFault(f"Write a pattern of at most {MAX_PATTERN_LENGTH} characters.")
    options = re2.Options()
    options.max_mem, options.log_errors = _MAX_MEMORY_BYTES, False
    try:
        opened = _RANGE.sub(
            lambda found: f"{{{found[1]},}}" if int(found[2]) > _MAX_BOUND else found[0], pattern
        )
        compiled = re2.compile(opened, options)
    except re2.error as error:
        raise PatternFault(f"The pattern cannot be read: {_words_of(error)}.") from None
    if has_group and compiled.groups != 1:
        raise PatternFault("Put what is to be taken into one pair of parentheses: id=(\\d+).")
    if compiled.programsize > MAX_PROGRAM:
        raise PatternFault(
            "The pattern could take too long: its counted repeats are too large together. Write * "
            "or + instead of a large count, or smaller counts."
        )
    return compiled


def _words_of(error: Exception) -> str:
    text = error.args[0] if error.args else ""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


@dataclass(frozen=True, slots=True)
class JsonPath:
    """`find`: the values at it in a parsed document, in the document's order. `keys`: the names and
    places of a path that has nothing else, as most have; None of any other."""

    find: Callable[[Any], list[Any]]
    keys: tuple[str | int, ...] | None


_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


def json_path(path: str) -> JsonPath:
    """A path of RFC 9535. Raises PatternFault. The library is loaded only where a plan has one."""
    from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError
    from jsonpath_rfc9535.selectors import NameSelector

    if len(path) > MAX_PATTERN_LENGTH:
        raise PatternFault(f"Write a path of at most {MAX_PATTERN_LENGTH} characters.")
    unquoted = _QUOTED.sub("''", path)
    if unquoted.count("..") > 1 or "$" in unquoted[1:]:
        raise PatternFault("The path could take too long: write .. at most once, and $ only first.")
    environment = JSONPathEnvironment()
    for name in ("match", "search"):  # their patterns are not RE2's
        del environment.function_extensions[name]
    try:
        query = environment.compile(path)
    except (JSONPathError, RecursionError) as error:
        words = str(error).partition(", line")[0]
        raise PatternFault(f"The JSON path cannot be read: {words}.") from None
    keys = None
    if query.singular_query():
        selectors = [segment.selectors[0] for segment in query.segments]
        keys = tuple(
            each.name if isinstance(each, NameSelector) else each.index for each in selectors
        )
    return JsonPath(lambda document: list(query.find(document).values()), keys)
