"""Lines of the benchmark's table, as they are printed."""

import pytest

from benchmarks.figures import GoalRow, show

pytestmark = pytest.mark.pure


def _two_and_a_fault():
    yield GoalRow("fast", "9 µs", "≤ 10 µs", True)
    yield GoalRow("slow", "12 µs", "≤ 10 µs", False)
    raise RuntimeError("the server is gone")


def test_a_section_says_what_was_measured_and_what_is_missed(capsys):
    assert show("Cost", [GoalRow("fast", "9 µs"), GoalRow("slow", "12 µs", "≤ 10 µs", False)])
    title, fast, slow = capsys.readouterr().out.strip().splitlines()
    assert (title, fast.split()) == ("Cost", ["fast", "9", "µs"])
    assert slow.split() == ["slow", "12", "µs", "≤", "10", "µs", "MISSED"]


def test_a_fault_ends_its_section_and_is_said_in_the_table(capsys):
    assert not show("Cost", _two_and_a_fault())
    said = capsys.readouterr()
    *_, slow, rest = said.out.splitlines()
    assert slow.endswith("MISSED")
    assert rest.split(maxsplit=2)[2] == "not measured: the server is gone"
    assert "Traceback" in said.err
