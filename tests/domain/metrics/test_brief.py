"""A total in brief says what the total says, and reads a histogram only for what is not kept."""

import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.metrics.figures import (
    SHOWN_PERCENTILES,
    brief_of,
    figures_of,
    histograms_of,
    percentiles_us,
    read_brief,
    read_whole,
)
from campaigns.domain.metrics.histogram import HIGHEST_US, Histogram
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.percentiles import P50, P95, P999

values_us = st.lists(st.integers(1, HIGHEST_US), min_size=1, max_size=200)
# Where a percentile may be on either side.
TWO_LEVELS = np.repeat([10_000, 90_000], [950, 50])


def total_of(values, other=(5, 6, 7)) -> Total:
    timings = {"response": Timing.of(values), "lateness": Timing.of(other), "tls": Timing()}
    return Total({"ok": len(values)}, {"reset": 2}, {"200": len(values)}, timings)


def not_asked(name: str) -> Histogram:
    pytest.fail(f"The histogram of {name} was read.")


def histogram_of(total: Total, name: str) -> Histogram:
    return total.timings[name].histogram


def in_brief(total: Total, whole=not_asked) -> Total:
    """As it comes back from the database."""
    text = json.dumps(brief_of(total, lambda name: SHOWN_PERCENTILES, SHOWN_PERCENTILES))
    return read_brief(json.loads(text), whole)


@given(values_us)
def test_it_has_the_same_figures(values):
    total = total_of(values)
    brief = in_brief(total)
    for name in ("counters", "errors", "statuses"):
        assert getattr(brief, name) == getattr(total, name)
    figures, brief_figures = (figures_of(each, 10.0) for each in (total, brief))
    assert dict(brief_figures.percentiles) == dict(figures.percentiles)
    assert (brief_figures.n, brief_figures.mean_us) == (len(values), figures.mean_us)
    assert (brief_figures.min_us, brief_figures.max_us) == (min(values), max(values))
    response, brief_response = total.timing("response"), brief.timing("response")
    assert brief_response.sd_us == response.sd_us
    for q in SHOWN_PERCENTILES:
        assert brief_response.percentile_us(q) == response.percentile_us(q)
        assert brief_response.jump_us(q) == response.jump_us(q)


def test_it_knows_at_which_percentiles_there_is_a_jump():
    brief = in_brief(total_of(TWO_LEVELS)).timing("response")
    assert brief.jump_us(P95) == pytest.approx((10_000, 90_000), rel=1e-3)
    assert brief.jump_us(P50) is None


@pytest.mark.parametrize("ask", [percentiles_us, lambda timing, qs: timing.percentile_us(*qs)])
def test_what_is_not_kept_is_read_once(ask):
    total, read = total_of(range(5000)), []

    def whole(name: str) -> Histogram:
        read.append(name)
        return histogram_of(total, name)

    response, brief = total.timing("response"), in_brief(total, whole).timing("response")
    for _ in range(2):
        assert ask(brief, [P999]) == ask(response, [P999])
    assert brief.jump_us(P999) == response.jump_us(P999)
    assert read == ["response"]


def test_totals_in_brief_add_up_to_the_same_as_the_totals():
    parts = [total_of(range(1000, 2000)), total_of(range(500, 3000))]
    briefs = [in_brief(each, partial(histogram_of, each)) for each in parts]
    whole, together = (
        Timing.together(each.timing("response") for each in of) for of in (parts, briefs)
    )
    assert together == whole
    assert together.percentile_us(P999) == whole.percentile_us(P999)


def test_a_stored_total_decodes_its_histograms_when_they_are_asked_for():
    total = total_of([1000, 2000])
    brief = brief_of(total, lambda name: SHOWN_PERCENTILES, SHOWN_PERCENTILES)
    whole = read_whole(brief, histograms_of(total))
    assert whole.timing("response") == total.timing("response")
    junk = histograms_of(total) | {"lateness": "no payload"}
    assert read_whole(brief, junk).timing("lateness").mean_us == 6
