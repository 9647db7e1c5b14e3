"""The API's OpenAPI 3 schema."""

from functools import cache
from typing import Any

from django.http import HttpResponse
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.views import APIView

from campaigns.api.parsers import AnyAccept

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
    target_class = "campaigns.api.authentication.TokenAuthentication"
    name = "token"
    words = "A personal token, bs_pat_…, created under Account, Tokens."

    def get_security_definition(self, auto_schema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": self.words}


class AgentScheme(TokenScheme):
    target_class = "campaigns.api.authentication.AgentAuthentication"
    name = "agent"
    words = "An agent's token, bs_agent_…, created on the page of its target."


def describe_errors(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A drf-spectacular hook: the refusals of each operation, all of them in the error shape."""
    result["components"]["schemas"]["Error"] = _ERROR
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            if method in _CHANGES:
                operation.setdefault("parameters", []).append(_IF_MATCH)
            for status in sorted(_refusals_of(method, path, operation)):
                operation["responses"][status] = {"description": REFUSALS[status]} | (
                    {} if status == _BEFORE_US else _IN_THE_SHAPE
                )
    return result


def _refusals_of(method: str, path: str, operation: dict[str, Any]) -> set[str]:
    """The statuses in which an operation may refuse a request, from what it takes and gives."""
    found = {"401", "429", "503", *_ALSO.get(operation["operationId"], ())}
    asked = {parameter["in"] for parameter in operation.get("parameters", ())}
    gives = {kind for each in operation["responses"].values() for kind in each.get("content", ())}
    if gives <= {"application/json"}:
        found.add("406")
    if method != "get":
        found |= {"403", "409"}
    if method in _CHANGES:
        found.add("412")
    if "requestBody" in operation:
        found |= {"400", "404", "413", "415"}
    if "query" in asked:
        found |= {"400", "404", _BEFORE_US}
    return found | ({"404"} if "{" in path else set())


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
