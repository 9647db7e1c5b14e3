"""A request as it is on the wire: a request line, headers, an empty line, a body."""

import re

from campaigns.domain.paste.draft import Omissions, RequestDraft
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, shortened

BEGINS = re.compile(r"[A-Za-z!#$%&'*+.^_`|~0-9-]{1,40} (\S+) HTTP/(\d(?:\.\d)?)[ \t]*(?:\r?\n|\Z)")
_VERSIONS = {"1.0": "1.0", "2": "2", "2.0": "2"}


def read_raw(text: str, omissions: Omissions) -> list[TypedRequest]:
    """Raises NotUnderstood."""
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    line, *lines = head.splitlines()
    method, target, version = line.split()
    draft = RequestDraft(
        method=method, http_version=_VERSIONS.get(version.removeprefix("HTTP/"), "")
    )
    for each in lines:
        name, colon, value = each.partition(":")
        if not colon or not name.strip():
            raise NotUnderstood(f"{shortened(each)} is not a header; write it as in Name: value.")
        draft.headers.append((name.strip(), value.strip()))
    draft.body = body if method != "GET" or body.strip() else ""
    if body.endswith("\n") and draft.value_of("content-length"):
        draft.body = body[:-1]  # an editor's last line end
    draft.url = target if "://" in target else _url(draft, target)
    return [draft.request(omissions)]


def _url(draft: RequestDraft, target: str) -> str:
    host = draft.value_of("host")
    if not host:
        raise NotUnderstood("The request names no host. Add a line such as Host: shop.example.")
    draft.headers = [pair for pair in draft.headers if pair[0].lower() != "host"]
    # What came from a browser says by which scheme; HTTP/2 is seldom without TLS.
    origins = draft.value_of("origin"), draft.value_of("referer")
    is_https = draft.http_version == "2" or any(
        each.lower().startswith(f"https://{host.lower()}") for each in origins
    )
    scheme = "https" if is_https or host.endswith((":443", ":8443")) else "http"
    return f"{scheme}://{host}{target}"
