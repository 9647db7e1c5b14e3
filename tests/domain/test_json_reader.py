import pytest

from campaigns.domain.json_reader import JsonReader


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    "value", [float("inf"), float("-inf"), float("nan"), 10**400, -(10**400)], ids=str
)
def test_what_no_float_can_hold_is_no_number(value, whole):
    reader = JsonReader({"n": value})
    assert reader.number("n", 5, low=1, high=10, whole=whole) == 5
    assert reader.errors.keys() == {"n"}
