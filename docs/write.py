"""Writes the parts of docs/ that come from the registry of plan fields: `python -m docs.write`."""

from collections.abc import Callable
from pathlib import Path

from campaigns.domain.shown.field_docs import written_schema, written_tables

WRITERS: dict[Path, Callable[[str], str]] = {
    Path(__file__).parent / name: writer
    for name, writer in (
        ("plan.md", written_tables),
        ("command-line.md", written_tables),
        ("injector.schema.json", written_schema),
    )
}

if __name__ == "__main__":
    for path, writer in WRITERS.items():
        path.write_text(writer(path.read_text()))
