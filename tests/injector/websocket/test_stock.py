"""What is made many at a time is given once each."""

from itertools import count

import pytest

from workers.injector.websocket.exchange_context import Stock

pytestmark = pytest.mark.pure


def test_it_gives_each_thing_once_and_makes_more_when_there_is_none():
    numbers = count()
    stock = Stock(lambda: [next(numbers) for _ in range(40)])
    taken = [stock.take() for _ in range(100)]
    assert len(set(taken)) == 100
    assert next(numbers) == 120


def test_filled_up_between_attempts_it_need_not_make_any_within_one():
    made = []

    def make():
        made.append(40)
        return list(range(40))

    stock = Stock(make)
    stock.fill_up()
    for _ in range(100):
        n_before = len(made)
        stock.take()
        assert len(made) == n_before
        stock.fill_up()
    assert len(made) == 4
