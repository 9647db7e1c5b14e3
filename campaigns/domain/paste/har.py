"""A HAR file: what a browser or a proxy recorded."""

from collections.abc import Iterable
from typing import Any

from campaigns.domain.paste.draft import Omissions, RequestDraft
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest

_VERSIONS = {"http/2": "2", "http/2.0": "2", "h2": "2", "http/1.0": "1.0"}


def read_har(data: dict[str, Any], omissions: Omissions) -> list[TypedRequest]:
    """The requests of its entries in their order. Raises NotUnderstood."""
    entries = (data.get("log") or {}).get("entries")
    if not isinstance(entries, list) or not entries:
        raise NotUnderstood("This HAR file has no entries.")
    requests, n_others = [], 0
    for entry in entries:
        request = entry.get("request") if isinstance(entry, dict) else None
        if not isinstance(request, dict):
            raise NotUnderstood("This HAR file has an entry without a request.")
        if not str(request.get("url", "")).startswith(("http://", "https://")):
            n_others += 1  # data:, blob:, ws:, chrome-extension:
            continue
        requests.append(_draft(request).request(omissions))
    if n_others:
        omissions.other(f"{n_others} entries that are not of http or https")
    if not requests:
        raise NotUnderstood("This HAR file has no request of http or https.")
    return requests


def _draft(request: dict[str, Any]) -> RequestDraft:
    draft = RequestDraft(
        str(request["url"]),
        method=str(request.get("method") or "GET"),
        headers=_pairs(request.get("headers")),
        http_version=_VERSIONS.get(str(request.get("httpVersion", "")).lower(), ""),
    )
    posted = request.get("postData")
    if isinstance(posted, dict):
        _write_body(draft, posted)
    return draft


def _write_body(draft: RequestDraft, posted: dict[str, Any]) -> None:
    kind, text, params = str(posted.get("mimeType", "")), posted.get("text"), posted.get("params")
    if kind and not draft.value_of("content-type"):
        draft.headers.append(("Content-Type", kind))
    if posted.get("encoding") == "base64" and isinstance(text, str):
        draft.body_file = text
    elif isinstance(text, str) and text:
        draft.body = text
    elif params and kind.startswith("multipart/form-data"):
        draft.multipart = [{"name": name, "value": value} for name, value in _pairs(params)]
    elif params:
        draft.form = [[name, value] for name, value in _pairs(params)]


def _pairs(rows: Any) -> list[tuple[str, str]]:
    """[{"name", "value"}, …] as pairs."""
    given: Iterable[Any] = rows if isinstance(rows, list) else ()
    return [
        (str(row.get("name", "")), str(row.get("value") or ""))
        for row in given
        if isinstance(row, dict)
    ]
