"""How bodies and answers travel: bodies only as large as their address needs them, answers
compressed, and not again where the reader already has them. The length of a compressed answer tells
how much of it repeats what was asked. Another site can make a reader's browser ask here, with the
reader's cookies and with guesses in the address; whoever also sees the lengths on the network could
so learn what stands beside the guess (the BREACH attack). So what another site made a browser ask
for is sent as it is. So is the answer to a form, which may hold a new secret beside what was typed.
Every other answer gets a random number of bytes more, and every page has its form token masked
anew.

From which address a request came, where proxies stand in front of the web process."""

from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address, ip_network
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.middleware.http import ConditionalGetMiddleware
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

# Event streams are missing: each event must leave at once.
_TEXTS = {"text/html", "text/csv", "text/plain", "application/json"}
# What our own pages, and the reader's address bar, ask for.
_OWN = {"same-origin", "none"}
_URLENCODED = "application/x-www-form-urlencoded"


def takes_bytes(most: int) -> Callable[[Any], Any]:
    """For a view that takes larger bodies than others."""

    def decorate(view: Any) -> Any:
        view.most_body_bytes = most
        return view

    return decorate


class BodyMiddleware(MiddlewareMixin):
    """413 for a body that is larger than its address takes, before any of it is read: reading may
    hold up everybody else, and asks for no rights."""

    def process_view(self, request: HttpRequest, view: Any, *_: Any) -> HttpResponse | None:
        most = getattr(getattr(view, "cls", view), "most_body_bytes", settings.MOST_BODY_BYTES)
        if request.content_type == _URLENCODED:
            most = min(most, settings.MOST_URLENCODED_BYTES)
        # A body without a length is read by nobody.
        length = request.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) <= most:
            return None
        sentence = f"The body is too large. This address takes {most:,} bytes."
        if request.path.startswith("/api/"):
            error = {"code": "too_large", "message": sentence, "fields": {}}
            return JsonResponse({"error": error}, status=413)
        return render(request, "413.html", {"sentence": sentence}, status=413)


class CompressionMiddleware(GZipMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponseBase):
        if request.method != "GET" or _media_type(response) not in _TEXTS:
            return response
        # Whether no other site can be behind the request; without cookies it has no rights to lend.
        # Browsers say where a request comes from wherever they speak TLS, and at loopback
        # addresses.
        return (
            super().process_response(request, response)
            if not request.COOKIES or request.headers.get("Sec-Fetch-Site") in _OWN
            else response
        )


class ValidatorMiddleware(ConditionalGetMiddleware):
    """Gives whole texts an ETag, and answers 304 to who has that text. Pages get none: their form
    token is another one each time."""

    def needs_etag(self, response: HttpResponseBase) -> bool:
        is_text = _media_type(response) in _TEXTS - {"text/html"}
        return is_text and response.status_code == 200 and super().needs_etag(response)


def _media_type(response: HttpResponseBase) -> str:
    return response.get("Content-Type", "").partition(";")[0].strip()


def client_address(meta: Mapping[str, str], trusted_proxies: Iterable[str]) -> str:
    """The last address that no trusted proxy has; `meta` is a WSGI environment.

    X-Forwarded-For is read from its end, where our own proxies write: what a client puts before
    that is not believed. `trusted_proxies` are addresses or networks; "*" trusts the peer, whoever
    it is, and nobody behind it.
    """
    proxies = list(trusted_proxies)
    peer = meta.get("REMOTE_ADDR", "")
    hops = [hop.strip() for hop in meta.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()]
    if "*" in proxies:
        return hops[-1] if hops and _is_address(hops[-1]) else peer
    address = peer
    while hops and is_in(address, proxies) and _is_address(hops[-1]):
        address = hops.pop()
    return address


def is_in(address: str, networks: Iterable[str]) -> bool:
    """Whether one of these addresses or networks has it."""
    # A socket of the same machine has no address; only our own proxy can reach it.
    if not address:
        return True
    return any(ip_address(address) in ip_network(each, strict=False) for each in networks)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
