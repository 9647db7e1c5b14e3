"""An OpenAPI document (3.x, or Swagger 2.0): a request for each operation, with values made up of
its examples, defaults and types."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode

from campaigns.domain.paste.draft import MAX_REQUESTS, Omissions, RequestDraft
from campaigns.domain.plan.body import FORM_TYPE
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest

_METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "query")
_MOST_DEEP = 8
# Schemas may refer to each other without end: of a request, and of all.
_MOST_VALUES, _MOST_IN_ALL = 2000, 200_000
_OF_FORMATS = {
    "uuid": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "ann@shop.example",
    "uri": "https://shop.example/",
}
_MULTIPART = "multipart/form-data"
_FILE = "".join(["benchsite", "\n"])  # the content of a file; its identity says that it is one
_OF_TYPES = {"integer": 1, "number": 1, "boolean": True, "string": "string", "null": None}


def read_openapi(document: dict[str, Any], omissions: Omissions) -> list[TypedRequest]:
    """Raises NotUnderstood."""
    samples = _Samples(document)
    requests = [
        _draft(samples, path, method, operation, omissions).request(omissions)
        for path, method, operation in islice(_operations(document), MAX_REQUESTS + 1)
    ]
    if not requests:
        raise NotUnderstood("This OpenAPI document has no operations.")
    return requests


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """An operation has the parameters and servers of its path, where it has no own ones."""
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        item = _resolve(document, item)
        for method in _METHODS:
            operation = item.get(method)
            if not isinstance(operation, dict):
                continue
            own = [*_list(item.get("parameters")), *_list(operation.get("parameters"))]
            rows = (_resolve(document, each) for each in own)
            parameters = {(str(row.get("name")), str(row.get("in"))): row for row in rows}
            servers = operation.get("servers") or item.get("servers") or document.get("servers")
            more = {"parameters": list(parameters.values()), "servers": servers}
            yield str(path), method, {**operation, **more}


def _base_url(document: dict[str, Any], servers: Any) -> str:
    if isinstance(servers, list) and servers and isinstance(servers[0], dict):
        url = str(servers[0].get("url", ""))
        variables = servers[0].get("variables")
        for name, variable in variables.items() if isinstance(variables, dict) else ():
            default = variable.get("default", "") if isinstance(variable, dict) else ""
            url = url.replace(f"{{{name}}}", str(default))
        if url.startswith(("http://", "https://")):
            return url.rstrip("/")
    if host := document.get("host"):  # of Swagger 2.0
        scheme = [*_list(document.get("schemes")), "https"][0]
        return f"{scheme}://{host}{str(document.get('basePath') or '').rstrip('/')}"
    raise NotUnderstood(
        "This OpenAPI document names no server. Add one, as in servers: [{url: https://shop.example}]."
    )


def _draft(
    samples: "_Samples",
    path: str,
    method: str,
    operation: dict[str, Any],
    omissions: Omissions,
) -> RequestDraft:
    document, samples.n_left = samples.document, _MOST_VALUES
    base = _base_url(document, operation["servers"])
    draft, query, cookies = RequestDraft(method=method.upper()), [], []
    fields: dict[str, Any] = {}
    for parameter in operation["parameters"]:
        name, place = str(parameter.get("name", "")), parameter.get("in")
        if place != "path" and place != "body" and not parameter.get("required"):
            continue
        value = samples.value(parameter)
        if place == "path":
            path = path.replace(f"{{{name}}}", quote(_list_text(value), safe=","))
        elif place == "query":
            query += _query_pairs(name, value, parameter)
        elif place == "header":
            draft.headers.append((name, _list_text(value)))
        elif place == "cookie":
            cookies.append(f"{name}={_list_text(value)}")
        elif place == "formData":
            fields[name] = _FILE if parameter.get("type") == "file" else value
        elif place == "body":
            _write_json(draft, samples.value(parameter.get("schema") or {}))
    if cookies:
        draft.headers.append(("Cookie", "; ".join(cookies)))
    # What nobody describes is sent, too.
    draft.url = base + re.sub(r"\{[^{}/]*\}", "1", path) + (f"?{urlencode(query)}" if query else "")
    if fields:
        consumes = _list(operation.get("consumes") or document.get("consumes"))
        is_multipart = _MULTIPART in consumes or _FILE in fields.values()
        _write_fields(draft, fields, omissions, is_multipart=is_multipart)
    _write_body(samples, draft, _resolve(document, operation.get("requestBody") or {}), omissions)
    schemes = _list(operation.get("security", document.get("security")))
    if schemes and isinstance(schemes[0], dict) and schemes[0]:
        omissions.other(f"credentials ({', '.join(map(str, schemes[0]))})")
    return draft


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _query_pairs(name: str, value: Any, parameter: dict[str, Any]) -> list[tuple[str, str]]:
    """As its style says; by default a list comes once for each value."""
    style = str(parameter.get("style", "form"))
    # Swagger 2.0 joins lists where nothing else is said.
    is_listed = "schema" in parameter or "content" in parameter or "example" in parameter
    is_apart = parameter.get("explode", is_listed and style in {"form", "deepObject"})
    if parameter.get("collectionFormat") == "multi":
        is_apart = True
    if isinstance(value, dict) and style == "deepObject":
        return [(f"{name}[{key}]", _text(each)) for key, each in value.items()]
    if isinstance(value, dict) and is_apart and "content" not in parameter:
        return [(key, _text(each)) for key, each in value.items()]
    if isinstance(value, list) and is_apart:
        return [(name, _text(each)) for each in value]
    return [(name, _list_text(value))]


def _list_text(value: Any) -> str:
    """A list outside a body has commas between its values."""
    return ",".join(map(_text, value)) if isinstance(value, list) else _text(value)


def _write_body(
    samples: "_Samples", draft: RequestDraft, body: dict[str, Any], omissions: Omissions
) -> None:
    content = body.get("content")
    if not isinstance(content, dict) or not content:
        return
    kinds = sorted(content, key=lambda each: "json" not in each)
    kind, media = kinds[0], content[kinds[0]]
    sample = samples.value(media if isinstance(media, dict) else {})
    if "json" in kind:
        _write_json(draft, sample, kind)
    elif kind in {FORM_TYPE, _MULTIPART} and isinstance(sample, dict):
        _write_fields(draft, sample, omissions, is_multipart=kind == _MULTIPART)
    elif isinstance(sample, str):
        draft.body = "" if sample is _FILE else sample
        draft.headers.append(("Content-Type", kind))
    else:
        omissions.other(f"a body of {kind}")
    if sample is _FILE:
        draft.body_file = base64.b64encode(_FILE.encode()).decode()


def _write_fields(
    draft: RequestDraft, fields: dict[str, Any], omissions: Omissions, *, is_multipart: bool
) -> None:
    pairs = [
        (name, each)
        for name, value in fields.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    if not is_multipart:
        draft.form = [[name, _text(value)] for name, value in pairs]
        return
    for name, value in pairs:
        filename = f"{name}.bin" if value is _FILE else ""
        kind = "application/json" if isinstance(value, dict) else ""
        draft.add_part(name, _text(value), filename, kind, omissions)


def _write_json(draft: RequestDraft, sample: Any, kind: str = "application/json") -> None:
    draft.body = json.dumps(sample, ensure_ascii=False)
    draft.headers.append(("Content-Type", kind))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _resolve(document: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """What a reference within the document names; {} for one that leads elsewhere."""
    for _ in range(_MOST_DEEP):
        reference = value.get("$ref") if isinstance(value, dict) else None
        if not isinstance(reference, str):
            break
        value = document if reference.startswith("#/") else {}
        for name in reference.removeprefix("#/").split("/"):
            name = name.replace("~1", "/").replace("~0", "~")
            value = value.get(name, {}) if isinstance(value, dict) else {}
    return value if isinstance(value, dict) else {}


@dataclass
class _Samples:
    """Values made up for the schemas of a document: how many may be, of a request and in all."""

    document: dict[str, Any]
    n_left: int = _MOST_VALUES
    n_left_in_all: int = _MOST_IN_ALL

    def value(self, node: Any, deep: int = 0) -> Any:
        """As a schema, a parameter or a media type describes it."""
        self.n_left -= 1
        self.n_left_in_all -= 1
        if self.n_left_in_all < 0:
            raise NotUnderstood(
                f"The examples of this OpenAPI document have more than {_MOST_IN_ALL:,} values. "
                "Leave operations out."
            )
        schema = _resolve(self.document, node)
        if "example" in schema:
            return schema["example"]
        examples = schema.get("examples")
        if isinstance(examples, dict) and examples:
            return _resolve(self.document, next(iter(examples.values()))).get("value", "")
        if isinstance(examples, list) and examples:
            return examples[0]
        for name in ("default", "const"):
            if name in schema:
                return schema[name]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return schema["enum"][0]
        if self.n_left < 0:
            return None
        if "schema" in schema:
            return self.value(schema["schema"], deep)
        if isinstance(content := schema.get("content"), dict) and content:
            return _text(self.value(next(iter(content.values())), deep + 1))
        if deep <= _MOST_DEEP and isinstance(schema.get("allOf"), list):
            # The properties beside it.
            own = {"type": "null"}
            if "properties" in schema:
                own = {"properties": schema["properties"]}
            parts = [self.value(each, deep + 1) for each in [*schema["allOf"], own]]
            return {
                name: value
                for part in parts
                if isinstance(part, dict)
                for name, value in part.items()
            } or next(iter(parts), None)
        for name in ("oneOf", "anyOf"):
            if deep <= _MOST_DEEP and isinstance(schema.get(name), list) and schema[name]:
                return self.value(schema[name][0], deep + 1)
        return self._value_of_type(schema, deep)

    def _value_of_type(self, schema: dict[str, Any], deep: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((each for each in kind if each != "null"), "null")
        kind, form = str(kind), str(schema.get("format"))
        properties = schema.get("properties")
        if deep > _MOST_DEEP and (properties or kind in {"object", "array"}):
            return [] if kind == "array" else {}
        if kind == "object" or isinstance(properties, dict):
            # Of what is optional too, for an API often needs more than it says.
            return {
                name: self.value(each, deep + 1)
                for name, each in (properties if isinstance(properties, dict) else {}).items()
                if self.n_left >= 0 and not _resolve(self.document, each).get("readOnly")
            }
        if kind == "array":
            return [self.value(schema.get("items") or {}, deep + 1)]
        if kind in {"integer", "number"} and isinstance(schema.get("minimum"), int | float):
            return schema["minimum"]
        if kind == "string" and (form == "binary" or "contentEncoding" in schema):
            return _FILE
        if kind == "string" and form in _OF_FORMATS:
            return _OF_FORMATS[form]
        return _OF_TYPES.get(kind, "string")
