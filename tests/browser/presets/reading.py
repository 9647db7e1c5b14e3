"""The figures of a campaign's or run's page, as a reader sees them."""

import re
from dataclasses import dataclass, field

from playwright.sync_api import expect


@dataclass(frozen=True)
class Measured:
    """A campaign that has ended, and the tab that shows it."""

    page: object
    tables: dict[str, list[dict[str, str]]] = field(default_factory=dict)

    def table(self, caption: str) -> list[dict[str, str]]:
        """The rows of the table whose name begins so: {column: text}, the label at ""."""
        return next(rows for name, rows in self.tables.items() if name.startswith(caption))


PATHS_OF_THE_STEPS = ("path", "step2_path", "step3_path", "step4_path", "step5_path")
READ_TABLES = """() => [...document.querySelectorAll('main table')].map((table) => [
  table.caption?.textContent.trim().replace(/\\s+/g, ' ') ?? '',
  [...(table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? [])].map((cell) =>
    cell.innerText.split('\\n')[0].trim()),
  [...table.tBodies].flatMap((body) => [...body.rows]).map((row) =>
    [...row.cells].map((cell) => cell.innerText.trim())),
])"""


def tables_of(page) -> dict[str, list[dict[str, str]]]:
    found = {}
    for caption, heads, rows in page.evaluate(READ_TABLES):
        found[caption] = [dict(zip(["", *heads[1:]], row, strict=False)) for row in rows]
    return found


def number(text: str) -> float:
    plain = text.split("\n")[0].replace("\u2212", "-")
    return float(re.sub(r"[^\d.-]", "", plain))


def opened_report(page, style: str) -> str:
    """The report in the style of a tool; it is made when it is opened for the first time."""
    disclosure = page.locator(f"details[data-style={style}]")
    disclosure.locator("summary").click()
    text = disclosure.locator("pre")
    expect(text).to_have_text(re.compile(r"\n"))  # before, one line says that it is being made
    return text.inner_text()


def open_last_run(measured: Measured) -> Measured:
    page = measured.page
    page.locator("table.runs tbody th a").last.click()
    page.wait_for_url(re.compile(r"/runs/\d+/"))
    return Measured(page, tables_of(page))


def check_rows(rows: list[dict[str, str]], n: int) -> None:
    """A test's two runs of n requests one after another, their mean, and all of them pooled."""
    first, second, mean, pooled = rows[:4]
    assert [row[""].split("\n")[0] for row in (first, second)] == ["Repeat 1", "Repeat 2"]
    for row in (first, second):
        assert number(row["n"]) == n
        total_s, mean_ms = number(row["time"]), number(row["average"])
        assert total_s * 1000 / n >= mean_ms * 0.99, "one after another"
        assert number(row["min"]) <= mean_ms <= number(row["max"])
    # Of runs that a crowded machine spoilt there may be fewer than were made.
    n_counted = int(re.match(r"Mean of (\d)", mean[""])[1])
    assert number(pooled["n"]) == n_counted * n


def requests_by_file(run: Measured) -> list[float]:
    return [number(row["n"]) for row in run.table("Steps")[1:]]
