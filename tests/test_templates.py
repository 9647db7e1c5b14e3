"""Templates can be read: lines of a bounded length, whatever page they belong to."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
LONGEST_LINE = 160


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_line_is_longer_than_a_screen_is_wide(path):
    lines = enumerate(path.read_text().splitlines(), 1)
    assert [number for number, line in lines if len(line) > LONGEST_LINE] == []
