"""What the shift of the percentiles says, and its table."""

from collections.abc import Sequence

from campaigns.domain.judged.shift import ShiftPoint
from campaigns.domain.percentiles import name
from campaigns.domain.shown.cells import Figure, ratio_cells
from campaigns.domain.shown.metrics import METRICS
from campaigns.domain.shown.tables import Row, Table
from campaigns.domain.units import number, percent

_KEYS = ("ratio", "low", "high")


def shift_words(points: Sequence[ShiftPoint]) -> str:
    """p10 to p99 take 9 to 13 % longer; for p99.9 these runs cannot tell."""
    told = []
    longer = [each for each in points if each.interval.low > 1]
    shorter = [each for each in points if each.interval.high < 1]
    unsure = [each for each in points if each not in longer and each not in shorter]
    for found, word in ((longer, "longer"), (shorter, "less")):
        if found:
            takes = "takes" if len(found) == 1 else "take"
            told.append(f"{_names(found, points)} {takes} {_sizes(found)} {word}")
    if unsure:
        told.append(f"for {_names(unsure, points)} these runs cannot tell")
    words = "; ".join(told)
    return f"{words[:1].upper() if words.startswith('for') else words[:1]}{words[1:]}."


def _names(some: Sequence[ShiftPoint], points: Sequence[ShiftPoint]) -> str:
    """p10 to p99 of neighbours; otherwise one by one."""
    names = [name(each.q) for each in some]
    first = points.index(some[0])
    if len(some) > 1 and list(some) == list(points[first : first + len(some)]):
        return f"{names[0]} to {names[-1]}"
    return ", ".join(names)


def _sizes(points: Sequence[ShiftPoint]) -> str:
    found = sorted(abs(each.interval.ratio - 1) for each in points)
    least, most = (percent(each, decimals=1) for each in (found[0], found[-1]))
    return most if least == most else f"{number(100 * found[0], 1)} to {most}"


def shift_table(points: Sequence[ShiftPoint]) -> Table:
    """A row per percentile: the ratio candidate / baseline with its 95 % interval."""
    columns = [
        ratio_cells([Figure(getattr(each.interval, key)) for each in points]) for key in _KEYS
    ]
    return Table(
        "shift",
        "Shift by percentile",
        tuple(METRICS[key].column() for key in _KEYS),
        tuple(
            Row(name(each.q), tuple(column[index] for column in columns))
            for index, each in enumerate(points)
        ),
        label_title="percentile",
        note="candidate / baseline of run-level percentiles; each interval is for its own row",
    )
