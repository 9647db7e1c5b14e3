"""Where the installation's own servers listen: no load is sent there, whatever networks allow."""

import socket
import time
from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings

from campaigns.domain.plan.addresses import parse_address, written

_KEPT_S = 60.0
# What this process has found last for each host and port.
_known: dict[tuple[str, int], Set[str]] = {}


def policy(allowed: list[str], elsewhere: Mapping[str, list[str]] | None = None) -> dict[str, Any]:
    """An order's `policy`: the networks that may be dialled, under other names if they are not the
    same (`elsewhere`), and what in them may not."""
    never = list(_own_services(time.monotonic() // _KEPT_S))
    return {"allow": allowed, "never": never, **({"hosts": dict(elsewhere)} if elsewhere else {})}


@lru_cache(maxsize=1)
def _own_services(_minute: float) -> tuple[str, ...]:
    """PostgreSQL, Redis and what the settings list, as 10.0.0.5:5432; names are looked up again
    each minute. A name that was never known here cannot be dialled from here either."""
    return tuple(sorted({place for host, port in _named() for place in _places(host, port)}))


def _places(host: str, port: int) -> Set[str]:
    """Those of before while no name server answers: its addresses can be dialled all the same."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return _known.get((host, port), frozenset())
    _known[host, port] = {written(parse_address(str(each[4][0])), port) for each in answers}
    return _known[host, port]


def _named() -> Iterator[tuple[str, int]]:
    """Sockets in the file system have no port that could be dialled."""
    for url, port in ((settings.DATABASE_URL, 5432), (settings.REDIS_URL, 6379)):
        parts = urlsplit(url)
        host = unquote(parts.hostname or "")
        if host and not host.startswith("/"):
            yield host, parts.port or port
    yield from settings.NEVER
