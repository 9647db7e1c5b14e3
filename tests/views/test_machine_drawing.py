"""Where the runs of a target's machine are drawn, and their lines."""

import pytest

from campaigns.domain.metrics.machine_use import MachineRun, MachineRuns, MachineStep
from campaigns.views.run_page import FLOOR, TOP, machine_drawing


def run_of(position: int, cpu: list[float | None], **others) -> MachineRun:
    steps = [
        MachineStep(number, cpu=value, memory=40.0, **others)
        for number, value in enumerate(cpu)
        if value is not None
    ]
    return MachineRun(100 + position, 1, position, position, tuple(steps))


def told_of(*runs: MachineRun) -> MachineRuns:
    return MachineRuns("shop-1", 1, runs)


def name_of(run: MachineRun) -> str:
    return f"run {run.repeat}"


def test_runs_stand_beside_each_other_as_wide_as_they_lasted():
    drawing = machine_drawing(told_of(run_of(1, [50] * 10), run_of(2, [50] * 30)), name_of)
    first, second = drawing.bands
    assert first.x == 0
    assert second.x > first.width
    assert second.x + second.width == pytest.approx(100, abs=0.01)
    assert second.width == pytest.approx(3 * first.width, abs=0.01)
    assert (first.label, second.label) == ("run 1", "run 2")


def test_a_label_that_does_not_fit_is_its_number_or_nothing():
    runs = [run_of(number, [50] * (30 if number == 1 else 1)) for number in range(1, 40)]
    labels = [band.label for band in machine_drawing(told_of(*runs), name_of).bands]
    assert labels[:3] == ["run 1", "2", "3"]
    assert labels[-1] == ""


def test_a_line_has_a_piece_for_each_second_and_none_where_nothing_was_told():
    (cpu, _) = machine_drawing(told_of(run_of(1, [50, 100, None, 50])), name_of).panels
    (line,) = cpu.lines
    middle = line.path.split("H")[0].split()[1]
    assert line.path == f"M0 {middle}H25L25 {y_of(cpu, 100):g}H50M75 {middle}H100"
    assert TOP == y_of(cpu, 100) < float(middle) < FLOOR


def y_of(panel, value: float) -> float:
    """By its ticks, which are even."""
    zero, one = panel.y_ticks[:2]
    return round(zero.at + (one.at - zero.at) * value / float(one.text), 1)
