"""Regular expressions for searching replies: a hostile reply must not block the injector.

RE2 searches in a time that is linear in the text, whatever the pattern is; for that it has no
back-reference and no look-around. What each character may cost is bounded by the size of the
pattern's program (github.com/google/re2/wiki/Syntax).
"""

import re

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
    """What is wrong with a pattern, as a sentence."""


def bounded(pattern: str):
    """The pattern, compiled by RE2. Raises PatternFault."""
    if not pattern:
        raise PatternFault("There is no pattern; write such as token = body: id=([0-9]+)")
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise PatternFault(f"Write a pattern of at most {MAX_PATTERN_LENGTH} characters.")
    options = re2.Options()
    options.max_mem, options.log_errors = _MAX_MEMORY_BYTES, False
    try:
        compiled = re2.compile(_RANGE.sub(_open_if_large, pattern), options)
    except re2.error as error:
        raise PatternFault(f"The pattern cannot be read: {_words_of(error)}.") from None
    if compiled.groups != 1:
        raise PatternFault("Put what is to be taken into one pair of parentheses: id=(\\d+).")
    if compiled.programsize > MAX_PROGRAM:
        raise PatternFault(
            "The pattern could take too long: its counted repeats are too large together. Write * "
            "or + instead of a large count, or smaller counts."
        )
    return compiled


def _open_if_large(found: re.Match[str]) -> str:
    return f"{{{found[1]},}}" if int(found[2]) > _MAX_BOUND else found[0]


def _words_of(error: Exception) -> str:
    text = error.args[0] if error.args else ""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
