import pytest

from campaigns.domain.plan.reference import LONGEST_NAME, next_name


@pytest.mark.parametrize(
    ("name", "taken", "again"),
    [
        ("Nightly", {"Nightly"}, "Nightly (2)"),
        ("Nightly (2)", {"Nightly", "Nightly (2)"}, "Nightly (3)"),
        ("Nightly", {"Nightly (2)", "Nightly (3)"}, "Nightly (4)"),
        ("Release (4.21)", set(), "Release (4.21) (2)"),
    ],
)
def test_the_first_free_number_follows_the_name(name, taken, again):
    assert next_name(name, taken) == again


def test_a_long_name_stays_within_the_limit():
    again = next_name("x" * LONGEST_NAME, set())
    assert len(again) == LONGEST_NAME
    assert again.endswith(" (2)")
