"""Shared serializer and filter fields."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import django_filters
from django import forms
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.validators import ProhibitSurrogateCharactersValidator

LARGEST_ID = 2**63 - 1
MOST_FAULTS = 20  # that an answer names
# The number of a row, in the API's description.
ID = {"type": "integer", "minimum": 1, "maximum": LARGEST_ID}


class InputSerializer(serializers.Serializer):
    """What clients send. The API's description says what of it may not be empty
    (api.bounds.BoundedSchema)."""

    def get_fields(self) -> dict[str, serializers.Field]:
        """The parser has refused surrogates; DRF would look at each character, 0.1 s for 4 MiB."""
        fields = super().get_fields()
        for field in map(_innermost, fields.values()):
            field.validators = [
                each
                for each in field.validators
                if not isinstance(each, ProhibitSurrogateCharactersValidator)
            ]
        return fields


class StrictSerializer(InputSerializer):
    """Takes the fields that it names and refuses others: a misspelt one must not go unnoticed.
    In JSON a number is no text and 0 is not false, as the schema says; DRF would convert them."""

    is_json = True

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if isinstance(data, Mapping):
            unknown = self._unknown([name for name in data if name not in self.fields])
            mistyped = {
                name: [_message_of(field)]
                for name, field in self.fields.items()
                if self.is_json and _is_mistyped(field, data.get(name))
            }
            if unknown or mistyped:
                raise serializers.ValidationError(unknown | mistyped)
        return super().to_internal_value(data)

    def _unknown(self, names: list[str]) -> dict[str, list[str]]:
        """The first by name: there may be as many as fit into a body."""
        sentence = f"Unknown field. Available fields: {', '.join(self.fields)}."
        if len(names) <= MOST_FAULTS:
            return {name: [sentence] for name in names}
        named = names[: MOST_FAULTS - 1]
        others = f"{len(names) - len(named):,} more fields are unknown."
        return {**{name: [sentence] for name in named}, "non_field_errors": [others]}


class QuerySerializer(StrictSerializer):
    """The same of a query string, where everything is text."""

    is_json = False


def _is_mistyped(field: serializers.Field, value: Any) -> bool:
    """Whether DRF would convert the value from another type."""
    if value is None:
        return False
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        return any(_is_mistyped(field.child, each) for each in value)
    if isinstance(field, serializers.BooleanField):
        return not isinstance(value, bool)
    if isinstance(field, serializers.IntegerField | serializers.FloatField):
        return isinstance(value, bool | str)
    return type(field) is serializers.CharField and isinstance(value, int | float)


def _message_of(field: serializers.Field) -> str:
    return _innermost(field).error_messages["invalid"]


def _innermost(field: serializers.Field) -> serializers.Field:
    while isinstance(field, serializers.ListField):
        field = field.child
    return field


class AboveField(serializers.FloatField):
    """A number above a bound, which itself is not one of them."""

    def __init__(self, above: float = 0, **options: Any):
        super().__init__(**options)
        self.above = above

    def to_internal_value(self, data: Any) -> float:
        value = super().to_internal_value(data)
        if value <= self.above:
            raise serializers.ValidationError(f"Write a number above {self.above:g}.")
        return value


class IdField(serializers.IntegerField):
    """The number of a row, in the body of a request."""

    def __init__(self, **options: Any):
        super().__init__(min_value=1, max_value=LARGEST_ID, **options)


class WholeFilter(django_filters.NumberFilter):
    """A whole number with its bounds, in the query string."""

    field_class = forms.IntegerField

    def __init__(self, *args: Any, min_value: int, max_value: int, **options: Any):
        super().__init__(*args, min_value=min_value, max_value=max_value, **options)
        bounds = {"minimum": min_value, "maximum": max_value}
        extend_schema_field({"type": "integer", **bounds})(self)


class IdFilter(WholeFilter):
    """The number of a row, in the query string."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, min_value=1, max_value=LARGEST_ID, **options)


class _Instant(django_filters.fields.IsoDateTimeField):
    def to_python(self, value: str) -> datetime | None:
        """In UTC: PostgreSQL refuses offsets that Python accepts, such as +23:59."""
        found = super().to_python(value)
        try:
            return found and found.astimezone(UTC)
        except OverflowError:
            raise forms.ValidationError(self.error_messages["invalid"]) from None


class InstantFilter(django_filters.IsoDateTimeFilter):
    """A date with a time, in the query string; what no calendar has is refused."""

    field_class = _Instant


def validated(kind: type[serializers.Serializer], data: Any) -> dict[str, Any]:
    """The validated data; raises ValidationError with a text per field."""
    serializer = kind(data=data)
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data
