"""Several targets side by side: the matrix as its page has it, and the repeats of one plan."""

import re

import pytest
from django.urls import reverse

from tests.queries.measured import spoil
from tests.queries.test_target_matrix import around, ask
from tests.views.pages import text_of

__all__ = ["ask"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def measured(client, alice, ask):
    client.force_login(alice)
    campaign, runs, _ = ask({"L1": [around(2000), around(1800)], "L2": [around(2100)] * 2})
    return runs, reverse("campaign-detail", args=[campaign.pk])


def test_each_value_stands_under_the_head_of_its_target(client, measured):
    page = text_of(client.get(measured[1]))
    table = page.partition('class="table as-blocks matrix"')[2].partition("</table>")[0]
    head, _, body = table.partition("</thead>")
    heads = [re.sub("<.+?>", " ", each) for each in re.findall("<th .+?</th>", head)]
    cells = re.findall("<t[hd].+?</t[hd]>", body.partition("</tr>")[0])
    assert "colspan" not in head
    assert len(heads) == len(cells)
    for name in ("apache", "nginx"):
        (place,) = (n for n, each in enumerate(heads) if each.split()[0] == name)
        assert f"{name}</span>" in cells[place]


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
    spoil(runs[0], missing_seconds=0.5)
    rows = table_of(client, address).rows
    spoilt = [row.targets[0] for row in rows if row.targets[0].is_apart]
    assert [each.why for each in spoilt] == ["Not usable: 50.0\u202f% of the seconds are missing"]
