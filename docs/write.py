"""Writes what docs/ has from the registry of plan fields and the glossary: `make docs`."""

from collections.abc import Callable
from pathlib import Path

from campaigns.domain.presentation.field_words import written_schema, written_tables
from campaigns.domain.presentation.glossary import as_markdown

WRITERS: dict[Path, Callable[[str], str]] = {
    Path(__file__).parent / name: writer
    for name, writer in (
        ("plan.md", written_tables),
        ("command-line.md", written_tables),
        ("injector.schema.json", written_schema),
        ("glossary.md", lambda _: as_markdown()),
    )
}

if __name__ == "__main__":
    for path, writer in WRITERS.items():
        path.write_text(writer(path.read_text()))
