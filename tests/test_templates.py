"""Templates and styles can be read: their lines and files have a bounded length, on any page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STYLES = sorted((ROOT / "static" / "css").rglob("*.css"))
LONGEST_LINE = 160
MOST_LINES = 400


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_line_is_longer_than_a_screen_is_wide(path):
    lines = enumerate(path.read_text().splitlines(), 1)
    assert [number for number, line in lines if len(line) > LONGEST_LINE] == []


def test_a_rule_of_styles_is_found_in_a_file_of_a_few_screens():
    lines = {path.name: path.read_text().count("\n") for path in STYLES}
    assert {name: n for name, n in lines.items() if n > MOST_LINES} == {}
    assert len(lines) > 20


@pytest.mark.parametrize("path", [path for path in TEMPLATES if path.parent.name == "campaigns"])
def test_what_opens_on_a_page_that_goes_on_has_the_id_by_which_it_stays_open(path):
    opens = re.findall(r"<details[^>]*>", path.read_text())
    assert [tag for tag in opens if " id=" not in tag] == []
