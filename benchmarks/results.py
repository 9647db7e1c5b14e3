"""What parts of a benchmark said, a line of JSON each, so that they can be measured at different
times."""

import json
import sys
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def read_lines(results: Path | None) -> list[Line]:
    if results is None or not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


def add_line(line: Line, results: Path | None, progress: str) -> None:
    """Says it on standard error, and keeps it where there is a file."""
    text = json.dumps(line)
    print(f"  {progress}: {text}", file=sys.stderr)
    if results:
        with results.open("a") as file:
            file.write(text + "\n")
