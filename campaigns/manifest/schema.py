"""What benchsite.yaml may say: the fields are those of the REST API, with names in place of numbers
and without secrets. Its JSON Schema, for editors."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from campaigns.campaigns.api.campaigns import NewCampaign
from campaigns.domain.errors import InvalidFields
from campaigns.domain.timetable import DAYS
from campaigns.domain.typed_text import clean_name
from campaigns.domain.yaml_text import InvalidYaml, YamlDocument, read_yaml
from campaigns.projects.api import PlanInput
from campaigns.rest import fields
from campaigns.rest.access import Tagged
from campaigns.rest.errors import flat
from campaigns.rest.schema import described
from campaigns.schedules.api import ScheduleInput
from campaigns.targets.api import EndpointInput, TargetInput, TlsProfileInput

MOST_ITEMS = 200  # of a kind
_WORDS = {
    "Not a valid string.": "Write it in quotes.",
    "This field may not be null.": "Leave it out instead.",
}


@extend_schema_field(
    {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
)
class NamesField(serializers.Field):
    """A name, or a list of some. Reads as a list."""

    def to_internal_value(self, data: Any) -> list[str]:
        names = data if isinstance(data, list) else [data]
        if not names or not all(isinstance(each, str) and each for each in names):
            raise serializers.ValidationError("Write a name, or a list of names.")
        return [clean_name(each) for each in names]


class ManifestEndpoint(EndpointInput):
    client_key_pem = None


class ManifestTarget(TargetInput, Tagged):
    endpoints = ManifestEndpoint(many=True, allow_empty=False, max_length=50)


class ManifestPlan(PlanInput, Tagged):
    secret = None


class ManifestCell(fields.StrictSerializer):
    """A test of each plan, target and connection mode that is listed."""

    plan = NamesField(help_text="Its latest version is measured.")
    target = NamesField()
    endpoint = serializers.CharField(
        required=False,
        help_text="As its target's page names it, such as https://shop.example:443; or its scheme. "
        "Leave it out where the target has one endpoint.",
    )
    connection_mode = NamesField(required=False, help_text="Default: the plan's own.")


class ManifestCampaign(NewCampaign):
    """A draft, which schedules copy."""

    project = None
    seed = None
    commit = None
    branch = None
    link = None
    note = None
    cells = ManifestCell(many=True, allow_empty=False, max_length=MOST_ITEMS)


class ManifestSchedule(ScheduleInput):
    """`every` and `at`, or `cron`."""

    template = None
    campaign = serializers.CharField(help_text="The name of the campaign that it copies.")
    cron = serializers.CharField(required=False, help_text=ScheduleInput().fields["cron"].help_text)
    every = serializers.ChoiceField(choices=list(DAYS), required=False)
    at = serializers.RegexField(
        r"^([01][0-9]|2[0-3]):[0-5][0-9]$", required=False, help_text="Such as 02:00."
    )

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if {"cron", "every", "at"} & data.keys() not in ({"cron"}, {"every", "at"}):
            raise serializers.ValidationError({"cron": "Write cron, or every and at."})
        return data


class Manifest(fields.StrictSerializer):
    """Targets, plans, campaigns and schedules of a project. Each is known by its name."""

    version = serializers.IntegerField(
        min_value=1,
        max_value=1,
        error_messages={"max_value": "This benchsite reads version 1."},
        help_text="Of the file's format: 1.",
    )
    tls_profiles = TlsProfileInput(many=True, required=False, max_length=MOST_ITEMS)
    targets = ManifestTarget(many=True, required=False, max_length=MOST_ITEMS)
    plans = ManifestPlan(many=True, required=False, max_length=MOST_ITEMS)
    campaigns = ManifestCampaign(many=True, required=False, max_length=MOST_ITEMS)
    schedules = ManifestSchedule(many=True, required=False, max_length=MOST_ITEMS)


def read_manifest(text: str) -> tuple[YamlDocument, dict[str, Any]]:
    """The document, and its valid data. Raises InvalidFields with lines."""
    try:
        document = read_yaml(text)
    except InvalidYaml as fault:
        raise InvalidFields({"file": f"Line {fault.line}: {fault}"}) from None
    try:
        data = fields.validated(Manifest, document.value or {})
    except serializers.ValidationError as invalid:
        raise with_lines(document, flat(invalid.detail)) from None
    for row in (row for rows in data.values() if isinstance(rows, list) for row in rows):
        for name in {"name", "campaign"} & row.keys():
            row[name] = clean_name(row[name])  # as it is stored
    if twice := list(_named_twice(data)):
        raise with_lines(document, dict.fromkeys(twice, "Another one has this name."))
    return document, data


def with_lines(document: YamlDocument, errors: Mapping[str, str]) -> InvalidFields:
    """The errors in the order of the file, each with its line."""
    lines = {path: document.line_of(path) for path in errors}
    return InvalidFields(
        {
            path: f"Line {lines[path]}: {_WORDS.get(errors[path], errors[path])}"
            for path in sorted(errors, key=lambda path: (lines[path], path))
        }
    )


def _named_twice(data: Mapping[str, Any]) -> Iterable[str]:
    for kind, rows in data.items():
        names: set[str] = set()
        for index, row in enumerate(rows if isinstance(rows, list) else ()):
            if row["name"] in names:
                yield f"{kind}.{index}.name"
            names.add(row["name"])


@cache
def json_schema() -> bytes:
    """Of the file, in draft 2020-12: made of the API's description."""
    components = json.loads(described())["components"]["schemas"]
    names, definitions = ["Manifest"], {}
    while names:
        name = names.pop()
        if name not in definitions:
            definitions[name] = _modern(components[name], names)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "benchsite.yaml"}
    schema |= definitions.pop("Manifest") | {"$defs": dict(sorted(definitions.items()))}
    return json.dumps(schema, indent=1, ensure_ascii=False).encode()


def _modern(schema: Any, names: list[str]) -> Any:
    """A part of OpenAPI 3.0 as JSON Schema has it. The definitions that it names are added to
    `names`."""
    if isinstance(schema, list):
        return [_modern(each, names) for each in schema]
    if not isinstance(schema, dict):
        return schema
    result = {
        key: value if key in {"default", "enum"} else _modern(value, names)
        for key, value in schema.items()
        if key not in {"nullable", "example", "exclusiveMinimum", "exclusiveMaximum", "properties"}
    }
    if "properties" in schema:
        parts = schema["properties"].items()
        result["properties"] = {name: _modern(part, names) for name, part in parts}
        result.setdefault("additionalProperties", False)
    if isinstance(target := result.get("$ref"), str):
        names.append(target.rpartition("/")[2])
        result["$ref"] = f"#/$defs/{names[-1]}"
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive) is True:
            result[exclusive] = result.pop(bound)
    if schema.get("nullable") is not True:
        return result
    words = {key: result.pop(key) for key in ("description", "default") if key in result}
    return words | {"anyOf": [result, {"type": "null"}]}
