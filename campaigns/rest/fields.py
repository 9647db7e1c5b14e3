"""Serializers and their fields: made from dataclasses, or shared; their bounds, and the choices
that the schema names."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.validators import ProhibitSurrogateCharactersValidator

from campaigns.campaigns.queries.campaign_list import STATE_IS
from campaigns.core.permissions import Role
from campaigns.domain.analysis.capacity import CapacityWord, Ending
from campaigns.domain.analysis.ratio import RatioInterval, Word
from campaigns.domain.lifecycle import (
    BY_ITSELF,
    Outcome,
    Precision,
    RunState,
    StopReason,
    TargetState,
    ThresholdState,
    Trust,
)
from campaigns.domain.metrics.profiles import PerfOf
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.plan.tls_options import VERSIONS
from campaigns.domain.plan.variables import RowOrder
from campaigns.domain.presentation.history_words import HistoryStatus
from campaigns.domain.typed_text import has_unit, per_second_in, seconds_in
from campaigns.items.queries.filters import LARGEST_ID


def _pairs(words: Iterable[str]) -> list[tuple[str, str]]:
    return [(str(word), str(word)) for word in words]


CAMPAIGN_STATES = _pairs(STATE_IS)
RUN_STATES = _pairs(RunState)
RUN_STOP_REASONS = _pairs(each for each in StopReason if each not in BY_ITSELF)
OUTCOMES = _pairs(Outcome)
TRUSTS = _pairs(Trust)
TARGET_STATES = _pairs(TargetState)
THRESHOLD_STATES = _pairs(ThresholdState)
PRECISIONS = _pairs(Precision)
CONNECTION_MODES = _pairs(ConnectionMode)
PERF_OF = _pairs(of for of in PerfOf if of)  # or nothing: allow_blank
ROLES = _pairs(Role)
ROW_ORDERS = _pairs(RowOrder)
WORDS = _pairs(Word)
CAPACITY_WORDS = _pairs(CapacityWord)
ENDINGS = _pairs(Ending)
STANDINGS = _pairs(HistoryStatus)
HTTP_VERSIONS = _pairs(HttpVersion)
TLS_VERSIONS = _pairs(VERSIONS)


MOST_FAULTS = 20  # that an answer names
# The number of a row, in the API's description.
ID = {"type": "integer", "minimum": 1, "maximum": LARGEST_ID}


_FIELDS = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
    date: serializers.DateField,
    datetime: serializers.DateTimeField,
    Any: serializers.JSONField,
}


@cache
def serializer_of(owner: type, names: str = "", noun: str = "") -> type[serializers.Serializer]:
    """Answers a dataclass or a named tuple: all of its fields, or those fields and properties that
    are named. Types, null and choices come from annotations, help texts from
    `Annotated[…, "help"]` and from a property's docstring. `noun`: its name in the schema, if not
    that of the class."""
    kinds = get_type_hints(owner, include_extras=True)
    for name in names.split():
        if name not in kinds:
            getter = getattr(owner, name).fget
            kind = get_type_hints(getter)["return"]
            kinds[name] = Annotated[kind, getter.__doc__] if getter.__doc__ else kind
    fields = {name: _field_of(kinds[name]) for name in names.split() or kinds}
    return type(f"{noun or owner.__name__}Serializer", (serializers.Serializer,), fields)


def _field_of(kind: Any, **options: Any) -> serializers.Field:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _field_of(inner[0], help_text=inner[1], **options)
    if origin in {Union, UnionType}:  # X | None, Y | Literal[""]
        options |= {"allow_null": True} if NoneType in inner else {}
        options |= {"allow_blank": True} if Literal[""] in inner else {}
        (kind,) = (each for each in inner if each not in {NoneType, Literal[""]})
        return _field_of(kind, **options)
    if origin and issubclass(origin, Mapping):
        return serializers.DictField(child=_field_of(inner[1]), **options)
    if origin and issubclass(origin, Sequence):
        child = _field_of(inner[0])
        if isinstance(child, serializers.Serializer):
            return type(child)(many=True, **options)
        return serializers.ListField(child=child, **options)
    if kind in _FIELDS:
        return _FIELDS[kind](**options)
    if issubclass(kind, StrEnum):
        return serializers.ChoiceField(choices=_pairs(kind), **options)
    return serializer_of(kind)(**options)


CapacityRatioSerializer = serializer_of(RatioInterval, "ratio low high", "CapacityRatio")


class ReadSerializer(serializers.ModelSerializer):
    # Answers a row; what clients send has a serializer of its own.

    def get_extra_kwargs(self) -> dict[str, dict[str, Any]]:
        kwargs = super().get_extra_kwargs()
        return {name: {**kwargs.get(name, {}), "read_only": True} for name in self.Meta.fields}


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
            # The first by name: there may be as many as fit into a body.
            names = [name for name in data if name not in self.fields]
            sentence = f"Unknown field. Available fields: {', '.join(self.fields)}."
            most = len(names) if len(names) <= MOST_FAULTS else MOST_FAULTS - 1
            unknown = {name: [sentence] for name in names[:most]}
            if more := len(names) - most:
                unknown["non_field_errors"] = [f"{more:,} more fields are unknown."]
            wrong_types = {
                name: [_innermost(field).error_messages["invalid"]]
                for name, field in self.fields.items()
                if self.is_json and _is_mistyped(field, data.get(name))
            }
            if unknown or wrong_types:
                raise serializers.ValidationError(unknown | wrong_types)
        return super().to_internal_value(data)


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
    if isinstance(field, SecondsField) and isinstance(value, str):
        return not has_unit(value)
    if isinstance(field, serializers.IntegerField | serializers.FloatField):
        return isinstance(value, bool | str)
    return type(field) is serializers.CharField and isinstance(value, int | float)


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


class SecondsField(serializers.FloatField):
    """A text may have a unit: 500ms, 2s, 5min, 1h."""

    amount = staticmethod(seconds_in)
    example = "500ms"

    def to_internal_value(self, data: Any) -> float:
        if has_unit(data):
            try:
                data = self.amount(data)
            except ValueError as fault:
                raise serializers.ValidationError(f"{fault}.") from None
        return super().to_internal_value(data)


class AboveSecondsField(AboveField, SecondsField):
    """The same, above 0."""


class PerSecondField(SecondsField):
    """A text may have a unit: 10/s, 1/min."""

    amount = staticmethod(per_second_in)
    example = "30/min"


class RateField(AboveField, PerSecondField):
    """The same, above 0."""


class IdField(serializers.IntegerField):
    """The number of a row, in the body of a request."""

    def __init__(self, **options: Any):
        super().__init__(min_value=1, max_value=LARGEST_ID, **options)


def text(
    help_text: str = "", most: int | None = None, *, default: Any = empty
) -> serializers.CharField:
    """A text that may be empty, and left out."""
    words = {"help_text": help_text} if help_text else {}
    words |= {"required": False} if default is empty else {"default": default}
    return serializers.CharField(allow_blank=True, max_length=most, **words)


def user_field(name: str, help_text: str = "") -> serializers.CharField:
    """The name of an account that may be deleted by now."""
    words = {"help_text": help_text} if help_text else {}
    return serializers.CharField(source=f"{name}.username", allow_null=True, default=None, **words)


def validated(kind: type[serializers.Serializer], data: Any) -> dict[str, Any]:
    """The validated data; raises ValidationError with a text per field."""
    serializer = kind(data=data)
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data


_OF_NUMBERS = ("type", "format", "minimum", "maximum", "exclusiveMinimum")


class BoundedSchema(AutoSchema):
    """Texts and lists that must not be empty, numbers above a bound or as a text with its unit, and
    numbers of rows."""

    def get_request_serializer(self) -> Any:
        """What a view set takes, where that is not what it answers."""
        if getattr(self.view, "action", "") in {"create", "update"}:
            return self.view.input_class
        return super().get_request_serializer()

    def _get_serializer_field_meta(self, field: Any, direction: str) -> dict[str, Any]:
        meta = super()._get_serializer_field_meta(field, direction)
        owner = getattr(field, "parent", None)
        while owner is not None and not isinstance(owner, serializers.Serializer):
            owner = owner.parent
        return meta | (_sizes_of(field) if isinstance(owner, InputSerializer) else {})

    def _insert_min_max(self, field: Any, content: dict[str, Any]) -> None:
        super()._insert_min_max(field, content)
        if isinstance(field, AboveField):
            content |= {"minimum": field.above, "exclusiveMinimum": True}
        if isinstance(field, SecondsField):
            number = {name: content.pop(name) for name in _OF_NUMBERS if name in content}
            content["oneOf"] = [number, {"type": "string", "example": field.example}]

    def _resolve_path_parameters(self, variables: list[str]) -> list[dict[str, Any]]:
        parameters = super()._resolve_path_parameters(variables)
        for each in parameters:
            if each["schema"].get("type") == "integer":
                each["schema"] |= ID
        return parameters


def _sizes_of(field: Any) -> dict[str, int]:
    """minLength of a text, minItems and maxItems of a list of objects."""
    if isinstance(field, serializers.CharField) and not field.allow_blank:
        return {"minLength": max(1, field.min_length or 0)}
    if not isinstance(field, serializers.ListField | serializers.ListSerializer):
        return {}
    sizes = {} if field.allow_empty else {"minItems": max(1, field.min_length or 0)}
    return sizes | ({"maxItems": field.max_length} if field.max_length else {})
