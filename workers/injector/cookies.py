"""The cookies of one session: read from Set-Cookie, sent back as RFC 6265 says.

There is one origin only: a cookie whose Domain is another host is dropped, as in a browser.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from workers.injector.connection import NS, now

MAX_COOKIES = 50
MAX_COOKIE_BYTES = 4096
_AGE = re.compile(r"-?[0-9]+")


@dataclass(frozen=True, slots=True)
class _Cookie:
    """`created`: a number that is higher for a later one; a new value leaves it as it was."""

    created: int
    value: str
    is_secure: bool
    expires_ns: int | None


class CookieJar:
    def __init__(self, host: str, is_tls: bool):
        self._host = host.lower()
        self._is_tls = is_tls
        # By path and name, the one that was set last at the end.
        self._cookies: dict[tuple[str, str], _Cookie] = {}
        self._n_created = 0

    def clear(self) -> None:
        self._cookies.clear()

    def take(self, headers: tuple[tuple[str, str], ...], request_path: str) -> int:
        """Store what a reply sets; beyond MAX_COOKIES that have not expired, what was set first is
        dropped. Returns how many were too large.
        """
        given = [value for name, value in headers if name.lower() == "set-cookie"]
        fitting = [value for value in given if len(value) <= MAX_COOKIE_BYTES]
        for value in fitting:
            self._set(value, request_path)
        return len(given) - len(fitting)

    def _set(self, text: str, request_path: str) -> None:
        pair, *rest = text.split(";")
        name, equals, value = pair.partition("=")
        name = name.strip()
        pairs = (text.partition("=") for text in rest)
        attributes = {name.strip().lower(): value.strip() for name, _, value in pairs}
        if not equals or not name or not self._is_own(attributes.get("domain", "")):
            return
        path = attributes.get("path", "")
        path = path if path.startswith("/") else _default_path(request_path)
        key = (path, name)
        self._drop_expired()
        earlier = self._cookies.pop(key, None)
        left_s = _seconds_left(attributes)
        if left_s is not None and left_s <= 0:
            return
        expires_ns = None if left_s is None else now() + int(left_s * NS)
        created = self._next_created() if earlier is None else earlier.created
        self._cookies[key] = _Cookie(created, value.strip(), "secure" in attributes, expires_ns)
        if len(self._cookies) > MAX_COOKIES:
            del self._cookies[next(iter(self._cookies))]

    def _drop_expired(self) -> None:
        instant = now()
        for key, cookie in list(self._cookies.items()):
            if cookie.expires_ns is not None and cookie.expires_ns <= instant:
                del self._cookies[key]

    def _next_created(self) -> int:
        self._n_created += 1
        return self._n_created

    def _is_own(self, domain: str) -> bool:
        domain = domain.lower().lstrip(".")
        return not domain or self._host == domain or self._host.endswith("." + domain)

    def header(self, request_path: str) -> str:
        """The value of the Cookie header for a path, longest paths first, then those
        that were created first; "" without cookies.
        """
        if not self._cookies:
            return ""
        instant, path = now(), request_path.partition("?")[0]
        fitting = [
            (-len(under), cookie.created, f"{name}={cookie.value}")
            for (under, name), cookie in self._cookies.items()
            if _lies_under(path, under)
            and (self._is_tls or not cookie.is_secure)
            and (cookie.expires_ns is None or cookie.expires_ns > instant)
        ]
        return "; ".join(text for *_, text in sorted(fitting))


def _default_path(request_path: str) -> str:
    folder = request_path.partition("?")[0].rpartition("/")[0]
    return folder or "/"


def _lies_under(path: str, under: str) -> bool:
    return path == under or path.startswith(under if under.endswith("/") else under + "/")


def _seconds_left(attributes: dict[str, str]) -> float | None:
    """Seconds until the cookie expires; None: with its session. Max-Age overrides Expires."""
    age = attributes.get("max-age", "")
    if _AGE.fullmatch(age):
        return int(age)
    try:
        expires = parsedate_to_datetime(attributes["expires"])
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    if expires.tzinfo is None:
        expires = expires.replace(tzinfo=UTC)
    return (expires - datetime.now(UTC)).total_seconds()
