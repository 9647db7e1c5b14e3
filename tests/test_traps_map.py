"""docs/traps.md names a test for every trap, and every test that it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| T(\d+) [^|]*\|([^|]*)\|([^|]*)\|$", re.MULTILINE)
ROWS = {int(number): (words, tests) for number, words, tests in ROW.findall(
    (ROOT / "docs" / "traps.md").read_text()
)}  # fmt: skip
NAMED = [
    (f"T{number}", node)
    for number, (_, tests) in ROWS.items()
    for node in re.findall(r"`([^`]+)`", tests)
]


@cache
def functions_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


def test_every_trap_has_its_row():
    assert sorted(ROWS) == list(range(1, 47))


def test_every_trap_has_a_test_or_waits_for_the_import():
    for number in sorted(ROWS):
        words, tests = ROWS[number]
        assert "`tests/" in tests or "*later*" in words


def test_the_test_that_is_named_exists():
    for trap, node in NAMED:
        path, _, name = node.partition("::")
        assert name.startswith("test_")
        assert name in functions_in(path), f"{trap}: there is no {node}"
