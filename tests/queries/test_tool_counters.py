import pytest

from campaigns.queries.answers import campaign_answer
from campaigns.queries.tool_counters import tool_counters
from campaigns.services.tool_outputs import add_output
from tests.queries.measured import https_campaign, run_in_blocks

pytestmark = pytest.mark.django_db


def perf(cycles: int, instructions: int) -> str:
    return (
        " Performance counter stats for 'system wide':\n\n"
        f"    {cycles:,}      cycles\n    {instructions:,}      instructions\n"
        "    <not supported>      branches\n\n    10.002193442 seconds time elapsed\n"
    )


@pytest.fixture
def measured(project):
    """HTTP and HTTPS, three repeats of each."""
    campaign, tests = https_campaign(project, repeats=3, order="blocks")
    return campaign, run_in_blocks(tests, [[10_000] * 3, [20_000] * 3])


def tell(runs, by) -> None:
    """HTTPS took half as many cycles more."""
    for run in runs:
        times = 1.5 if run.test.endpoint.scheme == "https" else 1
        cycles = round((1_000_000 + 10_000 * run.repeat) * times)
        add_output(by=by, run=run, text=perf(cycles, 500_000))


def counters_of(campaign):
    return tool_counters(campaign, campaign_answer(campaign))


def test_http_is_beside_https_with_the_interval_of_the_ratio(measured, as_bob):
    campaign, runs = measured
    tell(runs, as_bob)
    (table,) = counters_of(campaign).compared
    assert [column.title for column in table.columns[:2]] == ["HTTP", "HTTPS"]
    row = next(row for row in table.rows if row.label == "cycles")
    http, https, ratio, low, high = (cell.value for cell in row.cells)
    assert (http, https) == (1_020_000, 1_530_000)
    assert ratio == pytest.approx(1.5, abs=0.001)
    assert low <= ratio <= high
    assert not any(column.is_text for column in table.columns), "no word"


def test_means_have_intervals_and_figures_that_follow_from_two(measured, as_bob):
    campaign, runs = measured
    tell(runs, as_bob)
    (table,) = counters_of(campaign).means
    cells = {row.label.partition(":")[0]: row.cells for row in table.rows}
    assert {"cycles", "instructions", "instructions per cycle", "time elapsed, s"} == set(cells)
    mean, low, high, n_runs = (cell.value for cell in cells["instructions per cycle"])
    assert low < mean < high
    assert n_runs == 3


def test_one_run_has_no_interval_and_the_newest_output_counts(measured, as_bob):
    campaign, runs = measured
    for cycles in (7, 9):
        add_output(by=as_bob, run=runs[0], text=perf(cycles, 5))
    found = counters_of(campaign)
    assert found.compared == []
    row = next(row for row in found.means[0].rows if row.label.startswith("cycles"))
    assert [cell.value for cell in row.cells] == [9, None, None, 1]


def test_a_campaign_without_outputs_has_none(measured):
    assert counters_of(measured[0]) is None
