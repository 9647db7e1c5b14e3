"""Tables as CSV: the same figures as on the page, units in the header. Tables as text for the
terminal. Texts as files to download, unless the reader
has them."""

import csv
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from hashlib import blake2b
from io import StringIO
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header, quote_etag

from campaigns.core.cache import release
from campaigns.domain.errors import InvalidFields
from campaigns.domain.presentation.tables import Cell, Column, Table


def unless_known(
    request: HttpRequest, etag: Hashable | None, make: Callable[[], HttpResponseBase]
) -> HttpResponseBase:
    """What `make` answers, with an ETag; 304, and nothing made, if the request names that ETag.
    `seen`: all that decides what is at this address, in values whose `repr` is the same in every
    process; None while it may still change. Call it after the reader's rights have been checked."""
    if etag is None:
        return make()
    tag = quote_etag(blake2b(repr((release(), etag)).encode(), digest_size=16).hexdigest())
    response = get_conditional_response(request, etag=tag) or make()
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    return response


_TYPES = {"csv": "text/csv", "txt": "text/plain", "ndjson": "application/x-ndjson"}


def text_file(name: str, text: str) -> HttpResponse:
    """The text as a download of that name, which ends as one of `_TYPES`."""
    return HttpResponse(text, content_type=_type_of(name), headers=_download(name))


def text_stream(name: str, parts: Iterable[str]) -> StreamingHttpResponse:
    """As `text_file`, of a text that is made while it is sent."""
    return StreamingHttpResponse(parts, content_type=_type_of(name), headers=_download(name))


def bytes_file(name: str, data: bytes) -> HttpResponse:
    """A download of what somebody uploaded under that name; no browser shows it."""
    disposition = {"Content-Disposition": content_disposition_header(True, name)}
    return HttpResponse(data, content_type="application/octet-stream", headers=disposition)


def _type_of(name: str) -> str:
    return f"{_TYPES[name.rpartition('.')[2]]}; charset=utf-8"


def _download(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def wants_blocks(query: Mapping[str, str]) -> bool:
    """Whether `?format=blocks` asks for the tables of the page instead of a row per run. Raises
    InvalidFields for any other format than runs, the default, and blocks."""
    if query.get("format", "runs") not in {"runs", "blocks"}:
        raise InvalidFields({"format": "Use runs (a row per run) or blocks (the page's tables)."})
    return query.get("format") == "blocks"


# A spreadsheet evaluates text that begins like this as a formula; some take the wide forms of the
# signs, too. Numbers are not affected.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def safe(text: str) -> str:
    """The text, escaped so that a spreadsheet does not evaluate it as a formula."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


def csv_of_tables(tables: Iterable[Table]) -> str:
    """Each table's title, header and rows, separated by blank lines. Empty cells stay empty. What
    is said of a whole table stands beside its title, so that below the header are only rows. Where
    rows have lower ends, weak cells, or notes, such as why there is no interval, they are in last
    columns."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    for index, table in enumerate(tables):
        if index:
            writer.writerow([])
        writer.writerow(map(safe, filter(None, [table.title, table.note])))
        # The heads of the columns in which a page has ~.
        pairs = [zip(table.columns, row.cells, strict=True) for row in table.rows]
        weak = [", ".join(_head(each) for each, cell in own if cell.weak) for own in pairs]
        notes = [row.note for row in table.rows]
        beside = {head: texts for head, texts in (("weak", weak), ("note", notes)) if any(texts)}
        # The columns of lower ends, of those columns in which a page shows any.
        cells_of_columns = zip(*(row.cells for row in table.rows), strict=True)
        beside = {
            _head(column, ", lower end"): [
                "" if cell.low is None else str(cell.low) for cell in cells
            ]
            for column, cells in zip(table.columns, cells_of_columns, strict=False)
            if any(cell.has_both_ends for cell in cells)
        } | beside
        heads = [table.label_title, *map(_head, table.columns), *beside]
        writer.writerow(map(safe, heads))
        for number, row in enumerate(table.rows):
            last = (safe(texts[number]) for texts in beside.values())
            writer.writerow([safe(row.label), *map(_plain, row.cells), *last])
    return out.getvalue()


def csv_of_lines(lines: Iterable[Sequence[Any]]) -> str:
    """A part of a file: lines of cells that need no escaping."""
    out = StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(lines)
    return out.getvalue()


def csv_of_rows(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A header and a row each; what a row does not have stays empty."""
    out = StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\r\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        plain = {key: safe(each) if isinstance(each, str) else each for key, each in row.items()}
        writer.writerow(plain)
    return out.getvalue()


def _head(column: Column, end: str = "") -> str:
    title = column.title + end
    return f"{title} ({column.unit})" if column.unit else title


def _plain(cell: Cell) -> str:
    """The page's digits with a decimal point and without thousands separators."""
    if cell.value is None:
        return ""
    if isinstance(cell.value, str):
        return safe(cell.value)
    return cell.value_text.replace(",", "").replace("\u2212", "-").lstrip("+")


_GAP = "  "
_FEW_BEYOND = "fewer than ten lie beyond this percentile"
_BUSY = "it includes the delays of a busy machine; its page says how much"


def text_of_tables(tables: Iterable[Table]) -> str:
    """Each table's title, two header lines, aligned rows and notes."""
    return "\n\n".join(_text(table) for table in tables) + "\n"


def _text(table: Table) -> str:
    columns = [[table.label_title, "", *(row.label for row in table.rows)]]
    for index, column in enumerate(table.columns):
        of_column = (row.cells[index] for row in table.rows)
        cells = (f"~{cell.text}" if cell.weak else cell.text for cell in of_column)
        columns.append([column.title, column.unit, *cells])
    is_text = [True, *(column.is_text for column in table.columns)]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        _GAP.join(
            text.ljust(width) if is_left else text.rjust(width)
            for text, width, is_left in zip(line, widths, is_text, strict=True)
        ).rstrip()
        for line in zip(*columns, strict=True)
    ]
    rule = "-" * max(map(len, lines))
    whys = [cell.why for row in table.rows for cell in row.cells if cell.weak]
    meanings = (_FEW_BEYOND if "beyond it" in why else _BUSY for why in whys)
    notes = [
        table.note,
        *dict.fromkeys(f"{row.label}: {row.note}" for row in table.rows if row.note),
        *(f"~ weak: {meaning}." for meaning in dict.fromkeys(meanings)),
    ]
    return "\n".join([table.title, *lines[:2], rule, *lines[2:], *filter(None, notes)])
