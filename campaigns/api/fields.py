"""Shared serializer and filter fields."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import django_filters
from django import forms
from rest_framework import serializers

LARGEST_ID = 2**63 - 1


class StrictSerializer(serializers.Serializer):
    """Takes the fields that it names and refuses others: a misspelt one must not go unnoticed.
    A number is no text, as the schema says; DRF would make it one."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if isinstance(data, Mapping):
            known = ", ".join(self.fields)
            unknown = {
                name: [f"Unknown field. Available fields: {known}."]
                for name in data
                if name not in self.fields
            }
            mistyped = {
                name: [field.error_messages["invalid"]]
                for name, field in self.fields.items()
                if type(field) is serializers.CharField and isinstance(data.get(name), int | float)
            }
            if unknown or mistyped:
                raise serializers.ValidationError(unknown | mistyped)
        return super().to_internal_value(data)


class IdField(serializers.IntegerField):
    """The number of a row, in the body of a request."""

    def __init__(self, **options: Any):
        super().__init__(min_value=1, max_value=LARGEST_ID, **options)


class WholeFilter(django_filters.NumberFilter):
    """A whole number, in the query string."""

    field_class = forms.IntegerField


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
