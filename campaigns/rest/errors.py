"""All API errors have one shape: {"error": {"code", "message", "fields": {path: text}}}. Codes:
invalid, parse_error, unauthenticated, forbidden, not_found, method_not_allowed, not_acceptable,
refused, removed, changed, too_large, unsupported_media_type, throttled, unavailable, internal."""

import logging
from itertools import islice
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404
from psycopg_pool import PoolTimeout
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import set_rollback

from campaigns.core.database import is_of_what_is_gone
from campaigns.domain.errors import BenchsiteError, Forbidden, InvalidFields, InvalidPlan, Removed
from campaigns.rest.fields import MOST_FAULTS

logger = logging.getLogger(__name__)

LONGEST_FAULT = 1000
_INVALID = "Some fields have invalid values."
_CODES = {
    exceptions.ParseError: "parse_error",
    exceptions.AuthenticationFailed: "unauthenticated",
    exceptions.NotAuthenticated: "unauthenticated",
    exceptions.PermissionDenied: "forbidden",
    exceptions.NotFound: "not_found",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.Throttled: "throttled",
}


def error_body(code: str, message: str, fields: dict[str, str] | None = None) -> dict[str, Any]:
    """The first faults by name, the others by their number."""
    faults = fields or {}
    if (n_more := len(faults) - MOST_FAULTS) > 0:
        message = f"{message} {n_more:,} more are not named here."
    shown_faults = {_short(name): _short(faults[name]) for name in islice(faults, MOST_FAULTS)}
    return {"error": {"code": code, "message": message, "fields": shown_faults}}


def _short(text: str) -> str:
    """A fault may quote what was sent."""
    return text if len(text) <= LONGEST_FAULT else f"{text[:LONGEST_FAULT]}…"


def one_error_shape(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's handler for any exception of a view."""
    set_rollback()
    if isinstance(error, exceptions.APIException):
        if isinstance(error, exceptions.ValidationError):
            body = error_body("invalid", _INVALID, flat(error.detail))
        else:
            body = error_body(_CODES.get(type(error), error.default_code), str(error.detail))
        headers = {}
        if getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = error.auth_header
        if getattr(error, "wait", None):
            headers["Retry-After"] = str(int(error.wait))
        return Response(body, error.status_code, headers=headers)
    http_status, code, message = _judge(Http404() if is_of_what_is_gone(error) else error)
    if http_status == status.HTTP_500_INTERNAL_SERVER_ERROR:
        logger.error("API: %s", context.get("request"), exc_info=error)
    prefix = "spec." if isinstance(error, InvalidPlan) else ""
    errors = error.errors if isinstance(error, InvalidPlan | InvalidFields) else {}
    fields = {f"{prefix}{path}": text for path, text in errors.items()}
    return Response(error_body(code, message, fields), http_status)


def _judge(error: Exception) -> tuple[int, str, str]:
    match error:
        case Http404():
            return 404, "not_found", "Not found, or you do not have access to it."
        case PermissionDenied():
            return 403, "forbidden", str(error) or "You do not have permission to do this."
        case Forbidden():
            return 403, "forbidden", str(error)
        case InvalidFields():
            return 400, "invalid", _INVALID
        case Removed():
            return 410, "removed", str(error)
        case BenchsiteError():
            return 409, "refused", str(error)
        case OperationalError() | InterfaceError() | PoolTimeout():
            return 503, "unavailable", "The database is not responding. Try again in a moment."
    return 500, "internal", "Something went wrong on the server. Its log has the details."


def flat(detail: Any, path: str = "") -> dict[str, str]:
    """DRF's nested details as {"cells.0.plan": "sentence sentence"}."""
    if isinstance(detail, dict):
        pairs = detail.items()
    elif isinstance(detail, list) and any(isinstance(each, dict | list) for each in detail):
        pairs = enumerate(detail)
    else:
        sentences = detail if isinstance(detail, list) else [detail]
        return {path or "body": " ".join(str(each) for each in sentences)} if sentences else {}
    return {
        name: text
        for key, value in pairs
        for name, text in flat(value, _join_path(path, str(key))).items()
    }


def _join_path(path: str, key: str) -> str:
    if key == "non_field_errors":
        return path or "body"
    return f"{path}.{key}" if path else key
