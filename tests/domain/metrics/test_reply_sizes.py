"""The parts of replies, and pages that become others while they are measured."""

import random

import pytest

from campaigns.domain.metrics.series import BodyWatch, reply_sizes
from campaigns.domain.metrics.snapshot import Second, Total


def sizes(bodies, *, step=0, head=100, framing=0):
    n = len(bodies)
    counters = {
        "ok": n, "head_received": head * n, "body_received": sum(bodies),
        "framing_received": framing * n, "body_squares": sum(body * body for body in bodies),
    }  # fmt: skip
    return Second(0, step, counters)


def changes(*seconds):
    watch = BodyWatch()
    return [watch.change([each] if isinstance(each, Second) else each) for each in seconds]


def random_bodies(mean, n, seed):
    draw = random.Random(seed)
    return [round(draw.lognormvariate(0, 0.8) * mean) for _ in range(n)]


def test_the_parts_are_means_of_ok_replies():
    parts = reply_sizes(Total(sizes([4000, 4150], framing=7).counters))
    assert (parts.head, parts.body, parts.framing, parts.whole) == (100, 4075, 7, 4182)
    assert (parts.body_sd, parts.varies) == (75, True)
    assert not reply_sizes(Total(sizes([4075] * 3).counters)).varies


def test_where_nobody_counted_them_there_are_none():
    for counters in [{}, {"ok": 5}, {"head_received": 5}]:
        assert reply_sizes(Total(counters)) is None


def test_another_page_is_seen_in_its_first_second():
    for a_second in [1, 10, 1000]:
        steady, other = sizes([1000] * a_second), sizes([1015] * a_second)
        assert changes(steady, steady, other)[1:] == [0, pytest.approx(0.015)]


def test_a_change_within_a_slow_second_is_seen_once_there_are_replies_enough():
    before, between, after = [1000] * 10, [1000] * 5 + [500] * 5, [500] * 10
    shares = changes(*map(sizes, [before] * 6 + [between] + [after] * 5))
    assert max(change or 0 for change in shares) > 0.2


def test_sizes_that_vary_by_themselves_are_no_change():
    for a_second in [5, 200]:
        for seed in range(20):
            bodies = random_bodies(2000, 60 * a_second, seed)
            parts = [bodies[at : at + a_second] for at in range(0, len(bodies), a_second)]
            assert max(change or 0 for change in changes(*map(sizes, parts))) == 0


def test_a_page_that_varies_and_becomes_another_is_seen():
    for a_second in [60, 200]:
        first, then = random_bodies(2000, 30 * a_second, 1), random_bodies(4000, 30 * a_second, 2)
        bodies = first + then
        parts = [bodies[at : at + a_second] for at in range(0, len(bodies), a_second)]
        assert max(change or 0 for change in changes(*map(sizes, parts))) > 0.2


def test_steps_are_compared_each_with_itself():
    both = [sizes([1000] * 5), sizes([9000] * 5, step=1)]
    fewer = [sizes([1000] * 9), sizes([9000] * 1, step=1)]
    assert changes(both, fewer)[1] == 0
