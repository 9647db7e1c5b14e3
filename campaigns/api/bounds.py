"""What the API's description says of the least that may come in: drf-spectacular leaves it out
where a serializer serves requests and answers alike.
"""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from campaigns.api.fields import ID, AboveField, InputSerializer


class BoundedSchema(AutoSchema):
    """Texts and lists that must not be empty, numbers above a bound, and numbers of rows."""

    def _get_serializer_field_meta(self, field: Any, direction: str) -> dict[str, Any]:
        meta = super()._get_serializer_field_meta(field, direction)
        return meta | (_sizes_of(field) if _comes_in(field) else {})

    def _insert_min_max(self, field: Any, content: dict[str, Any]) -> None:
        super()._insert_min_max(field, content)
        if isinstance(field, AboveField):
            content |= {"minimum": field.above, "exclusiveMinimum": True}

    def _resolve_path_parameters(self, variables: list[str]) -> list[dict[str, Any]]:
        parameters = super()._resolve_path_parameters(variables)
        for each in parameters:
            if each["schema"].get("type") == "integer":
                each["schema"] |= ID
        return parameters


def _comes_in(field: Any) -> bool:
    owner = getattr(field, "parent", None)
    while owner is not None and not isinstance(owner, serializers.Serializer):
        owner = owner.parent
    return isinstance(owner, InputSerializer)


def _sizes_of(field: Any) -> dict[str, int]:
    """minLength of a text, minItems and maxItems of a list of objects."""
    if isinstance(field, serializers.CharField) and not field.allow_blank:
        return {"minLength": max(1, field.min_length or 0)}
    if not isinstance(field, serializers.ListField | serializers.ListSerializer):
        return {}
    sizes = {} if field.allow_empty else {"minItems": max(1, field.min_length or 0)}
    return sizes | ({"maxItems": field.max_length} if field.max_length else {})
