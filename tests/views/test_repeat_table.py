"""The repeats of one plan of a matrix, all targets side by side."""

import pytest
from django.urls import reverse

from tests.queries.measured import spoil
from tests.queries.test_target_matrix import around, ask

__all__ = ["ask"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def measured(client, alice, ask):
    client.force_login(alice)
    campaign, runs, _ = ask({"L1": [around(2000), around(1800)], "L2": [around(2100)] * 2})
    return runs, reverse("campaign-detail", args=[campaign.pk])


def table_of(client, address: str):
    return client.get(address).context["repeat_table"]


def test_the_mean_stands_above_every_repeat_and_each_target_has_total_mean_min_and_max(
    client, measured
):
    _, address = measured
    shown = table_of(client, address)
    assert [name for name, _ in shown.targets] == ["apache", "nginx"]
    assert [row.label for row in shown.rows] == ["Mean", *(f"Repeat {n}" for n in range(1, 6))]
    assert [title for title, _ in shown.heads] == ["total", "mean", "min", "max"]
    mean, *repeats = [row.targets[0].cells[1].value for row in shown.rows]
    assert mean == pytest.approx(sum(repeats) / 5, rel=0.01) == pytest.approx(2.0, rel=0.02)


def test_the_reader_chooses_the_plan(client, measured):
    _, address = measured
    assert [each[1:] for each in table_of(client, address).plans] == [("L1", True), ("L2", False)]
    shown = table_of(client, f"{address}?plan=2")
    assert shown.plan == "L2"
    assert shown.rows[0].targets[1].cells[1].value == pytest.approx(2.1, rel=0.02)
    assert table_of(client, f"{address}?plan=99").plan == "L1", "unknown: the first"


def test_a_run_that_cannot_be_used_is_grey_and_says_why(client, measured):
    runs, address = measured
    spoil(runs[0], cpu=0.99)
    rows = table_of(client, address).rows
    spoilt = [row.targets[0] for row in rows if row.targets[0].is_apart]
    assert [each.why for each in spoilt] == ["Not usable: the injector was busy"]
