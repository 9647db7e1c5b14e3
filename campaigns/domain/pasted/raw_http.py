"""A request as it is on the wire: a request line, headers, an empty line, a body."""

import re

from campaigns.domain.pasted.collected import Collected, LeftOut
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, shortened

BEGINS = re.compile(r"[A-Za-z!#$%&'*+.^_`|~0-9-]{1,40} (\S+) HTTP/(\d(?:\.\d)?)[ \t]*(?:\r?\n|\Z)")
_VERSIONS = {"1.0": "1.0", "2": "2", "2.0": "2"}


def read_raw(text: str, left_out: LeftOut) -> list[TypedRequest]:
    """Raises NotUnderstood."""
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    line, *lines = head.splitlines()
    method, target, version = line.split()
    collected = Collected(
        method=method, http_version=_VERSIONS.get(version.removeprefix("HTTP/"), "")
    )
    for each in lines:
        name, colon, value = each.partition(":")
        if not colon or not name.strip():
            raise NotUnderstood(f"{shortened(each)} is not a header; write it as in Name: value.")
        collected.headers.append((name.strip(), value.strip()))
    collected.body = body if method != "GET" or body.strip() else ""
    if body.endswith("\n") and collected.value_of("content-length"):
        collected.body = body[:-1]  # an editor's last line end
    collected.url = target if "://" in target else _url(collected, target)
    return [collected.request(left_out)]


def _url(collected: Collected, target: str) -> str:
    host = collected.value_of("host")
    if not host:
        raise NotUnderstood("The request names no host. Add a line such as Host: shop.example.")
    collected.headers = [pair for pair in collected.headers if pair[0].lower() != "host"]
    # What came from a browser says by which scheme; HTTP/2 is seldom without TLS.
    origins = collected.value_of("origin"), collected.value_of("referer")
    is_https = collected.http_version == "2" or any(
        each.lower().startswith(f"https://{host.lower()}") for each in origins
    )
    scheme = "https" if is_https or host.endswith((":443", ":8443")) else "http"
    return f"{scheme}://{host}{target}"
