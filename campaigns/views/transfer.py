"""How answers travel: compressed, and not again where the reader already has them.

The length of a compressed answer tells how much of it repeats what was asked. Another site can make
a reader's browser ask here, with the reader's cookies and with guesses in the address; whoever also
sees the lengths on the network could so learn what stands beside the guess (the BREACH attack). So
what another site made a browser ask for is sent as it is. So is the answer to a form, which may
hold a new secret beside what was typed. Every other answer gets a random number of bytes more, and
every page has its form token masked anew.
"""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.middleware.http import ConditionalGetMiddleware

# Event streams are missing: each event must leave at once.
_TEXTS = {"text/html", "text/csv", "text/plain", "application/json"}
# What our own pages, and the reader's address bar, ask for.
_OWN = {"same-origin", "none"}


class CompressionMiddleware(GZipMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponseBase):
        if request.method != "GET" or _media_type(response) not in _TEXTS:
            return response
        return super().process_response(request, response) if _asks_itself(request) else response


def _asks_itself(request: HttpRequest) -> bool:
    """Whether no other site can be behind the request; without cookies it has no rights to lend.

    Browsers say where a request comes from wherever they speak TLS, and at loopback addresses.
    """
    return not request.COOKIES or request.headers.get("Sec-Fetch-Site") in _OWN


class ValidatorMiddleware(ConditionalGetMiddleware):
    """Gives whole texts an ETag, and answers 304 to who has that text. Pages get none: their form
    token is another one each time."""

    def needs_etag(self, response: HttpResponseBase) -> bool:
        is_text = _media_type(response) in _TEXTS - {"text/html"}
        return is_text and response.status_code == 200 and super().needs_etag(response)


def _media_type(response: HttpResponseBase) -> str:
    return response.get("Content-Type", "").partition(";")[0].strip()
