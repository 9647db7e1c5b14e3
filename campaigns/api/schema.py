"""The API's OpenAPI 3 schema, and the page that shows it."""

from functools import cache
from typing import Any

from django.http import HttpResponse
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.views import APIView

from campaigns.api.negotiation import AnyAccept

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
_ERROR_RESPONSE = {
    "description": "Error: code and message say why, fields has a message per invalid field.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "campaigns.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A personal token, bs_pat_…, created under Account, Tokens.",
        }


class AgentScheme(OpenApiAuthenticationExtension):
    target_class = "campaigns.api.authentication.AgentAuthentication"
    name = "agent"

    def get_security_definition(self, auto_schema) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An agent's token, bs_agent_…, created on the page of its target.",
        }


def describe_errors(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A drf-spectacular hook: every operation may return the error shape."""
    result["components"]["schemas"]["Error"] = _ERROR
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = _ERROR_RESPONSE
    return result


@cache
def described() -> bytes:
    """The schema as JSON, cached: it takes a third of a second and never changes at run time."""
    return OpenApiJsonRenderer().render(SchemaGenerator().get_schema(public=True))


class SchemaView(APIView):
    """Names no data, so that it needs no account."""

    permission_classes = (AllowAny,)
    content_negotiation_class = AnyAccept
    schema = None

    def get(self, request):
        return HttpResponse(described(), content_type="application/json")


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI from our own server; its script is a request of its own, as our CSP wants it."""

    permission_classes = (AllowAny,)
    url_name = "api-schema"
    template_name = "api/docs.html"


class NothingHere(APIView):
    """Addresses below the API that do not exist are refused in the API's shape, too."""

    permission_classes = (AllowAny,)
    schema = None

    def http_method_not_allowed(self, request, *args, **kwargs):
        raise NotFound("No such URL; URLs end with a slash. See /api/v1/docs/.")

    get = http_method_not_allowed
