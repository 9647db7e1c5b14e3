"""The cookies of one session: read from Set-Cookie, sent back as RFC 6265 says.

A cookie whose Domain is another host is dropped, as in a browser. Redirects may lead a session to
other hosts than its own.
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
    """`created`: a number that is higher for a later one; a new value leaves it as it was.
    `is_shared`: with the hosts below the one that it is kept under."""

    created: int
    value: str
    is_secure: bool
    expires_ns: int | None
    is_shared: bool


class CookieJar:
    """`host` and `is_tls`: of the session's own origin."""

    def __init__(self, host: str, is_tls: bool):
        self._own = host.lower(), is_tls
        # By host, path and name, the one that was set last at the end.
        self._cookies: dict[tuple[str, str, str], _Cookie] = {}
        self._n_created = 0

    def clear(self) -> None:
        self._cookies.clear()

    def take(
        self, headers: tuple[tuple[str, str], ...], request_path: str, host: str | None = None
    ) -> int:
        """Store what a reply (of another host) sets; beyond MAX_COOKIES that have not expired, what
        was set first is dropped. Returns how many were too large.
        """
        given = [value for name, value in headers if name.lower() == "set-cookie"]
        # Its attributes do not count, as in browsers.
        fitting = [each for each in given if len(each.partition(";")[0]) <= MAX_COOKIE_BYTES]
        for value in fitting:
            self._set(value, request_path, host or self._own[0])
        return len(given) - len(fitting)

    def _set(self, text: str, request_path: str, host: str) -> None:
        pair, *rest = text.split(";")
        name, equals, value = pair.partition("=")
        name = name.strip()
        pairs = (text.partition("=") for text in rest)
        attributes = {name.strip().lower(): value.strip() for name, _, value in pairs}
        domain = attributes.get("domain", "").lower().lstrip(".")
        if not equals or not name or not _may_set(host, domain):
            return
        if "." not in domain:
            domain = ""  # no host of a top-level domain shares its cookies with another
        path = attributes.get("path", "")
        path = path if path.startswith("/") else _default_path(request_path)
        key = (domain or host, path, name)
        self._drop_expired()
        earlier = self._cookies.pop(key, None)
        left_s = _seconds_left(attributes)
        if left_s is not None and left_s <= 0:
            return
        expires_ns = None if left_s is None else now() + int(left_s * NS)
        created = self._next_created() if earlier is None else earlier.created
        self._cookies[key] = _Cookie(
            created, value.strip(), "secure" in attributes, expires_ns, bool(domain)
        )
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

    def header(self, request_path: str, origin: tuple[str, bool] | None = None) -> str:
        """The value of the Cookie header for a path, longest paths first, then those
        that were created first; "" without cookies. `origin`: another host, and is it over TLS.
        """
        if not self._cookies:
            return ""
        host, is_tls = origin or self._own
        instant, path = now(), request_path.partition("?")[0]
        fitting = [
            (-len(under), cookie.created, f"{name}={cookie.value}")
            for (domain, under, name), cookie in self._cookies.items()
            if (host == domain or (cookie.is_shared and host.endswith(f".{domain}")))
            and _lies_under(path, under)
            and (is_tls or not cookie.is_secure)
            and (cookie.expires_ns is None or cookie.expires_ns > instant)
        ]
        return "; ".join(text for *_, text in sorted(fitting))


def _may_set(host: str, domain: str) -> bool:
    """Whether a host may set a cookie for this Domain, "" without one."""
    return not domain or host == domain or host.endswith(f".{domain}")


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
