"""The figures of a page as text: what a reader sees of it, without markup and without wording."""

import json
import re
from html.parser import HTMLParser

_FIGURE = re.compile(
    r"[~≤≥<>±+−-]{0,2}\d[\d,.:\u202f]*(?:[\s\u00a0\u202f]?(?:%|ms|µs|s|h|min|k?B|[MG]B|×)(?!\w))?"
)
_ENDS_A_LINE = {
    *("p", "li", "div", "dt", "dd", "h1", "h2", "h3", "caption", "summary", "tr", "section"),
    *("title", "text", "option", "figcaption"),
}
# What is said of the moment, and what is typed and chosen, are no figures.
_SKIPPED = {"time", "form", "dialog", "nav", "style", "select", "script"}
_VOID = {"br", "img", "input", "link", "meta", "hr", "col", "path", "line", "rect", "circle", "use"}


def figures_of(page: str) -> str:
    """A line for each row of a table, label and cells; of every other line only its figures; then
    the data of the charts."""
    reader = _Reader()
    reader.feed(page[page.index("<main") : page.index("</main>")])
    lines = [line for line in (*reader.lines, *_chart_lines(page)) if re.search(r"\d", line)]
    return "\n".join(lines) + "\n"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._text = ""
        self._cells: list[str] | None = None
        self._n_skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED or dict(attrs).get("data-live") == "happened" or self._n_skipped:
            self._n_skipped += tag not in _VOID
            return
        if tag in _ENDS_A_LINE and self._cells is None:
            self._end_line()
        if tag == "tr":
            self._cells = []
        if tag == "br":
            self._text += " "

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if self._n_skipped:
            self._n_skipped -= 1
        elif tag in {"td", "th"} and self._cells is not None:
            self._cells.append(" ".join(self._text.split()))
            self._text = ""
        elif tag == "tr" and self._cells is not None:
            self.lines.append(" | ".join(self._cells))
            self._cells, self._text = None, ""
        elif tag in _ENDS_A_LINE and self._cells is None:
            self._end_line()

    def handle_data(self, data: str) -> None:
        if not self._n_skipped:
            self._text += data

    def _end_line(self) -> None:
        self.lines.append(" ".join(each.strip(" ,.:") for each in _FIGURE.findall(self._text)))
        self._text = ""


def _chart_lines(page: str) -> list[str]:
    """The points of a run, and the charts; that of a run over time has none of its own."""
    blocks = {
        name: json.loads(text)
        for name, text in re.findall(r'<script id="([\w-]+)" type="application/json">(.*?)<', page)
    }
    lines = []
    if blocks.get("points"):
        columns = blocks["points"]
        rows = zip(*columns.values(), strict=True)
        lines += [
            json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows
        ]
    for name in blocks:
        if name.startswith("charts-") and name != "charts-over-time":
            lines.append(f"{name}: {json.dumps(_without_ids(blocks[name]), ensure_ascii=False)}")
    return lines


def _without_ids(value):
    """Numbers that only the database gives are no figures."""
    if isinstance(value, dict):
        fields = {
            key: each
            for key, each in value.items()
            if key not in {"test", "test_id", "run", "links"}
        }
        return {key: _without_ids(each) for key, each in fields.items()}
    return [_without_ids(each) for each in value] if isinstance(value, list) else value
