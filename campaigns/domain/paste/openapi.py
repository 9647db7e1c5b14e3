"""An OpenAPI document (3.x, or Swagger 2.0): a request for each operation, with values made up of
its examples, defaults and types."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from campaigns.domain.paste.draft import Omissions, RequestDraft
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest

_METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "query")
_MOST_DEEP = 8
_OF_FORMATS = {
    "uuid": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "ann@shop.example",
    "uri": "https://shop.example/",
}
_OF_TYPES = {"integer": 1, "number": 1, "boolean": True, "string": "string", "null": None}


def read_openapi(document: dict[str, Any], omissions: Omissions) -> list[TypedRequest]:
    """Raises NotUnderstood."""
    base = _base_url(document)
    paths = document.get("paths")
    requests = [
        _draft(document, base, path, method, operation).request(omissions)
        for path, method, operation in _operations(paths if isinstance(paths, dict) else {})
    ]
    if not requests:
        raise NotUnderstood("This OpenAPI document has no operations.")
    return requests


def _operations(paths: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in paths.items():
        if not isinstance(item, dict):
            continue
        for method in _METHODS:
            operation = item.get(method)
            if isinstance(operation, dict):
                shared = item.get("parameters") or []
                own = operation.get("parameters") or []
                yield str(path), method, {**operation, "parameters": [*shared, *own]}


def _base_url(document: dict[str, Any]) -> str:
    servers = document.get("servers")
    if isinstance(servers, list) and servers and isinstance(servers[0], dict):
        url = str(servers[0].get("url", ""))
        variables = servers[0].get("variables")
        for name, variable in variables.items() if isinstance(variables, dict) else ():
            default = variable.get("default", "") if isinstance(variable, dict) else ""
            url = url.replace(f"{{{name}}}", str(default))
        if url.startswith(("http://", "https://")):
            return url.rstrip("/")
    if host := document.get("host"):  # of Swagger 2.0
        scheme = ([*(document.get("schemes") or ()), "https"])[0]
        return f"{scheme}://{host}{str(document.get('basePath') or '').rstrip('/')}"
    raise NotUnderstood(
        "This OpenAPI document names no server. Add one, as in servers: [{url: https://shop.example}]."
    )


def _draft(
    document: Mapping[str, Any], base: str, path: str, method: str, operation: dict[str, Any]
) -> RequestDraft:
    draft, query, form = RequestDraft(method=method.upper()), [], []
    for given in operation["parameters"]:
        parameter = _resolved(document, given)
        name, place = str(parameter.get("name", "")), parameter.get("in")
        is_needed = bool(parameter.get("required"))
        if place == "path":
            path = path.replace(f"{{{name}}}", quote(_text(_sample(document, parameter)), safe=""))
        elif place == "query" and is_needed:
            query.append((name, _text(_sample(document, parameter))))
        elif place == "header" and is_needed:
            draft.headers.append((name, _text(_sample(document, parameter))))
        elif place == "formData" and is_needed:
            form.append([name, _text(_sample(document, parameter))])
        elif place == "body":
            _write_json(draft, _sample(document, parameter.get("schema") or {}))
    draft.form = form
    draft.url = base + path + (f"?{urlencode(query)}" if query else "")
    _write_body(document, draft, _resolved(document, operation.get("requestBody") or {}))
    return draft


def _write_body(document: Mapping[str, Any], draft: RequestDraft, body: dict[str, Any]) -> None:
    content = body.get("content")
    if not isinstance(content, dict) or not content:
        return
    kinds = sorted(content, key=lambda each: "json" not in each)
    kind, media = kinds[0], content[kinds[0]]
    sample = _sample(document, media if isinstance(media, dict) else {})
    if "json" in kind:
        _write_json(draft, sample, kind)
    elif kind == "application/x-www-form-urlencoded" and isinstance(sample, dict):
        draft.form = [[name, _text(value)] for name, value in sample.items()]
    elif kind == "multipart/form-data" and isinstance(sample, dict):
        pairs = sample.items()
        draft.multipart = [{"name": name, "value": _text(value)} for name, value in pairs]
    else:
        draft.body = _text(sample)
        draft.headers.append(("Content-Type", kind))


def _write_json(draft: RequestDraft, sample: Any, kind: str = "application/json") -> None:
    draft.body = json.dumps(sample, ensure_ascii=False)
    draft.headers.append(("Content-Type", kind))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _resolved(document: Mapping[str, Any], value: Any) -> dict[str, Any]:
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


def _sample(document: Mapping[str, Any], given: Any, deep: int = 0) -> Any:
    """A value as a schema, a parameter or a media type describes it."""
    schema = _resolved(document, given)
    if "example" in schema:
        return schema["example"]
    examples = schema.get("examples")
    if isinstance(examples, dict) and examples:
        return _resolved(document, next(iter(examples.values()))).get("value", "")
    if isinstance(examples, list) and examples:
        return examples[0]
    for name in ("default", "const"):
        if name in schema:
            return schema[name]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    if deep > _MOST_DEEP:
        return None
    if "schema" in schema:
        return _sample(document, schema["schema"], deep)
    if isinstance(schema.get("allOf"), list):
        parts = [_sample(document, each, deep + 1) for each in schema["allOf"]]
        return {
            name: value for part in parts if isinstance(part, dict) for name, value in part.items()
        }
    for name in ("oneOf", "anyOf"):
        if isinstance(schema.get(name), list) and schema[name]:
            return _sample(document, schema[name][0], deep + 1)
    return _sample_by_type(document, schema, deep)


def _sample_by_type(document: Mapping[str, Any], schema: dict[str, Any], deep: int) -> Any:
    kind = schema.get("type")
    kind = (
        next((each for each in kind if each != "null"), "null") if isinstance(kind, list) else kind
    )
    properties = schema.get("properties")
    if kind == "object" or isinstance(properties, dict):
        # Of what is optional too, for an API often needs more than it says.
        return {
            name: _sample(document, each, deep + 1)
            for name, each in (properties if isinstance(properties, dict) else {}).items()
            if not _resolved(document, each).get("readOnly")
        }
    if kind == "array":
        return [_sample(document, schema.get("items") or {}, deep + 1)]
    if kind in {"integer", "number"} and isinstance(schema.get("minimum"), int | float):
        return schema["minimum"]
    if kind == "string" and schema.get("format") in _OF_FORMATS:
        return _OF_FORMATS[schema["format"]]
    return _OF_TYPES.get(kind, "string")
