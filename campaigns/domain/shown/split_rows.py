"""The mean response time of several arms by its parts, rounded so that each row adds up."""

from collections.abc import Mapping, Sequence
from typing import Any

from campaigns.domain.units import decimals_for_parts, rounded_to_sum


def split_rows(
    arms: Sequence[tuple[str, str, Mapping[str, float | None]]],
) -> tuple[list[dict[str, Any]], int]:
    """The rows of a SplitAnswer and their decimals, of any number of arms."""
    decimals = decimals_for_parts(
        value / 1000 for _, _, parts in arms for value in parts.values() if value
    )
    return [_split_row(label, scheme, parts, decimals) for label, scheme, parts in arms], decimals


def _split_row(
    label: str, scheme: str, parts: Mapping[str, float | None], decimals: int
) -> dict[str, Any]:
    present = {part: value / 1000 for part, value in parts.items() if value is not None}
    shown, total = rounded_to_sum(present, decimals)
    return {
        "label": label,
        "scheme": scheme,
        "parts": {part: float(shown[part]) if part in shown else None for part in parts},
        "total_ms": float(total),
    }
