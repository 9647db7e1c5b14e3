from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain import units
from campaigns.domain.presentation.overhead_table import split_answer
from campaigns.domain.presentation.tables import Figure, column_cells


def test_numbers_are_rounded_half_up_with_commas_and_a_true_minus():
    for value, decimals, text in [
        (99.05, 1, "99.1"),
        (0.125, 2, "0.13"),
        (2.5, 0, "3"),
        (-0.004, 2, "0.00"),
        (-12.345, 2, "−12.35"),
        (1997.4, 0, "1,997"),
        (None, 2, "–"),
    ]:
        assert units.number(value, decimals) == text


def test_differences_carry_their_sign_and_zero_has_none():
    assert units.number(10.26, 1, signed=True) == "+10.3"
    assert units.number(-0.39, 2, signed=True) == "−0.39"
    assert units.number(0.001, 2, signed=True) == "0.00"


def test_units_stand_behind_a_narrow_space_that_does_not_break():
    assert units.ms(29_130) == "29.1\u202fms"
    assert units.percent(0.5432) == "54.3\u202f%"
    assert units.percent(0.0038) == "0.38\u202f%"


def test_no_value_is_a_dash_without_a_unit():
    assert {units.ms(None), units.percent(None), units.rate(None), units.count(None)} == {"–"}
    assert units.figure(None) == "–"


def test_a_second_of_a_long_run_is_told_in_minutes():
    seconds = (-10, 0, 59, 60, 804, 3723)
    texts = ["−10 s", "0 s", "59 s", "1:00", "13:24", "1:02:03"]
    assert [units.second_text(second) for second in seconds] == texts


def test_one_number_has_three_significant_digits():
    for value, text in [(18.87, "18.9"), (1997.2, "1,997"), (0.4567, "0.457"), (0, "0.00")]:
        assert units.figure(value) == text


def test_a_column_has_the_decimals_of_its_typical_value():
    cells = column_cells([Figure(18.87), Figure(2000.4), Figure(0.567), Figure(None, "why")])
    assert [cell.text for cell in cells] == ["18.9", "2,000.4", "0.6", "–"]
    assert cells[3].why == "why"


def test_a_column_shows_no_small_value_as_0_and_stays_aligned():
    cells = column_cells([Figure(151.0), Figure(250.4), Figure(0.034), Figure(0)])
    assert [cell.text for cell in cells] == ["151.000", "250.400", "0.034", "0.000"]
    assert cells[2].value == 0.034, "JSON has the text's digits"


def test_a_cell_s_value_has_the_digits_of_its_text():
    cells = column_cells([Figure(-1234.567), Figure(2.345)], decimals=1, signed=True)
    assert [(cell.value, cell.text) for cell in cells] == [(-1234.6, "−1,234.6"), (2.3, "+2.3")]


def test_a_small_value_has_more_decimals_than_its_column_and_does_not_read_0():
    for value, decimals, text in [
        (0.04, 1, "+0.04"),
        (-0.0006, 0, "−0.001"),
        (0.0004, 1, "0.000"),  # below a microsecond in milliseconds
        (0.0, 1, "0.0"),
        (12.04, 1, "+12.0"),
        (0.00001, 4, "0.0000"),
    ]:
        (cell,) = column_cells([Figure(value)], decimals=decimals, signed=True)
        assert cell.text == text


parts = st.dictionaries(
    st.sampled_from(["dns", "connect", "tls", "wait"]), st.floats(-1e4, 1e4), min_size=1
)


@given(parts, st.integers(0, 3))
def test_rounded_parts_add_up_to_the_rounded_total(values, decimals):
    cells, total = units.rounded_to_sum(values, decimals)
    assert sum(cells.values(), Decimal(0)) == total
    unit = 10**-decimals
    assert all(abs(float(cells[name]) - value) <= unit for name, value in values.items())


@given(parts, parts)
def test_the_rows_of_a_split_add_up(http, https):
    both = {*http, *https}
    arms = [
        (scheme, scheme, {part: arm.get(part, 0.0) for part in both})
        for scheme, arm in (("http", http), ("https", https))
    ]
    split = split_answer(arms)
    for row in split.rows:
        assert sum(row["parts"].values()) == pytest.approx(row["total_ms"], abs=1e-9)


def test_a_part_that_only_one_of_them_has_is_none_in_the_other():
    split = split_answer(
        [
            ("HTTP", "http", {"tls": None, "wait": 13_870.0, "send": None}),
            ("HTTPS", "https", {"tls": 9_590.0, "wait": 14_460.0, "send": None}),
        ]
    )
    assert split.rows[0]["parts"] == {"tls": None, "wait": 13.87, "send": None}
    assert split.rows[1]["parts"] == {"tls": 9.59, "wait": 14.46, "send": None}


def test_a_small_part_keeps_three_digits_beside_a_large_one():
    arms = [
        (scheme, scheme, {"connect": 34.0, "wait": wait_us})
        for scheme, wait_us in (("http", 151_000.0), ("https", 250_000.0))
    ]
    split = split_answer(arms)
    assert [row["parts"]["connect"] for row in split.rows] == [0.034, 0.034]
    assert split.decimals == 3


def test_a_figure_beside_its_limit_has_the_decimals_that_tell_them_apart():
    for value, limit, decimals in [
        (312.2, 200, 0),
        (200.4, 200, 1),
        (199.97, 200, 2),
        (200, 200, 0),
        (1e-9, 0, 6),
    ]:
        assert units.decimals_beside(value, limit, 0) == decimals


def test_a_duration_reads_as_people_say_it():
    for seconds, text in [
        (0.4, "0.4 s"),
        (12, "12 s"),
        (59.99, "1 min"),
        (90, "1 min 30 s"),
        (120, "2 min"),
        (7320, "2 h 2 min"),
        (43_200, "12 h"),
    ]:
        assert units.duration(seconds) == text


def test_a_size_is_on_its_own_side_of_a_limit_beside_it():
    for n_bytes, text in [
        (1_000_001, "1.000001 MB"),
        (1_004_000, "1.004 MB"),
        (1_000_000, "1.00 MB"),
        (999_999, "999.999 kB"),
        (2_610_000, "2.61 MB"),
    ]:
        assert units.size(n_bytes, 1_000_000).replace("\u202f", " ") == text


def without_thin_spaces(texts):
    return [each.replace("\u202f", " ") for each in texts]


def test_a_share_that_somebody_set_keeps_its_digits():
    texts = map(units.typed_percent, (0.05, 0.025, 0.004, 0.07, 0.625))
    assert without_thin_spaces(texts) == ["5 %", "2.5 %", "0.4 %", "7 %", "62.5 %"]


def test_what_a_share_does_not_exceed_is_never_below_it():
    texts = map(units.percent_at_most, (0.43, 0.431, 0.07, 0.999, 1.0))
    assert without_thin_spaces(texts) == ["43 %", "44 %", "7 %", "100 %", "100 %"]


def test_some_does_not_read_as_nothing_nor_most_as_all():
    for share, text in [
        (0.0, "0.00"),
        (0.00001, "0.001"),
        (-0.00001, "\u22120.001"),
        (0.543, "54.3"),
        (0.99999, "99.999"),
        (1.0, "100"),
        (1 - 1e-16, "100"),
        (1e-17, "0.00"),
        (1.5, "150"),
    ]:
        assert units.percent(share).removesuffix("\u202f%") == text


def test_a_share_is_on_its_own_side_of_a_limit_beside_it():
    assert units.percent(0.05001, limit=0.05).removesuffix("\u202f%") == "5.001"
    assert units.percent(0.05, limit=0.05).removesuffix("\u202f%") == "5.00"
