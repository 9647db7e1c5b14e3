"""The cells of a new campaign's grid: plans × arms, each made when it is asked for."""

from types import SimpleNamespace

import pytest

from campaigns.campaigns.queries.campaign_grid import Arm, Cells, GridPlan
from campaigns.domain.plan.plan import ConnectionMode

EXCHANGE = {"path": "/feed", "messages": 5}


def arm(number: int, scheme: str) -> Arm:
    endpoint = SimpleNamespace(pk=number, scheme=scheme)
    return Arm(endpoint, ConnectionMode.NEW)


def plan(number: int, exchange: object = None) -> GridPlan:
    return GridPlan(SimpleNamespace(pk=number), SimpleNamespace(exchange=exchange))


PLANS = [plan(7), plan(3, exchange=EXCHANGE), plan(5)]
ARMS = [arm(2, "http"), arm(9, "wss"), arm(1, "https")]
KEYS = ["7.2.new", "7.1.new", "3.9.new", "5.2.new", "5.1.new"]


def test_they_are_all_pairs_that_fit_in_the_order_of_the_grid():
    cells = Cells(PLANS, ARMS)
    assert list(cells) == KEYS
    assert len(cells) == len(KEYS)
    assert [cells[key] for key in KEYS] == [
        (each, other) for each in PLANS for other in ARMS if each.fits(other)
    ]


def test_what_does_not_fit_or_is_not_there_is_no_cell():
    for key in [
        "7.9.new",
        "3.2.new",
        "4.2.new",
        "7.8.new",
        "7.2.resumed",
        "7",
        "",
        "7.2",
        ".",
        "7.2.",
    ]:
        assert key not in Cells(PLANS, ARMS)
        with pytest.raises(KeyError):
            Cells(PLANS, ARMS)[key]


def test_ticks_are_put_into_the_order_of_the_grid_each_once():
    ticks = ["5.1.new", "3.9.new", "gone.1.new", "7.9.new", "7.1.new", "5.1.new", "7.2.new"]
    assert Cells(PLANS, ARMS).in_order(ticks) == ["7.2.new", "7.1.new", "3.9.new", "5.1.new"]
