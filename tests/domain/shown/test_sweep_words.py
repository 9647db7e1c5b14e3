"""What a sweep says of itself: grows, still grows, falls, stays."""

from dataclasses import replace

import pytest

from campaigns.domain.measured.figures import figures_of
from campaigns.domain.measured.snapshot import Timing, Total
from campaigns.domain.shown.results import SweepAnswer
from campaigns.domain.shown.sentences import plain_text
from campaigns.domain.shown.sweep_points import PointAgainst, SweepPoint, with_speed_up
from campaigns.domain.shown.sweep_table import sweep_table
from campaigns.domain.shown.sweep_words import sweep_sentence

pytestmark = pytest.mark.pure


def point(value: float, rate: int, *, is_trusted=True, word="") -> SweepPoint:
    total = Total(
        counters={"started": rate, "ok": rate}, timings={"response": Timing.of([1] * rate)}
    )
    state = "trusted" if is_trusted else "doubtful"
    against = PointAgainst(word=word) if word else None
    return SweepPoint(
        value, figures_of(total, 1.0), is_trusted, True, 1, 1, state, "healthy", against=against
    )


def sweep(field, points, name="nginx", reference="") -> SweepAnswer:
    points = with_speed_up(field, points)
    table = sweep_table("sweep", "", field, points)
    return SweepAnswer("", "Start page", field, name, table, points, reference)


def said(field, *pairs) -> str:
    return plain_text(sweep_sentence([sweep(field, [point(*pair) for pair in pairs])])).strip()


@pytest.mark.parametrize(
    ("field", "pairs", "words"),
    [
        (
            "injectors",
            [(1, 100), (2, 190), (4, 194)],
            "nginx grows up to 2 injector processes: 190 requests/s, 1.9 times as much as with "
            "1 injector process.",
        ),
        (
            "connections",
            [(2, 100), (8, 390), (16, 200)],
            "nginx grows up to 8 connections: 390 requests/s, 3.9 times as much as with "
            "2 connections, and falls to 200 with 16 connections.",
        ),
        (
            "rate_per_s",
            [(100, 100), (600, 598)],
            "nginx still grows at a rate of 600 requests/s: 598 requests/s.",
        ),
        (
            "session.think_time.mean_s",
            [(0.1, 1000), (0.5, 199)],
            "nginx falls from 1,000 requests/s with a mean think time of 0.1 s to 199 with a mean "
            "think time of 0.5 s.",
        ),
        (
            "session.calls_per_connection",
            [(1, 500), (10, 500)],
            "nginx stays at 500 requests/s, from 1 request per connection to 10 requests per "
            "connection.",
        ),
    ],
)
def test_how_throughput_goes_is_one_plain_sentence(field, pairs, words):
    assert said(field, *pairs) == words


def test_one_trusted_point_says_nothing():
    assert said("injectors", (1, 100)) == ""


def test_what_is_beyond_the_trusted_points_is_not_known():
    points = [point(1, 100), point(2, 190), point(4, 900, is_trusted=False)]
    words = plain_text(sweep_sentence([sweep("injectors", points)]))
    assert "900" not in words


def test_a_server_is_faster_and_slower_at_so_many_values():
    apache = sweep("injectors", [point(n, 100 * n) for n in (1, 2, 3)], "apache")
    words = ["faster", "no practical difference", "slower"]
    points = [point(n, 100 * n, word=word) for n, word in zip((1, 2, 3), words, strict=True)]
    nginx = sweep("injectors", points, "nginx", reference="apache")
    told = plain_text(sweep_sentence([apache, nginx]))
    assert told.endswith(
        "nginx is faster than apache at 1 and slower than apache at 1 of 3 values. "
    )
    alike = replace(nginx, points=[replace(each, against=None) for each in nginx.points])
    assert "apache at" not in plain_text(sweep_sentence([apache, alike]))
