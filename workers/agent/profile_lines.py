"""What `perf report` prints of a profile: lines of samples, command, object and symbol."""

import re
from collections import Counter

MOST_FUNCTIONS = 30
_MOST_CHARACTERS = 200
# [.] user space, [k] the kernel, and others of guests and hypervisors.
_LEVEL = re.compile(r"^\[[.kguH]\]\s+")


def functions_of(text: str) -> tuple[int, list[list[int | str]]]:
    """(all samples, [[samples, command, object, symbol], …]), those with most first.

    From `perf report --stdio -F sample,comm,dso,sym -t TAB`. Where perf knows no name, the symbol
    is an address: all addresses of an object are one line, [unknown].
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 4 or not cells[0].isdecimal():
            continue
        command, place, symbol = (cell[:_MOST_CHARACTERS] for cell in cells[1:])
        symbol = _LEVEL.sub("", symbol)
        if symbol.startswith("0x"):
            symbol = "[unknown]"
        counts[command, place, symbol] += int(cells[0])
    functions: list[list[int | str]] = [
        [count, *names] for names, count in counts.most_common(MOST_FUNCTIONS)
    ]
    return counts.total(), functions
