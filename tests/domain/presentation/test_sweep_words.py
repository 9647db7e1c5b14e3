"""What a sweep says of itself: grows, falls, stays, and which values are not trusted."""

from dataclasses import replace

from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.analysis.ratio import RatioInterval, Word
from campaigns.domain.metrics.figures import figures_of
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.presentation.sweeps import (
    SweepAnswer,
    SweepPoint,
    sweep_sentence,
    sweep_table,
    untrusted,
    with_speed_up,
)
from campaigns.domain.presentation.target_matrix import (
    MatrixRow,
    Neighbours,
    TargetMatrix,
    matrix_sentence,
)


def apart(low_us: float, high_us: float, metric="mean") -> PairResult:
    """A target that is faster than another, which takes 10 ms, by so much."""
    low, high = 1 - high_us / 10_000, 1 - low_us / 10_000
    ratio = (low + high) / 2
    interval = RatioInterval(ratio, low, high, 5, baseline=10_000, candidate=10_000 * ratio)
    return PairResult(metric, 10_000, 10_000 * ratio, interval)


def point(value: float, rate: int, *, is_trusted=True, word="") -> SweepPoint:
    total = Total(
        counters={"started": rate, "ok": rate}, timings={"response": Timing.of([1] * rate)}
    )
    state = "trusted" if is_trusted else "busy"
    against = replace(apart(380, 520), word=Word(word)) if word else None
    return SweepPoint(
        value, figures_of(total, 1.0), is_trusted, True, 1, 1, state, "healthy", against=against
    )


def sweep(field, points, name="nginx", reference="") -> SweepAnswer:
    points = with_speed_up(field, points)
    table = sweep_table("sweep", "", field, [("", points)])
    return SweepAnswer("", "Start page", field, name, table, points, reference)


def sentence(field, *pairs) -> str:
    return plain_text(sweep_sentence([sweep(field, [point(*pair) for pair in pairs])])).strip()


def test_how_throughput_goes_is_one_plain_sentence():
    for field, pairs, words in [
        (
            "injectors",
            [(1, 100), (2, 190), (4, 194)],
            "Throughput of nginx grows up to 2 injector processes: 190 requests/s, 1.9 times as "
            "much as with 1 injector process.",
        ),
        (
            "connections",
            [(2, 100), (8, 390), (16, 200)],
            "Throughput of nginx grows up to 8 connections: 390 requests/s, 3.9 times as much as "
            "with 2 connections, and falls to 200 with 16 connections.",
        ),
        (
            "rate_per_s",
            [(100, 100), (600, 598)],
            "Throughput of nginx still grows at a rate of 600 requests/s: 598 requests/s.",
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
    ]:
        assert sentence(field, *pairs) == words


def test_one_trusted_point_says_nothing():
    assert sentence("injectors", (1, 100)) == ""


def test_a_busy_machine_gives_a_bound_and_an_order():
    busy = [point(n, 100 * n, is_trusted=False) for n in (1, 2, 3)]
    assert plain_text(sweep_sentence([sweep("injectors", busy)])) == (
        "nginx handles at least 300 requests/s with 3 injector processes. "
        "The machine was busy, so it may be more."
    )
    faster = [replace(each, against=replace(apart(380, 520), word=Word.FASTER)) for each in busy]
    arms = [sweep("injectors", busy, "apache"), sweep("injectors", faster, "nginx", "apache")]
    words = plain_text(sweep_sentence(arms))
    assert "nginx is faster than apache at 3 of 3 values" in words
    useless = [replace(each, is_usable=False) for each in busy]
    assert sweep_sentence([sweep("injectors", useless)]) == []


def test_what_is_beyond_the_trusted_points_is_not_known():
    points = [point(1, 100), point(2, 190), point(4, 900, is_trusted=False)]
    words = plain_text(sweep_sentence([sweep("injectors", points)]))
    assert "900" not in words


def test_a_server_is_faster_and_slower_at_so_many_values():
    apache = sweep("injectors", [point(n, 100 * n) for n in (1, 2, 3)], "apache")
    words = ["faster", "no practical difference", "slower"]
    points = [point(n, 100 * n, word=word) for n, word in zip((1, 2, 3), words, strict=True)]
    nginx = sweep("injectors", points, "nginx", reference="apache")
    text = plain_text(sweep_sentence([apache, nginx]))
    assert text.replace("\u202f", " ").endswith(
        "nginx is faster than apache at 1 of 3 values, by 0.38 to 0.52 ms. "
        "nginx is slower than apache at 1 of 3 values, by 0.38 to 0.52 ms."
    )
    alike = replace(nginx, points=[replace(each, against=None) for each in nginx.points])
    assert "apache at" not in plain_text(sweep_sentence([apache, alike]))


def neighbours(faster: str, slower: str, *ends_us: float, why="", metric="mean") -> Neighbours:
    answer = {"text": why} if why else {"word": Word.FASTER}
    return Neighbours(faster, slower, replace(apart(*ends_us, metric), **answer))


NGINX = neighbours("nginx", "apache", 400, 500)
APACHE = neighbours("apache", "nginx", 2000, 3000)
OPEN = neighbours("nginx", "apache", -200, 300, why="About 5 more blocks would settle it.")
ALIKE = replace(OPEN, row=replace(OPEN.row, word=Word.SAME, text=""))
THIRD = neighbours("apache", "caddy", 1100, 1200)
THIRD_OPEN = neighbours("apache", "caddy", -200, 300, why="About 5 more blocks would settle it.")


def test_a_matrix_names_the_order_of_its_targets_and_by_how_much():
    for orders, words in [
        (
            [[NGINX], [NGINX], [neighbours("nginx", "apache", 300, 350)]],
            "nginx is faster than apache at all 3 plans, by 0.30 to 0.50 ms.",
        ),
        (
            [[neighbours("nginx", "apache", 400, 500, metric="typical")]],
            "nginx is faster than apache at L1, by 0.40 to 0.50 ms at the median.",
        ),
        # Of 10 or of 7.25 ms: the smallest difference holds whichever of the two is right.
        (
            [[neighbours("nginx", "apache", 1500, 4000)]],
            "nginx is faster than apache at L1, by 1.3 to 4.8 ms.",
        ),
        (
            [[NGINX], [APACHE]],
            "The order differs between plans. nginx is faster than apache at L1, by 0.40 to "
            "0.50 ms. apache is faster than nginx at L2, by 1.9 to 3.2 ms.",
        ),
        (
            [[NGINX], [OPEN], []],
            "nginx is faster than apache at L1, by 0.40 to 0.50 ms. No target is clearly ahead at "
            "L2: nginx against apache, 3.0 % faster to 2.0 % slower. About 5 more blocks would "
            "settle it. A verdict at L3 needs 3 usable runs of two targets.",
        ),
        (
            [[NGINX, THIRD]],
            "nginx is the fastest, then apache, then caddy at L1, by 0.40 to 1.2 ms.",
        ),
        (
            [[NGINX, THIRD_OPEN]],
            "nginx is the fastest, then apache and caddy at L1, by 0.40 to 0.50 ms.",
        ),
        ([[OPEN, THIRD]], "nginx and apache are the fastest, then caddy at L1, by 1.1 to 1.2 ms."),
        (
            [[replace(NGINX, row=replace(NGINX.row, or_more=True))]],
            "nginx is faster than apache at L1, by 0.40 ms or more.",
        ),
        (
            [[replace(NGINX, row=replace(NGINX.row, interval=None))]],
            "nginx is faster than apache at L1.",
        ),
        (
            [[ALIKE], [ALIKE]],
            "There is no practical difference at L1 and L2, such as nginx against apache, 3.0 % "
            "faster to 2.0 % slower.",
        ),
        (
            [[replace(ALIKE, row=replace(apart(90, 110), word=Word.SAME))]],
            "There is no practical difference at L1: nginx against apache, 0.9 to 1.1 % faster.",
        ),
        ([[NGINX, *[THIRD] * 4]], "nginx is the fastest of 6 at L1, by 0.40 to 0.50 ms."),
        ([[]], ""),
    ]:
        rows = tuple(MatrixRow(f"L{n}", (), tuple(order)) for n, order in enumerate(orders, 1))
        text = plain_text(matrix_sentence(TargetMatrix(("nginx", "apache"), rows, 1)))
        assert text.replace("\u202f", " ") == words


def test_each_point_that_is_not_trusted_says_why():
    arm = [point(1, 100), replace(point(2, 100, is_trusted=False), why="Stopped after 3 s.")]
    assert untrusted([("nginx", arm)]) == [("2, nginx", "Stopped after 3 s.")]
