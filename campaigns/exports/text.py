"""Tables as text for the terminal."""

from collections.abc import Iterable

from campaigns.domain.shown.tables import Cell, Table

_GAP = "  "
_FEW_BEYOND = "fewer than ten lie beyond this percentile"
_OWN_DELAY = "a part of this percentile is the injector's own delay; its page says how much"


def text_of_tables(tables: Iterable[Table]) -> str:
    """Each table's title, two header lines, aligned rows and notes."""
    return "\n\n".join(_text(table) for table in tables) + "\n"


def _text(table: Table) -> str:
    columns = [[table.label_title, "", *(row.label for row in table.rows)]]
    for index, column in enumerate(table.columns):
        cells = (_shown(row.cells[index]) for row in table.rows)
        columns.append([column.title, column.unit, *cells])
    is_text = [True, *(column.is_text for column in table.columns)]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        _GAP.join(
            text.ljust(width) if left else text.rjust(width)
            for text, width, left in zip(line, widths, is_text, strict=True)
        ).rstrip()
        for line in zip(*columns, strict=True)
    ]
    rule = "-" * max(map(len, lines))
    # The table's note, the distinct row notes, and what ~ means.
    notes = [
        table.note,
        *dict.fromkeys(f"{row.label}: {row.note}" for row in table.rows if row.note),
    ]
    return "\n".join(
        [
            table.title,
            *lines[:2],
            rule,
            *lines[2:],
            *[note for note in (*notes, *_meanings(table)) if note],
        ]
    )


def _shown(cell: Cell) -> str:
    return f"~{cell.text}" if cell.weak else cell.text


def _meanings(table: Table) -> list[str]:
    """What ~ means in this table, by why its cells are weak."""
    whys = [cell.why for row in table.rows for cell in row.cells if cell.weak]
    meanings = (_OWN_DELAY if "own delay" in why else _FEW_BEYOND for why in whys)
    return [f"~ weak: {meaning}." for meaning in dict.fromkeys(meanings)]
