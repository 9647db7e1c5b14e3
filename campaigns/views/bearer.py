"""Pages take no API token: a program that sends one is told so, and gets no sign-in page."""

from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from rest_framework.authentication import get_authorization_header


class BearerMiddleware:
    """401 where a request with `Authorization: Bearer …` would get the sign-in page.

    Addresses that need no account answer as always.
    """

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_bearer = get_authorization_header(request).lower().startswith(b"bearer")
        return _refusal() if is_bearer and _asks_to_sign_in(request, response) else response


def _asks_to_sign_in(request: HttpRequest, response: HttpResponse) -> bool:
    """Whether it is a sign-in page or the way to one: ours, or that of the staff's site."""
    shown = request.resolver_match and request.resolver_match.url_name == "login"
    return bool(shown) or urlsplit(response.get("Location", "")).path.endswith("/login/")


def _refusal() -> JsonResponse:
    message = f"Pages take no API token. The REST API has the same data: {reverse('api-docs')}"
    error = {"code": "unauthenticated", "message": message, "fields": {}}
    return JsonResponse(
        {"error": error}, status=401, headers={"WWW-Authenticate": 'Bearer realm="benchsite"'}
    )
