"""A run's points are stored as columns, an hour in each chunk, and come back as they were."""

from campaigns.domain.measured.series_chunks import (
    POINTS_OF_CHUNK,
    chunks_of,
    columns_of,
    columns_of_chunks,
    points_of_chunks,
)
from tests.values import make_point

N = POINTS_OF_CHUNK + 5


def points():
    errors = [{}, {"reset": 2}]
    return [make_point(n - 3, errors=errors[n % 2], p99_ms=n / 1000) for n in range(N)]


def test_they_come_back_as_they_were():
    assert points_of_chunks(chunks_of(points())) == points()


def test_a_chunk_has_an_hour():
    first, second = columns_of_chunks(chunks_of(points()))
    assert (first["second"][0], first["second"][-1]) == (-3, POINTS_OF_CHUNK - 4)
    assert second == columns_of(points()[POINTS_OF_CHUNK:])


def test_as_written_its_numbers_are_the_text_that_they_are_stored_as():
    first, _ = columns_of_chunks(chunks_of(points()), as_written=True)
    assert first["p99_ms"][:3] == [repr(n / 1000) for n in range(3)]
    assert first["second"][0] == "-3"
    assert first["errors"][1] == {"reset": "2"}
