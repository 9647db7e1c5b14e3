"""Answers about what has ended: whoever has one is told so, and it is not made again."""

from collections.abc import Callable, Hashable
from hashlib import blake2b

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag

from campaigns.queries.release import release


def unless_known(
    request: HttpRequest, seen: Hashable | None, make: Callable[[], HttpResponseBase]
) -> HttpResponseBase:
    """What `make` answers, with an ETag; 304, and nothing made, if the request names that ETag.

    `seen`: all that decides what is at this address, in values whose `repr` is the same in every
    process; None while it may still change. Call it after the reader's rights have been checked.
    """
    if seen is None:
        return make()
    tag = quote_etag(blake2b(repr((release(), seen)).encode(), digest_size=16).hexdigest())
    response = get_conditional_response(request, etag=tag) or make()
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    return response
