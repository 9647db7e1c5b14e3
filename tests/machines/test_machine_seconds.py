import csv
import json

import pytest

from campaigns.domain.metrics.machine import MachinePoint
from campaigns.runs.exports import csv_of_machine_seconds, ndjson_of_machine_seconds

pytestmark = pytest.mark.pure
PERF = {"of": "machine", "lasted_s": 0.99, "counts": {"page-faults": [7, 83.2]}, "lacks": {}}


def rows(machines) -> list[dict[str, str]]:
    return list(csv.DictReader("".join(csv_of_machine_seconds(machines)).splitlines()))


def test_a_row_is_a_second_of_a_machine_with_what_it_told():
    did = {"user_s": 0.5, "running": 2, "cores": [10, 90], "processes": {"nginx": {"cpu_s": 0.4}}}
    (row,) = rows({"shop-1": [MachinePoint(-1, 1.02, {**did, "perf": PERF})]})
    assert row == {
        "source": "shop-1",
        "second": "-1",
        "lasted_s": "1.02",
        "user_s": "0.5",
        "running": "2",
        "busiest_core_percent": "90",
        "nginx cpu_s": "0.4",
        "perf lasted_s": "0.99",
        "perf page-faults": "7",
        "perf page-faults counted_percent": "83.2",
    }


def test_what_a_second_or_a_machine_did_not_tell_is_empty():
    fault = {"perf": {"of": "machine", "fault": "perf is not installed."}}
    second = {
        "a": [MachinePoint(0, 1.0, {"user_s": 0.5}), MachinePoint(1, 1.0, fault)],
        "b": [MachinePoint(0, 1.0, {"perf": PERF})],
    }
    table = rows(second)
    assert [row["source"] for row in table] == ["a", "a", "b"]
    assert [row["user_s"] for row in table] == ["0.5", "", ""]
    assert [row["perf page-faults"] for row in table] == ["", "", "7"]


def test_names_that_a_spreadsheet_would_run_are_escaped():
    (row,) = rows({"=cmd": [MachinePoint(0, 1.0, {"processes": {"=x": {"cpu_s": 1}}})]})
    assert row["source"] == "'=cmd"
    assert row["'=x cpu_s"] == "1"


def test_ndjson_is_a_second_a_line_as_it_is_stored():
    text = "".join(ndjson_of_machine_seconds({"shop-1": [MachinePoint(3, 1.0, {"perf": PERF})]}))
    assert json.loads(text) == {
        "source": "shop-1",
        "second": 3,
        "lasted_s": 1.0,
        "did": {"perf": PERF},
    }
