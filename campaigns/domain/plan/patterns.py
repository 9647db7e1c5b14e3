"""Regular expressions with bounded run time, for searching replies.

A hostile reply must not block the injector. So a pattern has no repeated group, no back-reference
and no look-around, and the product of all its maximum repeats is bounded: a search then takes at
most that many steps per character.
"""

import re

MAX_PATTERN_LENGTH = 500
# The limit that replaces * and +.
MAX_REPEAT = 512
MAX_PRODUCT = 2048
_BRACES = re.compile(r"\{(\d{1,6})(?:,(\d{1,6}))?\}")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


class PatternFault(ValueError):
    """What is wrong with a pattern, as a sentence."""


def bounded(pattern: str) -> re.Pattern[str]:
    """The pattern with * and + as repeats up to MAX_REPEAT. Raises PatternFault."""
    if not pattern:
        raise PatternFault("There is no pattern; write such as token = body: id=([0-9]+)")
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise PatternFault(f"Write a pattern of at most {MAX_PATTERN_LENGTH} characters.")
    text = _Scan(pattern).rewritten()
    try:
        compiled = re.compile(text)
    except re.error as error:
        raise PatternFault(f"The pattern cannot be read: {error}.") from None
    if compiled.groups != 1:
        raise PatternFault("Put what is to be taken into one pair of parentheses: id=(\\d+).")
    return compiled


class _Scan:
    """One walk over a pattern, token by token."""

    def __init__(self, pattern: str):
        self._pattern = pattern
        self._at = 0
        self._product = 1
        self._after_group = False
        self._is_repeated = False

    def rewritten(self) -> str:
        parts = []
        while self._at < len(self._pattern):
            parts.append(self._next())
        return "".join(parts)

    def _next(self) -> str:
        ch = self._pattern[self._at]
        if ch in "*+?{":
            return self._repeat(ch)
        self._after_group, self._is_repeated = ch == ")", False
        if ch == "\\":
            return self._escape()
        if ch == "[":
            return self._take(_CLASS.match(self._pattern, self._at), "The [ is never closed.")
        if self._pattern.startswith("(?", self._at):
            raise PatternFault("Groups that begin with (? are not for here; write plain ones.")
        if ch == "|":
            self._multiply(2)
        self._at += 1
        return ch

    def _escape(self) -> str:
        text = self._pattern[self._at : self._at + 2]
        if text[1:].isdigit() and text != "\\0":
            raise PatternFault(f"{text} refers back to a group; that is not for here.")
        self._at += 2
        return text

    def _repeat(self, ch: str) -> str:
        if ch == "?" and self._is_repeated:
            self._at += 1
            self._is_repeated = False
            return ch
        if self._after_group or self._is_repeated:
            raise PatternFault("A group or a repeat cannot be repeated as a whole.")
        self._is_repeated = True
        if ch == "{":
            return self._counted()
        self._at += 1
        self._multiply(2 if ch == "?" else MAX_REPEAT)
        return {"*": f"{{0,{MAX_REPEAT}}}", "+": f"{{1,{MAX_REPEAT}}}", "?": "?"}[ch]

    def _counted(self) -> str:
        match = _BRACES.match(self._pattern, self._at)
        text = self._take(match, "Write a repeat as {2} or {1,200}, and a plain brace as \\{.")
        self._multiply(max(1, int(match[2] or match[1])))
        return text

    def _take(self, match: re.Match[str] | None, fault: str) -> str:
        if match is None:
            raise PatternFault(fault)
        self._at = match.end()
        return match[0]

    def _multiply(self, factor: int) -> None:
        self._product *= factor
        if self._product > MAX_PRODUCT:
            raise PatternFault(
                f"The pattern could take too long. A * or + counts as up to {MAX_REPEAT} "
                f"characters; give the others numbers, such as {{0,4}}: multiplied they may make "
                f"{MAX_PRODUCT:,}."
            )
