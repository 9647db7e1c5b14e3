"""What `python -m benchmarks.file_set_study` prints of a campaign's tables."""

import pytest

from benchmarks.file_set_study import report

pytestmark = pytest.mark.pure


def test_the_report_has_the_sentence_the_matrix_and_each_row_of_means():
    rows = [
        {"label": "Repeat 1", "values": {"mean": 2}},
        {"label": "Mean of 5", "values": {"mean": 3}},
    ]
    tables = {
        "sentence": "nginx is the fastest.",
        "matrix": {"rows": [{"label": "L1", "values": {"target": "nginx", "mean": 0.4}}]},
        "tests": [{"table": {"title": "L1: nginx", "rows": rows}}],
    }
    assert list(report(tables)) == [
        "nginx is the fastest.",
        "  L1: {'target': 'nginx', 'mean': 0.4}",
        "  L1: nginx, Mean of 5: {'mean': 3}",
    ]
