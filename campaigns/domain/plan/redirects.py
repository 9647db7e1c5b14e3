"""Redirects that a plan follows: where a reply leads, and what is sent there.

The rules are those of browsers and of curl -L: 301 and 302 make a POST a GET, 303 makes every
method but HEAD a GET, 307 and 308 change nothing. Credentials stay with the plan's own origin.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self
from urllib.parse import quote, urljoin, urlsplit

from campaigns.domain.plan.load import Load
from campaigns.domain.plan.session import Session
from campaigns.domain.plan.step import MAX_PATH_LENGTH, Step
from campaigns.domain.plan.target import host_fault

MOST_REDIRECTS = 10
STATUSES = frozenset({301, 302, 303, 307, 308})
DEFAULT_PORTS = {"http": 80, "https": 443}
# What a URL may have as it is; a Location may have any byte.
_SAFE = "!#$%&'()*+,/:;=?@[]~|^`{}\"<>\\"
_OF_A_BODY = frozenset({"content-type", "content-encoding", "content-language", "content-location"})
# They name or prove who asks, to the plan's own origin.
_FOR_ITS_ORIGIN = frozenset({"authorization", "cookie", "host", "proxy-authorization"})


class Redirects(StrEnum):
    OFF = "off"
    SAME_ORIGIN = "same_origin"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Url:
    """Where a request goes; `host` is in lower case, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int
    path: str = "/"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """Without the port if it is the scheme's default."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == DEFAULT_PORTS[self.scheme] else f"{name}:{self.port}"

    def __str__(self) -> str:
        """The origin: paths may hold secrets, and there are many."""
        return f"{self.scheme}://{self.authority}"

    @classmethod
    def parse(cls, url: str) -> Self:
        """Raises ValueError with what is wrong."""
        parts = urlsplit(url)
        if parts.scheme not in DEFAULT_PORTS:
            raise ValueError(f"the scheme {parts.scheme[:20]!r} is not followed")
        host = (parts.hostname or "").lower()
        if host_fault(host):
            raise ValueError(f"{host[:100]!r} is no host that load may go to")
        port = DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
        if not port:
            raise ValueError("there is no port 0")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if len(path) > MAX_PATH_LENGTH:
            raise ValueError(f"a path of more than {MAX_PATH_LENGTH:,} characters")
        return cls(parts.scheme, host, port, path)

    def led_to(self, location: str) -> Self:
        """The place that a Location header (ISO 8859-1) leads to from here, without a fragment.
        Raises ValueError with what is wrong."""
        reference = quote(location.strip(" \t").encode("latin-1"), safe=_SAFE)
        return type(self).parse(urljoin(f"{self}{self.path}", reference))


def step_after(step: Step, status: int, path: str) -> Step:
    """What is sent after this redirect of a step, to its own origin."""
    is_get = status == 303 and step.method != "HEAD"
    if not (is_get or (status in {301, 302} and step.method == "POST")):
        return replace(step, path=path)
    headers = tuple(pair for pair in step.headers if pair[0].lower() not in _OF_A_BODY)
    bare = {"body": "", "body_file": None, "form": (), "multipart": ()}
    return replace(step, method="GET", path=path, headers=headers, **bare)


def without_credentials(step: Step) -> Step:
    """The same for another origin."""
    headers = tuple(pair for pair in step.headers if pair[0].lower() not in _FOR_ITS_ORIGIN)
    return replace(step, headers=headers)


def redirect_faults(
    redirects: Redirects, load: Load, session: Session
) -> Iterator[tuple[str, str]]:
    """(field, sentence) for what cannot follow."""
    if redirects == Redirects.OFF:
        return
    if session.pipeline_depth > 1:
        yield (
            "redirects",
            "With pipelining other requests are on their way before a redirect comes. Leave one "
            "of the two out.",
        )
    if load.counts_connections:
        yield (
            "redirects",
            "This load counts connections, and redirects open others. Let requests or sessions "
            "arrive, or choose a closed load.",
        )
