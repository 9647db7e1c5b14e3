import pytest

from campaigns.domain.judged.validity import LIMITS, Limits, Observed, judge, limits_with
from campaigns.domain.lifecycle import Validity

HEADLINE_US = 10_000.0


def judged(headline_us: float | None = HEADLINE_US, limits=LIMITS, n: int = 5000, **values):
    observed = {
        "too_few_requests": Observed(n),
        **{
            code: each if isinstance(each, Observed) else Observed(each)
            for code, each in values.items()
        },
    }
    return judge(observed, limits, headline_us)


def codes(reasons) -> list[str]:
    return [reason["code"] for reason in reasons]


def test_nothing_to_complain_about_is_valid():
    assert judged(cpu=0.3, errors=0.0, lateness_p99=100) == (Validity.VALID, [])


@pytest.mark.parametrize(
    ("code", "fine", "suspicious", "invalid"),
    [
        ("lateness_p99", 2_000, 2_001, 10_001),
        ("cpu", 0.60, 0.61, 0.86),
        ("cpu_5s", 0.80, 0.81, 0.96),
        ("run_delay", 0.10, 0.11, 0.21),
        ("hub_lag", 100_000, 100_001, 400_001),
        ("hub_lag_p99", 5_000, 5_001, 25_001),
        ("steal", 0.02, 0.021, 0.11),
        ("gc_pause", 10_000, 10_001, 100_001),
        ("gc_share", 0.01, 0.011, 0.051),
        ("open_files", 0.70, 0.71, 0.96),
        ("ports", 0.70, 0.71, None),
        ("swapped", 0, 1, 101),
        ("clock_step", 50_000, 50_001, 500_001),
        ("link", 0.80, 0.81, None),
        ("starts_apart", 100_000, 100_001, 1_000_001),
        ("packets_lost", 0.01, 0.011, None),
        ("resent", 0.01, 0.011, 0.051),
        ("slot_wait", 0.001, 0.002, None),
        ("in_doubt", 0.0, 0.001, 0.011),
        ("warming_up", 0.0, 0.9, None),
        ("slowing_down", 0.0, 0.8, None),
        ("other_cpu", 0.20, 0.21, 0.51),
        ("little", 0.05, 0.06, 0.21),
        ("missing_seconds", 0.0, 0.005, 0.011),
        ("errors", 0.01, 0.011, 0.11),
        ("sent_share", 0.999, 0.9989, None),
        ("dropped", 0.001, 0.002, None),
        ("injector_exhausted", 0, None, 1),
        ("only_redirects", 0.0, 1.0, None),
        ("co_located", 0.0, 1.0, None),
    ],
)
def test_each_criterion_on_both_sides_of_its_limits(code, fine, suspicious, invalid):
    assert judged(**{code: fine})[0] is Validity.VALID
    if suspicious is not None:
        assert judged(**{code: suspicious})[0] is Validity.SUSPICIOUS
    if invalid is not None:
        validity, reasons = judged(**{code: invalid})
        assert validity is Validity.INVALID
        assert codes(reasons) == [code]


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1000, Validity.VALID),
        (999, Validity.SUSPICIOUS),
        (100, Validity.SUSPICIOUS),
        (99, "invalid"),
    ],
)
def test_few_requests_are_suspicious_and_very_few_invalid(n, expected):
    assert judged(n=n)[0] == expected


def test_a_single_request_is_told_in_the_singular():
    _, reasons = judged(n=1, injector_exhausted=1)
    texts = [reason["text"] for reason in reasons]
    assert texts[0].startswith("Only 1 request was measured. With fewer than 100, ")
    assert "ports for 1 request. The target" in texts[1]
    assert judged(n=50)[1][0]["text"].startswith("Only 50 requests were measured")


def test_lateness_counts_against_the_run_s_own_percentile():
    assert judged(headline_us=100_000.0, lateness_p99=9_900)[0] is Validity.VALID
    assert judged(headline_us=100_000.0, lateness_p99=10_100)[0] is Validity.SUSPICIOUS
    assert judged(headline_us=100_000.0, lateness_p99=25_100)[0] is Validity.INVALID


def test_dropped_requests_blame_the_target_when_the_injector_was_on_time():
    validity, reasons = judged(dropped=0.05, lateness_p99=100)
    assert validity is Validity.SUSPICIOUS
    assert codes(reasons) == ["target_saturated"]
    assert "The target did not keep up" in reasons[0]["text"]


def test_dropped_requests_blame_the_injector_when_it_sent_late():
    validity, reasons = judged(dropped=0.05, lateness_p99=20_000)
    assert validity is Validity.INVALID
    assert set(codes(reasons)) == {"dropped", "lateness_p99"}


def test_unsent_requests_are_invalid_only_with_a_late_injector():
    assert judged(sent_share=0.9)[0] is Validity.SUSPICIOUS
    assert judged(sent_share=0.9, lateness_p99=20_000)[0] is Validity.INVALID


def test_a_reason_has_value_limit_worst_second_and_a_sentence():
    _, (reason,) = judged(cpu=Observed(0.9, second=12, injector=2))
    assert reason["validity"] == "invalid"
    assert (reason["value"], reason["limit"], reason["second"]) == (0.9, 0.85, 12)
    assert reason["text"] == (
        "Injector process 2 was busy: 90.0\u202f% of a core on average (limit 85.0\u202f%). "
        "Worst in second 12."
    )


def test_the_worst_reason_comes_first():
    _, reasons = judged(co_located=1.0, cpu=0.9)
    assert codes(reasons) == ["cpu", "co_located"]


def test_nothing_measured_is_one_reason_and_no_list_of_consequences():
    validity, reasons = judged(n=0, headline_us=None, errors=1.0)
    assert (validity, codes(reasons)) == (Validity.INVALID, ["no_requests"])


def test_only_failures_have_no_response_time():
    validity, reasons = judged(headline_us=None, errors=1.0)
    assert validity is Validity.INVALID
    assert set(codes(reasons)) == {"errors", "no_success"}


def test_settings_may_move_a_limit_but_not_invent_one():
    limits = limits_with({"co_located": (None, None), "cpu": (0.9, 0.99)})
    assert limits["cpu"] == Limits(0.9, 0.99)
    assert judged(limits=limits, co_located=1.0, cpu=0.8)[0] is Validity.VALID
    with pytest.raises(KeyError, match="unknown codes: mood"):
        limits_with({"mood": (1, 2)})
