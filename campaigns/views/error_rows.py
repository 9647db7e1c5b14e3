"""The errors section of a run's or a campaign's page: rows with strips on the run's axis."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from campaigns.domain.measured.failures import FailureRow
from campaigns.domain.shown.errors_table import Errors
from campaigns.domain.shown.tables import Row
from campaigns.models import FailureExample
from campaigns.queries.failures import Key


@dataclass(frozen=True, slots=True)
class StripBar:
    """A part of a strip, all in percent of its box: a bin's share of the fullest bin."""

    x: float
    width: float
    height: float

    @property
    def y(self) -> float:
        return round(100 - self.height, 1)


@dataclass(frozen=True, slots=True)
class ErrorRow:
    row: Row
    strip: list[StripBar]
    examples: list["ShownExample"]


@dataclass(frozen=True, slots=True)
class ShownExample:
    """`reply` is cut in its first line, which names the status, and the rest."""

    when: str
    request_line: str
    request_headers: str
    status_line: str
    reply: str
    note: str


def _shown(example: FailureExample) -> ShownExample:
    request_line, _, headers = example.request.partition("\n")
    status_line, _, reply = example.reply.partition("\n")
    shown = len(example.reply.partition("\n\n")[2].encode())
    whole = example.body_bytes or 0
    cut = f"Of {whole:,} bytes of the body the first are shown." if whole > shown + 200 else ""
    return ShownExample(
        when=f"{example.at_us / 1e6:,.1f} s",
        request_line=request_line,
        request_headers=headers,
        status_line=status_line,
        reply=reply,
        note=" ".join(filter(None, (example.detail, cut))),
    )


def errors_section(
    errors: Errors, examples: Mapping[Key, list[FailureExample]] | None = None
) -> dict[str, Any]:
    """What parts/errors.html draws; examples only for those who may see them."""
    known = examples or {}
    return {
        "table": errors.table,
        "rows": [
            ErrorRow(
                row,
                strip_of(failures, errors.length_s),
                [
                    _shown(each)
                    for each in known.get(
                        (str(row.cells[1].value or ""), failures.kind, failures.status), ()
                    )
                ],
            )
            for row, failures in zip(errors.table.rows, errors.rows, strict=True)
        ],
        "axis": f"0 to {errors.length_s:.0f}" if errors.length_s >= 1 else "0 to 1",
        "is_everything": errors.is_everything,
    }


def strip_of(row: FailureRow, length_s: float) -> list[StripBar]:
    """Bars from second 0 to the run's end; [] where the seconds are not known."""
    top = max(row.bins, default=0)
    whole_s = max(length_s, len(row.bins) * row.bin_s, 1)
    return [
        StripBar(
            x=round(100 * number * row.bin_s / whole_s, 2),
            width=round(100 * row.bin_s / whole_s, 2),
            height=round(max(100 * count / top, 8), 1),
        )
        for number, count in enumerate(row.bins)
        if count
    ]
