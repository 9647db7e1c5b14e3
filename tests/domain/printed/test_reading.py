import json
import time

import pytest

from campaigns.domain.errors import InvalidFields
from campaigns.domain.printed.output import MOST_VALUES, PrintedOutput
from campaigns.domain.printed.perf_figures import IPC, perf_figures
from campaigns.domain.printed.reading import MOST_BYTES, read_output
from campaigns.domain.shown.printed_table import figures_of_output, note_of_value
from tests.domain.printed import samples


def value(text: str, name: str, of: str = ""):
    return next(each for each in read_output(text).values if (each.name, each.of) == (name, of))


@pytest.mark.parametrize(
    ("text", "tool", "name", "of", "expected", "unit"),
    [
        (samples.PERF_GERMAN, "perf stat", "task-clock", "", 56397.171142, "ms"),
        (samples.PERF_GERMAN, "perf stat", "cycles", "", 186_462_389_466, ""),
        (samples.PERF_GERMAN, "perf stat", "time elapsed", "", 15.771390852, "s"),
        (samples.PERF_VIRTUAL, "perf stat", "task-clock", "", 412.83, "ms"),
        (samples.PERF_VIRTUAL, "perf stat", "context-switches", "", 9204, ""),
        (samples.PERF_VIRTUAL, "perf stat", "page-faults", "", 0, ""),
        (samples.PERF_REPEATED, "perf stat", "cycles:u", "", 310_123, ""),
        (samples.PERF_REPEATED, "perf stat", "time elapsed", "", 0.100923, "s"),
        (samples.PERF_CSV, "perf stat", "task-clock", "", 412.83, "ms"),
        (samples.PERF_CSV, "perf stat", "instructions", "", 1200, ""),
        (samples.PERF_CSV.replace(",", ";"), "perf stat", "context-switches", "", 9204, ""),
        (samples.PERF_INTERVALS, "perf stat", "task-clock", "", 807, "ms"),
        (samples.VMSTAT, "vmstat", "us", "", 40, "%"),
        (samples.VMSTAT, "vmstat", "free", "", 5850, "MiB"),
        (samples.VMSTAT, "vmstat", "cs", "", 6000, "/s"),
        (samples.VMSTAT_ONCE, "vmstat", "free", "", 614_400, "KiB"),
        (samples.VMSTAT_ONCE, "vmstat", "gu", "", 0, "%"),
        (samples.SAR, "sar", "%user", "", 40, "%"),
        (samples.SAR, "sar", "%user", "0", 50, "%"),
        (samples.SAR, "sar", "txkB/s", "eth0", 280, "KiB/s"),
        (samples.SAR, "sar", "rxpck/s", "eth0", 900, "/s"),
        (samples.SAR, "sar", "kbmemused", "", 2_048_000, "KiB"),
        (samples.SAR, "sar", "MBfsused", "/dev/vda1", 10_000, "MiB"),
        (samples.SAR_FRENCH, "sar", "%idle", "", 59.5, "%"),
        (samples.SADF, "sadf -j", "cpu-load user", "", 40, "%"),
        (samples.SADF, "sadf -j", "net-dev txkB", "eth0", 280, ""),
        (samples.SADF, "sadf -j", "memory memused-percent", "", 25, "%"),
        (samples.TIME, "time -v", "User time", "", 12.41, "s"),
        (samples.TIME, "time -v", "Percent of CPU this job got", "", 77, "%"),
        (samples.TIME, "time -v", "Elapsed (wall clock) time", "", 3620.13, "s"),
        (samples.TIME, "time -v", "Maximum resident set size", "", 20_480, "KiB"),
    ],
)
def test_a_figure_has_its_value_and_unit(text, tool, name, of, expected, unit):
    assert read_output(text).tool == tool
    found = value(text, name, of)
    assert (found.value, found.unit) == (pytest.approx(expected), unit)


@pytest.mark.parametrize("text", [samples.PERF_GERMAN, samples.VMSTAT, samples.SAR, samples.TIME])
def test_the_ends_of_lines_make_no_difference(text):
    assert read_output(text.replace("\n", "\r\n")).values == read_output(text).values


def test_what_the_machine_does_not_have_is_no_zero():
    cycles, misses = (value(samples.PERF_VIRTUAL, name) for name in ("cycles", "branch-misses"))
    assert (cycles.value, cycles.why) == (None, "not supported on this machine")
    assert misses.value is None
    assert misses.why.startswith("not counted")
    assert value(samples.PERF_CSV, "cycles").value is None


def test_figures_follow_from_two_counters_only_where_both_were_counted():
    figures = {
        each.name: each.value for each in perf_figures(read_output(samples.PERF_GERMAN).values)
    }
    assert figures[IPC] == pytest.approx(0.46, abs=0.005)
    assert figures["clock rate"] == pytest.approx(3.306, abs=0.001)
    assert figures["CPUs utilized"] == pytest.approx(3.576, abs=0.001)
    assert figures["misses per 1,000 branches"] == pytest.approx(39.7, abs=0.05)
    virtual = {each.name for each in perf_figures(read_output(samples.PERF_VIRTUAL).values)}
    assert virtual == {"CPUs utilized", "context switches per CPU second"}
    repeated = {
        each.name: each.value for each in perf_figures(read_output(samples.PERF_REPEATED).values)
    }
    assert repeated[f"{IPC}:u"] == pytest.approx(0.66, abs=0.005)


def test_extrapolation_and_spread_are_kept():
    assert value(samples.PERF_GERMAN, "cycles").counted_percent == 83.25
    assert value(samples.PERF_CSV, "instructions").counted_percent == 75.5
    assert value(samples.PERF_REPEATED, "cycles:u").spread_percent == 0.72
    assert value(samples.PERF_REPEATED, "time elapsed").spread_percent == 0.09
    assert read_output(samples.PERF_REPEATED).notes == ("Means over 5 runs of the command.",)


def test_what_a_tool_prints_in_intervals_is_a_series():
    assert value(samples.VMSTAT, "cs").series == (4000, 8000)
    assert value(samples.VMSTAT, "cs").highest == 8000
    assert value(samples.SAR, "%user").series == (30, 50)
    assert value(samples.SADF, "cpu-load user").series == (30, 50)
    assert value(samples.PERF_INTERVALS, "task-clock").series == (401.2, 405.8)
    assert value(samples.PERF_INTERVALS, "context-switches").value == 1100


def test_the_means_since_boot_are_left_out_or_said():
    assert "left out" in read_output(samples.VMSTAT).notes[0]
    assert "since the machine started" in read_output(samples.VMSTAT_ONCE).notes[0]


def test_what_is_not_known_is_kept():
    assert read_output(samples.TIME).unknown == (
        "hello from the server",
        "New field of a later release: 7 of 9",
    )
    assert "xhci-hcd" in " ".join(read_output(samples.SAR).unknown)
    assert read_output(samples.SADF).unknown == ("comment: started",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "This is empty."),
        (" \n\t\n", "This is empty."),
        ("hello\nworld", "Line 1 was not understood: “hello”."),
        ("bob@shop:~$ uptime\n19:00 up 2 days", "Line 2 was not understood: “19:00 up 2 days”."),
        ("a\nb\x00c", "Line 2 has a NUL character"),
        ("\x7fELF\x02\x01\ufffd", "Line 1 was not understood: “·ELF··"),
        (samples.PERF_GERMAN + samples.VMSTAT, "Line 19 was not understood as output of perf stat"),
        (samples.VMSTAT_ONCE + samples.TIME, "Line 4 was not understood as output of vmstat"),
        (samples.VMSTAT_ONCE + " 1 0 x", "Line 4 was not understood as output of vmstat: “1 0 x”"),
        (samples.SAR_FRENCH + "19:00:03 all 1,0", "Line 4 was not understood as output of sar"),
        (samples.TIME + "\tbroken", "Line 15 was not understood as output of time -v: “broken”"),
        ('{"sysstat": {\n"hosts": oops', "Line 2 was not understood as output of sadf -j"),
        ('{"a": 1}', "This JSON is not the output of sadf -j"),
        ('{"a":' * 100_000, "This JSON is not the output of sadf -j"),
        (" Performance counter stats for 'x':\n\n", "has no figures"),
        ("procs --memory--\n r b\n", "has no line of figures"),
        ("x" * (MOST_BYTES + 1), "at most 1.00\u202fMB is kept"),
        ("x" * 100_000, "Line 1 was not understood: “xxx"),
        ("1," * 300_000, "Line 1 was not understood: “1,1,"),
        ("\ud800", "half of a surrogate pair"),
    ],
)
def test_nonsense_is_answered_with_the_line(text, said):
    with pytest.raises(InvalidFields) as refused:
        read_output(text)
    sentence = refused.value.errors["text"]
    assert said in sentence
    assert len(sentence) < 300


@pytest.mark.parametrize(
    "line",
    ["1" * 3900, "1 " * 1900, "1," * 1900, "a@b" * 1300, "<" * 3900, "07:00:01 " * 400, " " * 3900],
)
def test_a_megabyte_of_any_line_is_read_or_refused_at_once(line):
    text = "\n".join([line] * (MOST_BYTES // (len(line) + 1)))
    began = time.process_time()
    with pytest.raises(InvalidFields):
        read_output(text)
    assert time.process_time() - began < 2


def test_what_is_stored_is_read_again_without_the_series():
    output = read_output(samples.VMSTAT)
    again = PrintedOutput.from_json(output.tool, json.loads(json.dumps(output.to_json())))
    assert [each.value for each in again.values] == [each.value for each in output.values]
    assert again.notes == output.notes
    assert {each.series for each in again.values} == {()}


def test_only_the_first_figures_of_thousands_are_stored():
    many = "".join(f"      {n}      event-{n}\n" for n in range(MOST_VALUES + 5))
    stored = read_output(f" Performance counter stats for 'x':\n\n{many}").to_json()
    assert len(stored["values"]) == MOST_VALUES
    assert stored["notes"] == ["5 more figures are only in the original."]


def test_counters_that_were_counted_in_other_intervals_have_no_ratio():
    """A sum of one interval over that of another says nothing of either."""
    text = """#           time             counts unit events
     1.001   <not counted>      cycles
     1.001       1,000,000      instructions
     2.002         500,000      cycles
     2.002       1,000,000      instructions
"""
    cycles, instructions = figures_of_output(read_output(text))
    assert note_of_value(cycles) == "not counted in 1 of 2 intervals"
    assert (cycles.value, instructions.value) == (500_000, 2_000_000)
    both = text.replace("     1.001       1,000,000 ", "     1.001   <not counted> ")
    *_, ratio = figures_of_output(read_output(both))
    assert (ratio.name, ratio.value) == (IPC, 2)
