"""A line with breaks as an SVG path."""

from collections.abc import Sequence


def broken_line(points: Sequence[tuple[float, float | None]]) -> str:
    """Points as (x, y); a y of None breaks the line. A point alone between two breaks is a line
    without length, which round caps draw as a dot: otherwise it would not be seen."""
    path = ""
    heights = [None, *(y for _, y in points), None]
    for (x, y), before, after in zip(points, heights, heights[2:], strict=False):
        if y is None:
            continue
        path += f"{'M' if before is None else 'L'}{x} {y}"
        if before is None and after is None:
            path += "h0"
    return path
