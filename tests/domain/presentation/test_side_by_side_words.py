"""The sentences about arms that took turns: subject first, short, and no more than is known."""

import pytest

from campaigns.domain.analysis.ratio import RatioInterval, word_of
from campaigns.domain.analysis.side_by_side import ArmComparison, ArmSeconds
from campaigns.domain.metrics.snapshot import Second, Timing
from campaigns.domain.presentation.intervals import answer, limits_of, ratio_text

NAMES = ("old", "new")


def between(low, high, value=None, **more):
    p50 = RatioInterval(value or (low * high) ** 0.5, low, high, 40, 0.99)
    return ArmComparison(1, 0, word_of(p50.low, p50.high, 0.05), p50, n_rounds=40, **more)


def test_each_answer_is_one_sentence_with_its_bounds():
    for result, sentence in [
        (between(1.19, 1.29, 1.24), "new is 24 % slower than old (19 to 29 %)."),
        (
            between(1.19, 1.29, 1.24, at_least=True),
            "new is at least 19 % slower than old (best estimate 24 %).",
        ),
        (between(1.012, 1.09, 1.05), "new is 5.0 % slower than old (1.2 to 9.0 %)."),
        (between(4.1, 4.9, 4.4), "new is 4.4 × slower than old (4.1 to 4.9 ×)."),
        (between(4.1, 4.9, 4.4, behind=[1]), "new is slower than old."),
        (between(0.8, 0.9, 0.85), "new is 15 % faster than old (10 to 20 %)."),
        (between(0.99, 1.016), "new shows no practical difference from old (−1 to +2 %)."),
        (
            between(0.88, 1.04),
            "new is not slower than old (at most 12 % faster, at most 4.0 % slower).",
        ),
        (
            between(0.97, 1.2),
            "new is not faster than old (at most 3.0 % faster, at most 20 % slower).",
        ),
        (between(0.9, 1.12), "new is too close to call against old (10 % faster to 12 % slower)."),
        (
            ArmComparison(1, 0, None, None, failing=[1]),
            "More than a tenth of the requests to new failed, so times are not compared.",
        ),
        (ArmComparison(1, 0, None, None), "No two rounds had five replies of both old and new."),
    ]:
        text = answer(result, NAMES).replace("\u202f", " ")
        assert text == sentence
        assert len(text.split()) <= 20


def test_limits_are_told_after_the_answer():
    quiet, busy = RatioInterval(3.9, 3.7, 4.1, 30, 0.99), RatioInterval(6.2, 5.0, 7.0, 30, 0.99)
    result = between(3.7, 4.1, behind=[1], halves={"load": (quiet, busy)})
    limits = limits_of(result, NAMES, rate_per_s=50.0, asked_per_s=200.0, elapsed_s=10)
    assert [each.replace("\u202f", " ") for each in limits] == [
        "How much cannot be told at 50/s: new does not keep up here.",
        "The rate was 50/s: 200/s were too much for this machine.",
        "Load matters: 3.9 × slower when quieter, 6.2 × slower when busier.",
    ]


def test_what_is_open_says_how_long_it_would_take():
    [limit] = limits_of(between(0.9, 1.12), NAMES, elapsed_s=10)
    assert limit.startswith("About ")
    assert limit.endswith(" s more would settle it.")
    assert limits_of(between(0.99, 1.016), NAMES, elapsed_s=10) == []


def test_a_ratio_is_written_with_its_interval():
    assert ratio_text(RatioInterval(1.24, 1.19, 1.294, 9, 0.99)) == "1.24 [1.19, 1.29]"
    assert ratio_text(None) == "–"


def second_of(number, us, own_us=100, n=100, step=0):
    whole = Timing.of([us + own_us] * n)
    timings = {"response": whole, "sampled": whole, "undelayed": Timing.of([us] * n)}
    return Second(number, step, {"ok": n, "failed": 1}, timings=timings)


def test_a_percentile_lies_between_without_the_injector_when_quiet_and_as_measured():
    quiet = [second_of(k, 1000) for k in range(15)]
    busy = [second_of(k, 3000, own_us=900) for k in range(15, 30)]
    arms = [quiet + busy, [*quiet, second_of(-1, 9000), *busy]]
    for arm in ArmSeconds(arms).figures():
        assert (arm.n, arm.failed) == (3000, 30)
        low, high = arm.bounds_us["p99"]
        assert (low, high) == (pytest.approx(1000, rel=0.01), pytest.approx(3900, rel=0.01))


def test_steps_of_a_second_are_one_and_few_requests_have_no_high_percentile():
    arm = [second_of(0, 1000, n=20), second_of(0, 2000, n=20, step=1)]
    [one, _] = ArmSeconds([arm, arm]).figures()
    assert one.n == 40
    assert one.bounds_us["p50"] is not None
    assert one.bounds_us["p99"] is None


def test_ratios_of_high_percentiles_are_of_the_same_seconds():
    before = [second_of(k, 1000 + 10 * k) for k in range(12)]
    after = [second_of(k, 2 * (1000 + 10 * k)) for k in range(12)]
    ratios = ArmSeconds([before, after]).ratios(1)
    assert ratios["p90"].ratio == pytest.approx(2, rel=0.01)
    assert ratios["p99"] is None
