"""A run is split where the set of injectors at work changes, as Uniserve's R99 is (trap T35)."""

import pytest

from campaigns.domain.metrics.kept_requests import (
    KeptRequest,
    Part,
    Span,
    find_phases,
    phases_of_requests,
)
from campaigns.domain.presentation.report_tables import phases_table

# Of the study: how long each phase of R99-1 took, who was at work, and how much was answered.
R99 = [
    (0.99, (0,), 260),
    (1.8, (0, 1), 853),
    (19.0, (0, 1, 2), 8901),
    (0.6, (1, 2), 147),
    (528.0, (2,), 4839),
]
SPANS = [Span(0, 0, 21.79), Span(1, 0.99, 22.39), Span(2, 2.79, 550.39)]


def steady(span, per_s):
    """Parts of an injector that answers evenly while it is at work, exactly as many as fit."""
    parts, done, second = [], 0, int(span.start_s)
    while second < span.end_s:
        upto = round((min(second + 1, span.end_s) - span.start_s) * per_s)
        parts.append(Part(span.injector, second, upto - done, 1000 * (upto - done), 900, 1100))
        done, second = upto, second + 1
    return parts


def test_three_that_begin_apart_have_the_five_phases_of_the_study():
    phases = find_phases(SPANS, [])
    assert [phase.injectors for phase in phases] == [active for _, active, _ in R99]
    assert [phase.duration_s for phase in phases] == pytest.approx([t for t, _, _ in R99])


def test_every_phase_has_its_requests_and_they_add_up():
    rates = (240, 220, 9)
    parts = [part for span, rate in zip(SPANS, rates, strict=True) for part in steady(span, rate)]
    phases = find_phases(SPANS, parts)
    for phase in phases:
        n = phase.duration_s * sum(rates[number] for number in phase.injectors)
        assert phase.n == pytest.approx(n, abs=3)
    assert sum(phase.n for phase in phases) == sum(part.n for part in parts)


def test_the_table_has_n_and_n_per_second_as_the_study_s():
    phases = find_phases(SPANS, [])
    for phase, (_, _, n) in zip(phases, R99, strict=True):
        phase.n = n
    table = phases_table(phases)
    labels = [row.label for row in table.rows]
    assert labels == ["I: 1", "II: 1 + 2", "III: 1 + 2 + 3", "IV: 2 + 3", "V: 3", "All phases"]
    rates = [row.cells[-2].value for row in table.rows]
    assert rates == [262.6, 473.9, 468.5, 245.0, 9.2, 27.3], "the study prints 263 … 9,1 and 27,3"
    assert table.rows[-1].cells[2].value == 15_000


def test_a_phase_s_times_are_of_its_whole_seconds():
    spans = [Span(0, 0, 3), Span(1, 1, 3)]
    parts = [Part(0, 0, 10, 10_000, 500, 2000), Part(0, 1, 5, 25_000, 4000, 6000)]
    alone, both = find_phases(spans, parts)
    assert (alone.n, both.n) == (10, 5)
    assert not alone.is_shared_out
    mean, low, high = (cell.value for cell in phases_table([alone, both]).rows[0].cells[4:7])
    assert (mean, low, high) == (1, 0.5, 2)


def test_a_second_that_a_boundary_cuts_is_shared_out_and_marked():
    spans = [Span(0, 0, 2), Span(1, 0, 0.25)]
    first, second = find_phases(spans, [Part(0, 0, 101)])
    assert (first.n, second.n) == (25, 76)
    assert phases_table([first, second]).rows[0].cells[2].text == "≈ 25"


def ends(injector, end_s, response_us):
    return KeptRequest(1, 0, round(end_s * 1e6) - response_us, response_us, 200, "", 0,
                       injector=injector)  # fmt: skip


def test_where_each_request_is_known_a_phase_shorter_than_a_second_has_its_times():
    spans = [Span(0, 0, 0.4), Span(1, 0.1, 0.9)]
    requests = [ends(0, 0.05, 3000), ends(0, 0.3, 5000), ends(1, 0.3, 7000),
                ends(1, 0.39, 7500), ends(1, 0.4, 9000), ends(1, 0.8, 2000)]  # fmt: skip
    table = phases_table(phases_of_requests(spans, requests), is_exact=True)
    first, both, last, whole = (
        dict(zip([each.key for each in table.columns], row.cells, strict=True))
        for row in table.rows
    )
    assert [each["n"].value for each in (first, both, last, whole)] == [1, 4, 1, 6]
    assert [both[key].value for key in ("mean", "min", "max")] == [7.13, 5.0, 9.0]
    assert [first["max"].value, last["mean"].value] == [3.0, 2.0]


def test_a_phase_says_what_share_of_its_requests_each_process_had():
    spans = [Span(0, 0, 3), Span(1, 1, 3)]
    parts = [Part(0, 0, 10, 1, 1, 1), Part(0, 1, 30, 1, 1, 1), Part(1, 1, 10, 1, 1, 1)]
    shares = [row.cells[-1].value for row in phases_table(find_phases(spans, parts)).rows]
    assert shares == [
        "1: 100\u202f%",
        "1: 75.0\u202f%, 2: 25.0\u202f%",
        "1: 80.0\u202f%, 2: 20.0\u202f%",
    ]
