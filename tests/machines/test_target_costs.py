import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.machines.queries.target_costs import target_costs
from campaigns.models import MachineSecond
from tests.measured import https_campaign, run_in_blocks

pytestmark = pytest.mark.django_db


def tell(
    runs,
    costs: dict[str, list[float]],
    watched: bool = False,
    others_s: float = 0.0,
    moved: dict[str, int] | None = None,
) -> None:
    """An agent told the CPU s per 1,000 requests of each run: 200 ok requests a second. Beside
    that, other programs on the machine used `others_s` in each second. `moved`: bytes of a request
    by scheme, a fifth of them received."""
    for run in runs:
        scheme = run.test.endpoint.scheme
        cpu_s = costs[scheme][run.repeat - 1] / 5
        n_bytes = 200 * (moved[scheme] + run.repeat) if moved else 0
        did = {"received_bytes": n_bytes / 5, "sent_bytes": n_bytes * 4 / 5, "loopback_bytes": 0}
        MachineSecond.objects.bulk_create(
            MachineSecond(
                run=run, source="shop-1", second=second, lasted_s=1, did=did if moved else {},
                busy_s=cpu_s + others_s, watched_s=cpu_s / 2 if watched else None,
            )
            for second in range(-2, 12)
        )  # fmt: skip


@pytest.fixture
def measured(project):
    """HTTP and HTTPS, five repeats of each."""
    campaign, tests = https_campaign(project, repeats=5, order="blocks")
    return campaign, run_in_blocks(tests, [[10_000] * 5, [20_000] * 5])


def costs_of(campaign):
    return target_costs(campaign, campaign_answer(campaign)).cpu


def plain(sentence) -> str:
    return "".join(text for text, _ in sentence).replace("\u202f", " ")


def test_https_costs_the_server_more(measured):
    campaign, runs = measured
    http, https = [6.0, 6.1, 5.9, 6.05, 6.0], [7.2, 7.3, 7.1, 7.25, 7.2]
    tell(runs, {"http": http, "https": https})
    found = costs_of(campaign)
    assert "20.0 % more CPU" in plain(found.sentence)
    of_tests, compared = found.tables
    assert [[cell.text for cell in row.cells] for row in of_tests.rows] == [
        ["6.01", "5.92", "6.10", "1.20", "5"],
        ["7.21", "7.12", "7.30", "1.44", "5"],
    ]
    (row,) = compared.rows
    baseline, candidate, difference, ratio, low, high, word = (cell.value for cell in row.cells)
    assert (baseline, candidate, difference, word) == (6.01, 7.21, 1.2, "costs more")
    assert ratio == pytest.approx(1.2, abs=0.002)
    assert 1.15 < low < ratio < high < 1.25


def test_the_chosen_processes_count_where_every_run_has_them(measured):
    campaign, runs = measured
    costs = {"http": [6.0] * 5, "https": [7.0] * 5}
    tell(runs, costs, watched=True)
    found = costs_of(campaign)
    assert [row.cells[0].text for row in found.tables[0].rows] == ["3.00", "3.50"]
    MachineSecond.objects.filter(run=runs[0], second=3).update(watched_s=None)
    found = costs_of(campaign)
    assert [row.cells[0].text for row in found.tables[0].rows] == ["6.00", "7.00"]


COSTS = {"http": [6.0, 6.1, 5.9, 6.05, 6.0], "https": [7.2, 7.3, 7.1, 7.25, 7.2]}


def compared_of(campaign) -> list[float]:
    """Of the only comparison: HTTP, HTTPS, and their difference."""
    (row,) = costs_of(campaign).tables[1].rows
    return [cell.value for cell in row.cells[:3]]


def test_other_work_on_the_machine_is_in_no_cost_of_chosen_processes(measured):
    campaign, runs = measured
    tell(runs, COSTS, watched=True, others_s=0.7)
    http, https, difference = compared_of(campaign)
    assert (http, https) == pytest.approx((3.0, 3.6), abs=0.01)
    assert difference == pytest.approx(0.6, abs=0.01)


def test_other_work_is_in_the_cost_of_the_machine_and_not_in_its_difference(measured):
    campaign, runs = measured
    tell(runs, COSTS, others_s=0.7)
    http, https, difference = compared_of(campaign)
    assert (http, https) == pytest.approx((6.01 + 3.5, 7.21 + 3.5), abs=0.02)
    assert difference == pytest.approx(1.2, abs=0.02)


def test_https_moves_more_bytes_per_request(measured):
    campaign, runs = measured
    tell(runs, COSTS, moved={"http": 1_000, "https": 4_000})
    found = target_costs(campaign, campaign_answer(campaign)).network
    assert "299.1 % more bytes" in plain(found.sentence)
    of_tests, compared = found.tables
    assert [[cell.value for cell in row.cells] for row in of_tests.rows] == [
        [1003, 1001, 1005, 201, 5],
        [4003, 4001, 4005, 801, 5],
    ]
    assert compared.rows[0].cells[-1].text == "costs more"


def test_a_load_that_went_past_what_was_counted_moved_nothing(measured):
    campaign, runs = measured
    tell(runs, COSTS, moved={"http": 1_000, "https": 4_000})
    nothing = {"received_bytes": 0, "sent_bytes": 0}
    MachineSecond.objects.filter(run__in=runs).update(did=nothing)
    found = target_costs(campaign, campaign_answer(campaign))
    assert (found.network, found.cpu is None) == (None, False)
