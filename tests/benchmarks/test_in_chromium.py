"""The lines that tell what Chromium does with a large page, and with one that it follows."""

import pytest

from benchmarks import followed_hour, opened_pages

pytestmark = pytest.mark.pure


def followed(heap_mb: float, longest_ms: float) -> dict:
    return {"heap_mb": heap_mb, "longest_ms": longest_ms, "n_long": longest_ms > 100}


@pytest.mark.parametrize(
    ("late", "are_met"),
    [
        (followed(13.0, 100), [True, True]),
        (followed(13.1, 100), [False, True]),
        (followed(13.0, 101), [True, False]),
    ],
)
def test_an_hour_is_held_to_its_memory_and_to_its_longest_task(late, are_met):
    seen = {"early": followed(10.0, 60), "late": late, "end": followed(9.0, 400)}
    assert [line.is_met for line in followed_hour.lines_of(seen)] == are_met


def opened(interactive_ms: float, page_b: int) -> dict:
    sent = {"page_b": page_b, "sent_b": page_b + 200_000, "n_requests": 40, "n_nodes": 5000}
    return {"interactive_ms": interactive_ms, "longest_ms": 80, **sent}


@pytest.mark.parametrize(
    ("interactive_ms", "page_b", "are_met"),
    [(1000, 150_000, [True, True]), (1001, 150_000, [False, True]), (900, 150_001, [True, False])],
)
def test_a_page_is_held_to_when_it_answers_and_to_what_is_sent(interactive_ms, page_b, are_met):
    first, later = opened(5000, page_b), [opened(interactive_ms, page_b)] * 3
    lines = list(opened_pages.lines_of("page", 1.0, first, later))
    assert [line.is_met for line in lines if line.goal] == are_met
