"""Whether the targets of a matrix were measured alike: one line for each thing that should be."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.judged.likeness import Likeness
from campaigns.domain.units import counted

_FEW = 2  # plans whose difference is written out, and values that a line lists


@dataclass(frozen=True, slots=True)
class RowLikeness:
    """Of one plan: the names of the targets that have runs, and what they have."""

    plan: str
    names: tuple[str, ...]
    found: tuple[Likeness, ...]


@dataclass(frozen=True, slots=True)
class LikeLine:
    """`text`: what all have; where they differ, who has what at which plans."""

    name: str
    text: str
    is_alike: bool


def like_lines(rows: Sequence[RowLikeness]) -> list[LikeLine]:
    """One for each name, in the order of the first plan's."""
    names = [each.name for each in rows[0].found] if rows else []
    return [_line(name, [(row, _of(row, name)) for row in rows]) for name in names]


def _line(name: str, found: Sequence[tuple[RowLikeness, Likeness]]) -> LikeLine:
    different = [_difference(row, each) for row, each in found if not each.is_alike]
    if different:
        more = len(different) - _FEW
        rest = [f"and {counted(more, 'more plans')}"] if more > 0 else []
        return LikeLine(name, "; ".join([*different[:_FEW], *rest]), False)
    values = list(dict.fromkeys(each.values[0] for _, each in found))
    if len(values) > _FEW:
        return LikeLine(name, f"alike at each plan, such as {values[0]}", True)
    return LikeLine(name, ", ".join(values), True)


def _difference(row: RowLikeness, found: Likeness) -> str:
    """L2: apache 8,600 B, nginx 9,014 B"""
    pairs = zip(row.names, found.values, strict=True)
    return f"{row.plan}: {', '.join(f'{name} {value}' for name, value in pairs)}"


def _of(row: RowLikeness, name: str) -> Likeness:
    return next(each for each in row.found if each.name == name)
