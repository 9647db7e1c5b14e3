"""The text that a Prometheus exporter answers with, in Prometheus' format or OpenMetrics.

prometheus_client has a parser as well. It is not used, because it takes 14 MB in each launcher,
reads every line to the end, and does not say which one it did not understand.
"""

import re
from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

_SHOWN = 80  # characters of a line that is not understood
_NAME = re.compile(r"[ \t]*([a-zA-Z_:][a-zA-Z0-9_:]*)")
_SAMPLE = re.compile(
    r"""
    [ \t]* (?P<name> [a-zA-Z_:][a-zA-Z0-9_:]* ) [ \t]*
    (?: \{ (?P<labels> (?: [^"}] | "(?:[^"\\]|\\.)*" )* ) \} )?
    (?(labels) [ \t]* | (?<=[ \t]) )
    (?P<value> [^ \t]+ )
    (?: [ \t]+ [-+.0-9eE]+ )?     # a timestamp, which is not used
    (?: [ \t]+ \# [ \t] .* )?     # an exemplar of OpenMetrics
    [ \t]*
    """,
    re.VERBOSE,
)
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?:,|$)')
_ESCAPED = re.compile(r"\\(.)")


class NotExposition(ValueError):
    """A line that is not in the format; the text names it."""

    def __init__(self, number: int, line: str):
        shown = "".join(ch if ch.isprintable() else "�" for ch in line.strip()[:_SHOWN])
        super().__init__(f"Line {number} is not in Prometheus' text format: {shown}")


class Sample(NamedTuple):
    name: str
    labels: Mapping[str, str]
    value: float  # may be NaN or infinite


def samples_of(text: str, names: Container[str]) -> Iterator[Sample]:
    """The samples with these names; lines with others cost nothing and are not checked. Raises
    NotExposition."""
    for number, line in enumerate(text.split("\n"), 1):
        found = _NAME.match(line)
        if found and found[1] in names:
            yield _sample(number, line)


def check_exposition(text: str) -> None:
    """Raises NotExposition with the first line that is neither a sample, a comment nor empty."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip(" \t").startswith("#"):
            _sample(number, line)


def _sample(number: int, line: str) -> Sample:
    found = _SAMPLE.fullmatch(line.rstrip("\r"))
    if found is None:
        raise NotExposition(number, line)
    try:
        return Sample(found["name"], _labels(found["labels"] or ""), _value(found["value"]))
    except ValueError:
        raise NotExposition(number, line) from None


def _labels(text: str) -> dict[str, str]:
    labels, at = {}, 0
    while text[at:].strip(" \t"):
        found = _LABEL.match(text, at)
        if found is None or found[1] in labels:
            raise ValueError(text)
        labels[found[1]] = _ESCAPED.sub(_unescaped, found[2])
        at = found.end()
    return labels


def _unescaped(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]


def _value(text: str) -> float:
    if "_" in text:  # Python's own numbers may have them
        raise ValueError(text)
    return float(text)
