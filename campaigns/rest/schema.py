"""The API's OpenAPI 3 schema, and the page that shows it: addresses by resource, what each takes
and answers, a request for the command line, and the objects that travel."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.views import APIView

from campaigns.rest.parsers import AnyAccept

_ERROR = {
    "type": "object",
    "description": "The format of every error.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "fields"],
            "properties": {
                "code": {"type": "string", "example": "invalid"},
                "message": {"type": "string", "example": "Some fields have invalid values."},
                "fields": {
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                    "example": {"spec.load.over_s": "The load model over needs a time."},
                },
            },
        }
    },
}
_ERROR_REFERENCE = {"$ref": "#/components/schemas/Error"}
# status → when it is the answer, for the description of each operation that may give it.
REFUSALS = {
    "400": "The body, a filter or a page is invalid: `fields` says which value, and why.",
    "401": "No token or session, or one that is not live.",
    "403": "Your role, or the token's scope, does not allow this.",
    "404": "Not found, or you do not have access to it.",
    "406": "Only JSON is offered here.",
    "409": "Not possible now: the message says why and what to do.",
    "410": "Removed, because it was old.",
    "412": "It is not what `If-Match` names any more: read it again.",
    "413": "The body is too large.",
    "414": "The address is longer than the web server reads.",
    "415": "The body must be JSON.",
    "429": "Too many invalid tokens from your address: try again after `Retry-After` seconds.",
    "503": "The database does not respond. Try again in a moment.",
}
# The methods that change what a GET of the same address answers.
_CHANGES = {"put", "patch", "delete"}
_IF_MATCH = {
    "in": "header",
    "name": "If-Match",
    "schema": {"type": "string"},
    "description": "The `ETag` of what you read: then nothing is done if it has changed since.",
}
# The web server's own answer: no request has reached us.
_BEFORE_US = "414"
_IN_THE_SHAPE = {"content": {"application/json": {"schema": _ERROR_REFERENCE}}}
# Refusals of single operations.
_ALSO = {
    "projects_use": {"403"},
    "runs_seconds_list": {"410"},
    "runs_machine_seconds_list": {"410"},
    "runs_machine_seconds_csv": {"400", "410"},
    "runs_machine_seconds_ndjson": {"400", "410"},
    # They take no parameter, and refuse one.
    "injectors_list": {"400"},
    "metrics_list": {"400"},
    "presets_list": {"400"},
    "runs_failures": {"400"},
}


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "campaigns.accounts.tokens.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema) -> dict[str, str]:
        words = "A personal token, bs_pat_…, created under Account, Tokens."
        return {"type": "http", "scheme": "bearer", "description": words}


def describe_errors(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A drf-spectacular hook: the refusals of each operation, all of them in the error shape."""
    result["components"]["schemas"]["Error"] = _ERROR
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            if method in _CHANGES:
                operation.setdefault("parameters", []).append(_IF_MATCH)
            # The statuses in which an operation may refuse a request, from what it takes and gives.
            statuses = {"401", "429", "503", *_ALSO.get(operation["operationId"], ())}
            places = {parameter["in"] for parameter in operation.get("parameters", ())}
            gives = {
                kind for each in operation["responses"].values() for kind in each.get("content", ())
            }
            if gives <= {"application/json"}:
                statuses.add("406")
            if method != "get":
                statuses |= {"403", "409"}
            if method in _CHANGES:
                statuses.add("412")
            if "requestBody" in operation:
                statuses |= {"400", "404", "413", "415"}
            if "query" in places:
                statuses |= {"400", "404", _BEFORE_US}
            for status in sorted(statuses | ({"404"} if "{" in path else set())):
                operation["responses"][status] = {"description": REFUSALS[status]} | (
                    {} if status == _BEFORE_US else _IN_THE_SHAPE
                )
    return result


@cache
def described() -> bytes:
    """The schema as JSON. It takes a third of a second and never changes at run time, so that
    benchsite.wsgi asks for it before the first request."""
    return OpenApiJsonRenderer().render(SchemaGenerator().get_schema(public=True))


class SchemaView(APIView):
    """Names no data, so that it needs no account."""

    permission_classes = (AllowAny,)
    content_negotiation_class = AnyAccept
    schema = None

    def get(self, request):
        return HttpResponse(described(), content_type="application/json")


class NothingHere(APIView):
    """Addresses below the API that do not exist are refused in the API's shape, too."""

    permission_classes = (AllowAny,)
    schema = None

    def http_method_not_allowed(self, request, *args, **kwargs):
        raise NotFound("No such URL; URLs end with a slash. See /api/v1/docs/.")

    get = http_method_not_allowed


Schema = Mapping[str, Any]
_MARKS = re.compile(r"`([^`]+)`|\[\[(\w+)\]\]")
_VALUES = re.compile(r"^\* .*$\n?", re.MULTILINE)  # the type names them
_WORDS = {"integer": "number", "number": "number", "boolean": "true or false", "string": "text"}
_FORMATS = {"date-time": "time", "uri": "address", "date": "day"}
_DEPTH = 3  # of objects in an example
# Said once for all operations.
_OF_ALL = {"401", "406", "413", "414", "415", "429", "503"}


class Field(NamedTuple):
    """A row of a table: a parameter or a field of an object. In kinds and words `code` is between
    backticks, and the name of another object between double [[brackets]]."""

    name: str
    kind: str
    needed: bool
    words: str


class Operation(NamedTuple):
    key: str
    method: str
    path: str
    words: str
    takes_token: bool
    parameters: list[Field]
    body: str
    answers: list[tuple[str, str, str]]
    example: str


class DocsView(APIView):
    permission_classes = (AllowAny,)
    content_negotiation_class = AnyAccept
    schema = None

    def get(self, request):
        origin = request.build_absolute_uri("/").rstrip("/")
        tags, content = _content()
        # Origins are made by whoever asks: the rest is the same for all.
        html = SafeString(content.replace(_ORIGIN, escape(origin)))
        return render(request._request, "rest/docs.html", {"tags": tags, "shown": html})


_ORIGIN = "https://benchsite.invalid"


@cache
def _content() -> tuple[list[str], str]:
    schema = json.loads(described())
    sections: dict[str, list[Operation]] = {}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            tag = operation["tags"][0].removesuffix(".csv")
            sections.setdefault(tag, []).append(_operation(schema, path, method, operation))
    objects = [
        (name, _text(each), _fields(each)) for name, each in schema["components"]["schemas"].items()
    ]
    context = {"sections": sections, "objects": objects, "refusals": REFUSALS, "pieces": _pieces}
    return [*sections, "errors", "objects"], render_to_string("rest/operations.html", context)


def _operation(schema: Schema, path: str, method: str, operation: Schema) -> Operation:
    body_taken = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    body = body_taken.get("schema")
    parameters = [
        Field(each["name"], _kind(each["schema"]), each.get("required", False), _text(each))
        for each in operation.get("parameters", ())
    ]
    answers = [
        (status, _text(each), _answer_kind(each))
        for status, each in operation["responses"].items()
        if status not in _OF_ALL
    ]
    schemes = [name for each in operation.get("security", ()) for name in each]
    address = re.sub(r"{(\w+)}", lambda match: f"${match[1].upper()}", path)
    lines = ['curl -H "Authorization: Bearer $TOKEN"']
    if method != "get":
        lines.append(f"-X {method.upper()}")
    if body:
        text = json.dumps(_sample(schema, body, _DEPTH), ensure_ascii=False)
        lines += ['-H "Content-Type: application/json"', f"-d '{text}'"]
    return Operation(
        operation["operationId"],
        method.upper(),
        path,
        _text(operation),
        "token" in schemes,
        parameters,
        _kind(body) if body else "",
        answers,
        " \\\n  ".join([*lines, f'"{_ORIGIN}{address}"']),
    )


def _answer_kind(answer: Schema) -> str:
    kinds = answer.get("content", {})
    if "application/json" in kinds:
        return _kind(kinds["application/json"]["schema"])
    return ", ".join(kinds)


def _fields(schema: Schema, prefix: str = "") -> list[Field]:
    """Those of an object within it by dots; of what is no object one without a name."""
    required_names, rows = set(schema.get("required", ())), []
    for name, each in schema.get("properties", {}).items():
        rows.append(Field(f"{prefix}{name}", _kind(each), name in required_names, _text(each)))
        if "properties" in each:
            rows += _fields(each, f"{prefix}{name}.")
    return rows or [Field("", _kind(schema), False, "")]


def _text(part: Schema) -> str:
    return _VALUES.sub("", part.get("description", "")).strip()


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """A kind or words as plain text (""), code and names of objects ("object")."""
    for n, piece in enumerate(_MARKS.split(text)):
        if piece:
            yield ("", "code", "object")[n % 3], piece


def _kind(schema: Schema) -> str:
    """text of at most 30 characters; list of CellInput; one of a, b; number from 1 to 64"""
    words = ", ".join(_kind_parts(schema))
    return f"{words} or null" if schema.get("nullable") else words


def _kind_parts(schema: Schema) -> Iterator[str]:
    if "$ref" in schema:
        yield f"[[{schema['$ref'].rpartition('/')[2]}]]"
    elif "enum" in schema:
        values = (f"`{each}`" for each in schema["enum"] if each not in {"", None})
        yield f"one of {', '.join(values)}"
    elif choices := schema.get("oneOf") or schema.get("anyOf") or schema.get("allOf"):
        yield " or ".join(_kind(each) for each in choices if not _is_blank(each))
    elif schema.get("type") == "array":
        yield f"list of {_kind(schema['items'])}"
        yield from _bounds(schema.get("minItems"), schema.get("maxItems"), "items")
    elif schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        is_of = isinstance(inner, dict) and inner
        yield f"object of {_kind(inner)}" if is_of else "object"
    else:
        kind = schema.get("type", "")
        yield _FORMATS.get(schema.get("format", ""), _WORDS.get(kind, kind or "any value"))
        most = schema.get("maximum")
        yield from _bounds(schema.get("minimum"), most if (most or 0) < 2**53 else None, "")
        yield from _bounds(None, schema.get("maxLength"), "characters")
    if isinstance(schema.get("default"), str | int | float | bool) and schema["default"] != "":
        yield f"`{json.dumps(schema['default'])}` by default"


def _is_blank(schema: Schema) -> bool:
    return schema.get("$ref", "").endswith(("/BlankEnum", "/NullEnum"))


def _bounds(least: float | None, most: float | None, what: str) -> Iterator[str]:
    words = [f"from {least:g}"] if least is not None else []
    words += [f"{'to' if words else 'at most'} {most:g}"] if most is not None else []
    if words:
        yield " ".join(filter(None, [*words, what]))


def _sample(schema: Schema, of: Schema, depth: int) -> Any:
    """A value: of an object the fields that it needs, or its first one."""
    if "$ref" in of:
        return _sample(
            schema, schema["components"]["schemas"][of["$ref"].rpartition("/")[2]], depth
        )
    if "example" in of or of.get("default") not in (None, ""):
        return of.get("example", of.get("default"))
    for several in ("oneOf", "anyOf", "allOf"):
        if several in of:
            return _sample(schema, next(each for each in of[several] if not _is_blank(each)), depth)
    if "enum" in of:
        return of["enum"][0]
    match of.get("type"):
        case "integer" | "number":
            return of.get("minimum", 1) or 1
        case "boolean":
            return True
        case "array":
            return [_sample(schema, of["items"], depth - 1)] if depth else []
        case "object":
            fields = of.get("properties", {})
            names = of.get("required") or list(fields)[:1]
            return {name: _sample(schema, fields[name], depth - 1) for name in names if depth}
    return "2026-11-29T12:00:00Z" if of.get("format") == "date-time" else "…"
