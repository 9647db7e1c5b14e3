"""Lines of a tool's output with their numbers, and what to answer about one that is none of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from campaigns.domain.errors import InvalidFields

# No tool prints a longer line; the patterns are not tried on one.
LONGEST_LINE = 4000
_SHOWN = 80
_PROMPT = re.compile(
    r"[\w.+-]+@[\w.-]+[^$#%]{0,200}[$#%](\s|$)|\[[\w.-]+@[^\]]{0,200}\][$#](\s|$)|[$#] "
)
_SEPARATORS = ".,'’\u00a0\u202f "
NUMBER = rf"\d+(?:[{_SEPARATORS}]\d+)*"


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """`number` from 1."""

    number: int
    text: str

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()

    @property
    def is_prompt(self) -> bool:
        """A shell's, with or without a command."""
        return bool(_PROMPT.match(self.text))


def lines_of(text: str) -> list[PrintedLine]:
    """Without the ^C of who ended the tool."""
    split = text.replace("\r\n", "\n").split("\n")
    return [
        PrintedLine(number, line.removeprefix("^C")) for number, line in enumerate(split, start=1)
    ]


def with_figures(lines: Iterable[PrintedLine]) -> Iterable[PrintedLine]:
    """Those that are neither blank nor a shell's."""
    return (line for line in lines if not line.is_blank and not line.is_prompt)


def refused(sentence: str) -> InvalidFields:
    return InvalidFields({"text": sentence})


def not_understood(line: PrintedLine, tool: str = "") -> InvalidFields:
    """`tool`: in whose output the line is; "" where none was recognised before it."""
    shown = "".join(each if each.isprintable() else "·" for each in line.text.strip())
    quoted = f"“{shown[:_SHOWN]}{'…' if len(shown) > _SHOWN else ''}”"
    if tool:
        return refused(
            f"Line {line.number} was not understood as output of {tool}: {quoted}. Remove it, or "
            "add the output of another tool by itself."
        )
    return refused(
        f"Line {line.number} was not understood: {quoted}. Paste the output of perf stat, vmstat, "
        "sar, sadf -j or /usr/bin/time -v."
    )


def decimal(text: str) -> float:
    """A number with at most one separator, which is its decimal one. Raises ValueError."""
    return float(text.replace(",", "."))


def localised(text: str, *, has_decimals: bool = False) -> float:
    """A number with thousands separators as any locale writes them. Raises ValueError.

    `has_decimals`: the last separator is the decimal one. Otherwise it is one only if it cannot be
    a thousands separator: by the number of digits after it, or by another separator before it.
    """
    plain = re.sub("['’\u00a0\u202f ]", "", text)
    found = re.findall("[.,]", plain)
    if not found:
        return float(plain)
    whole, _, rest = plain.rpartition(found[-1])
    is_decimal = has_decimals or len(rest) != 3 or (found[-1] not in whole and len(found) > 1)
    digits, fraction = (whole, rest) if is_decimal else (plain, "0")
    if not re.fullmatch(r"\d+|\d{1,3}(?:([.,])\d{2,3}(?:\1\d{2,3})*)?", digits):
        raise ValueError(f"{text} is not a number")
    return float(f"{re.sub('[.,]', '', digits)}.{fraction}")
