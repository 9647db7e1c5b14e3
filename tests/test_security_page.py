"""docs/security.md names a test for every defence, and every test that it names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = [
    line.strip("| \n").split(" | ")
    for line in (ROOT / "docs/security.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| threat")
]


def test_each_threat_has_a_defence_and_tests_that_exist():
    for row in ROWS:
        _, _, tests = row
        names = re.findall(r"`([^`]+)`", tests)
        assert names
        folder = ROOT
        for name in names:
            path = ROOT / name if name.startswith("tests/") else folder / name
            assert path.exists(), f"{name} is not there"
            folder = path.parent
