"""Which tests are compared, and whether they were measured alike."""

from dataclasses import replace
from types import SimpleNamespace

from campaigns.domain.analysis.likeness import ArmRun, Likeness, PlanOnArm, likeness_among, partners
from campaigns.domain.metrics.snapshot import Total
from tests.values import make_second

PRICES = PlanOnArm(1, 1, "prices", 10, 100, "http", "new", 1)
LOGIN = replace(PRICES, plan=2, plan_name="login")


def test_the_same_plan_on_the_same_arm_is_paired_in_any_order():
    assert partners([PRICES, LOGIN], [LOGIN, PRICES]) == [(1, 0), (0, 1)]


def test_the_same_version_comes_before_another_one_and_that_before_the_same_name():
    newer, namesake = replace(PRICES, version=2), replace(PRICES, plan=9)
    assert partners([namesake, newer, PRICES], [PRICES]) == [(2, 0)]
    assert partners([namesake, newer], [PRICES]) == [(1, 0)]
    assert partners([namesake], [PRICES]) == [(0, 0)]


def test_the_same_endpoint_comes_before_the_same_target_and_that_before_another():
    neighbour, elsewhere = replace(PRICES, endpoint=11), replace(PRICES, endpoint=20, target=200)
    assert partners([elsewhere, neighbour, PRICES], [PRICES]) == [(2, 0)]
    assert partners([elsewhere, neighbour], [PRICES]) == [(1, 0)]
    assert partners([elsewhere], [PRICES]) == [(0, 0)]


def test_of_another_target_the_arm_with_the_same_tls_profile_comes_first():
    modern = replace(PRICES, scheme="https")
    old = replace(modern, endpoint=11, tls_profile="TLS 1.2 only")
    there = [replace(each, endpoint=each.endpoint + 10, target=200) for each in (old, modern)]
    assert partners([modern, old], there) == [(1, 0), (0, 1)]


def test_another_scheme_connection_mode_or_number_of_injectors_is_another_test():
    for other in (
        replace(PRICES, scheme="https"),
        replace(PRICES, connection_mode="keep-alive"),
        replace(PRICES, injectors=2),
        LOGIN,
    ):
        assert partners([PRICES], [other]) == []


def test_every_test_has_at_most_one_partner():
    twice = [PRICES, replace(PRICES, version=2)]
    assert partners([PRICES], twice) == [(0, 0)]
    assert partners(twice, [PRICES]) == [(0, 0)]


def points(*rates: float) -> list[PlanOnArm]:
    """Of a sweep of the rate."""
    return [replace(PRICES, swept="rate_per_s", number={"rate_per_s": r}.get) for r in rates]


def test_a_point_of_a_sweep_is_paired_with_the_same_value_and_no_other():
    assert partners(points(5, 10, 20), points(10, 20, 40)) == [(1, 0), (2, 1)]


def test_a_plan_as_it_is_is_the_point_that_has_its_own_value():
    plain = replace(PRICES, number={"rate_per_s": 10, "connections": 4}.get)
    assert partners([plain], points(5, 10, 20)) == [(0, 1)]
    assert partners(points(5, 10, 20), [plain]) == [(1, 0)]
    assert partners([plain], points(5, 20)) == []


def replies(n: int = 100, **counters: int) -> ArmRun:
    """A run of `n` replies with these counters."""
    total = Total()
    total.add(make_second(0, [1000] * n, counters=counters))
    figures = SimpleNamespace(attempts=n)
    return ArmRun(None, ("host 1",), SimpleNamespace(total=total, figures=figures))


def reply_of(*arms: ArmRun) -> Likeness:
    return next(each for each in likeness_among([[arm] for arm in arms]) if each.name == "reply")


def test_servers_that_word_their_heads_differently_give_the_same_reply():
    apache = replies(bytes_received=26_200, head_received=22_100)
    nginx = replies(bytes_received=27_900, head_received=23_100, framing_received=700)
    assert reply_of(apache, nginx) == Likeness("reply", ("41 B", "41 B"), True)


def test_another_body_is_another_reply():
    short = replies(bytes_received=26_200, head_received=22_100)
    long = replies(bytes_received=27_200, head_received=22_100)
    assert reply_of(short, long) == Likeness("reply", ("41 B", "51 B"), False)


def test_of_an_injector_that_does_not_tell_parts_all_bytes_count():
    assert reply_of(replies(bytes_received=26_200)).values == ("262 B",)
