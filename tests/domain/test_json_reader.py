import pytest

from campaigns.domain.json_reader import JsonReader


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    "value", [float("inf"), float("-inf"), float("nan"), 10**400, -(10**400)], ids=str
)
def test_what_no_float_can_hold_is_no_number(value, whole):
    reader = JsonReader({"n": value})
    assert reader.number("n", 5, low=1, high=10, whole=whole) == 5
    kind = "a whole number" if whole else "a number"
    assert reader.errors == {"n": f"Write {kind} from 1 to 10."}


def test_a_bound_is_written_as_people_write_it():
    reader = JsonReader({"many": 123_456_789, "few": 0.0001})
    reader.number("many", low=1, high=100_000_000, whole=True)
    reader.number("few", low=0.001, high=43_200)
    assert reader.errors == {
        "many": "123,456,789 is outside: write a whole number from 1 to 100,000,000.",
        "few": "0.0001 is outside: write a number from 0.001 to 43,200.",
    }
