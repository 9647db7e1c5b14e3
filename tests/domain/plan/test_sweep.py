"""A sweep of any number that the registry of plan fields knows."""

import pytest

from campaigns.domain.errors import Refused
from campaigns.domain.plan import sweep
from campaigns.domain.plan.fields import PlanField, all_fields
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.sweep import (
    MAX_POINTS,
    SweepField,
    at_point,
    checked_values,
    fields_used_by,
    known_fields,
    point_words,
    sweep_fields,
    swept_plan,
    text_of_values,
    value_text,
    values_of_text,
)
from tests.values import plan_spec

pytestmark = pytest.mark.pure


def plan(**load) -> Plan:
    return Plan.from_json(plan_spec(**load))


def test_every_number_of_the_registry_can_be_swept():
    numbers = [path for path, row in all_fields(Plan).items() if row.is_number]
    assert [".".join(each.path) for each in sweep_fields().values()] == numbers
    assert {"rate_per_s", "connections", "over_s", "exchange.size_bytes"} <= set(sweep_fields())
    assert {"session.calls_per_connection", "session.think_time.mean_s"} <= set(sweep_fields())


def test_the_plan_is_the_same_but_for_the_one_number():
    base = plan(model="open", rate_per_s=10, duration_s=10)
    swept = swept_plan(base, "rate_per_s", 250.0)
    assert swept.load.rate_per_s == 250
    assert base.to_json() | {"load": base.load.to_json() | {"rate_per_s": 250.0}} == swept.to_json()


def test_whole_numbers_stay_whole():
    swept = swept_plan(plan(model="closed", connections=2, duration_s=5), "connections", 8.0)
    assert repr(swept.load.connections) == "8"


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("rate_per_s", 10, "at a rate of 10 requests/s"),
        ("connections", 0, "with 0 connections"),
        ("connections", 1.5, "whole"),
        ("exchange.size_bytes", 64, "no message size"),
        ("colour", 1, "no number 'colour'"),
    ],
)
def test_a_value_that_the_plan_cannot_have_is_refused_with_its_reason(field, value, says):
    with pytest.raises(Refused, match=says):
        swept_plan(plan(model="closed", connections=2, duration_s=5), field, value)


def test_a_form_offers_only_numbers_that_one_of_its_plans_uses():
    offered = {each.key for each in fields_used_by([plan(model="over", requests=10, over_s=1)])}
    assert {"requests", "over_s", "session.calls_per_connection"} <= offered
    assert not {"rate_per_s", "connections", "exchange.messages"} & offered


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("100, 200, 400", (100, 200, 400)),
        ("1 2 4", (1, 2, 4)),
        ("100 to 800 step 100", tuple(range(100, 801, 100))),
        ("1 to 4", (1, 2, 3, 4)),
        ("0.1 to 0.3 step 0.1", (0.1, 0.2, 0.3)),
    ],
)
def test_values_are_typed_as_a_list_or_as_a_range(text, values):
    assert values_of_text(text) == values


@pytest.mark.parametrize(
    "text",
    ["100, 2000, 1000000", "12345.67, 12345.68", "0.00001, 0.00002", "123456789.5, 2", "0.1, 1000"],
)
def test_values_that_are_offered_again_are_those_that_were_typed(text):
    assert text_of_values(values_of_text(text)) == text


def test_values_that_differ_do_not_read_alike():
    assert [value_text(value) for value in (12345.67, 12345.68)] == ["12,345.67", "12,345.68"]
    assert [value_text(value) for value in (0.00001, 1234567.5)] == ["0.00001", "1,234,567.5"]


@pytest.mark.parametrize(
    "text", ["", "a lot", "5", "1, 1", "1 to 100", "4 to 1", "1 to 9 step 0", "-1, 2", "1e3, 4"]
)
def test_what_is_no_sweep_is_refused_with_what_to_type(text):
    with pytest.raises(ValueError, match=f"list|range|2 to {MAX_POINTS} values|once"):
        values_of_text(text)


@pytest.mark.parametrize("value", [1e308, 1e9, 1e-300, 0.1 + 0.2, -1.0, float("inf")])
def test_a_value_that_nobody_can_type_is_refused_by_who_takes_numbers(value):
    with pytest.raises(ValueError, match="from 0 to below 1,000,000,000 with at most 6 decimals"):
        checked_values([5, value])


def test_values_that_can_be_typed_are_taken_as_they_are():
    values = (0, 0.000001, 5, 200.5, 999_999_999, 999_999_999.999999)
    assert checked_values(values) == values


POINTS = [
    ("injectors", 1, "with 1 injector process"),
    ("injectors", 12, "with 12 injector processes"),
    ("connections", 1, "with 1 connection"),
    ("connections", 1000, "with 1,000 connections"),
    ("low", 4, "with a low mark of 4"),
    ("high", 8, "with a high mark of 8"),
    ("hold_s", 5, "with a holding time of 5 s"),
    ("rate_per_s", 1, "at a rate of 1 request/s"),
    ("rate_per_s", 250.5, "at a rate of 250.5 requests/s"),
    ("rate_per_s", 600, "at a rate of 600 requests/s"),
    ("uniform_min_s", 0.1, "with a shortest gap of 0.1 s"),
    ("uniform_max_s", 0.2, "with a longest gap of 0.2 s"),
    ("ramp_up_s", 3, "with a ramp-up of 3 s"),
    ("requests", 1, "with 1 request"),
    ("requests", 5000, "with 5,000 requests"),
    ("over_s", 10, "with a spread over 10 s"),
    ("duration_s", 30, "with a duration of 30 s"),
    ("max_in_flight", 100, "with a limit of 100 in flight"),
    ("start_offset_s", 1, "with a stagger of 1 s"),
    ("timeouts.connect_s", 2, "with a connect timeout of 2 s"),
    ("timeouts.tls_s", 2, "with a TLS timeout of 2 s"),
    ("timeouts.total_s", 2, "with a reply timeout of 2 s"),
    ("warm_up_s", 2, "with a warm-up of 2 s"),
    ("order.block_repeat", 3, "with a block size of 3"),
    ("exchange.messages", 1, "with 1 message"),
    ("exchange.size_bytes", 4096, "with a message size of 4,096 B"),
    ("exchange.rate_per_s", 1, "at a message rate of 1 message/s"),
    ("exchange.rate_per_s", 20, "at a message rate of 20 messages/s"),
    ("exchange.close_code", 1000, "with a close code 1000"),
    ("exchange.close_timeout_s", 5, "with a close timeout of 5 s"),
    ("session.calls_per_connection", 1, "with 1 request per connection"),
    ("session.calls_per_connection", 10, "with 10 requests per connection"),
    ("session.calls_per_session", 10, "with 10 requests per session"),
    ("session.connections_per_session", 2, "with 2 connections per session"),
    ("session.think_time.mean_s", 0.5, "with a mean think time of 0.5 s"),
    ("session.think_time.min_s", 0.1, "with a shortest think time of 0.1 s"),
    ("session.think_time.max_s", 1, "with a longest think time of 1 s"),
    ("session.burst_length", 5, "with 5 requests per burst"),
    ("session.pipeline_depth", 4, "with a pipeline depth of 4"),
    ("streams", 8, "with 8 streams per connection"),
]


@pytest.mark.parametrize(("field", "value", "words"), POINTS)
def test_a_point_is_said_in_plain_words(field, value, words):
    assert at_point(field, value) == words


def test_there_are_words_for_every_number_that_can_be_swept():
    assert {field for field, _, _ in POINTS} == set(known_fields())


def test_a_noun_in_the_plural_is_counted_whatever_word_is_before_it(monkeypatch):
    row = PlanField(label="Extra headers", kind=int)
    found = SweepField("extra_headers", ("extra_headers",), row, row.label)
    monkeypatch.setattr(sweep, "sweep_fields", lambda: {found.key: found})
    assert at_point(found.key, 1) == "with 1 extra header"
    assert at_point(found.key, 3) == "with 3 extra headers"


def test_a_label_has_no_article():
    assert point_words("rate_per_s", 1000) == "rate of 1,000 requests/s"
    assert point_words("connections", 8) == "8 connections"
