"""What somebody typed or pasted: an address, a command of curl or HTTPie, PowerShell, fetch(…), a
raw request, a HAR file or an OpenAPI document. How it begins says which it is."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from campaigns.domain.pasted import httpie, javascript, powershell, raw_http
from campaigns.domain.pasted.collected import LeftOut
from campaigns.domain.pasted.curl import read_curl
from campaigns.domain.pasted.har import read_har
from campaigns.domain.pasted.openapi import read_openapi
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, read_address

MAX_COMMAND, MAX_DOCUMENT = 1_000_000, 4_000_000  # characters
MAX_REQUESTS = 2000
_PROMPT = re.compile(r"(?:[$%#>]|PS [^>\n]*>|[A-Z]:\\[^>\n]*>)\s+")
_YAML = re.compile(r"(?:---\s*\n|#[^\n]*\n|\s*\n)*(?:openapi|swagger)\s*:", re.I)
_CURL = re.compile(r"curl(?:\.exe)?(?=\s|$)")
Reader = Callable[[str, LeftOut], list[TypedRequest]]
_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (powershell.BEGINS, powershell.read_powershell),
    (_CURL, read_curl),
    (javascript.BEGINS, javascript.read_fetch),
    (httpie.BEGINS, httpie.read_httpie),
    (raw_http.BEGINS, raw_http.read_raw),
)


@dataclass(frozen=True, slots=True)
class Pasted:
    """`note` says what is left out, in one sentence; "" if nothing is."""

    requests: tuple[TypedRequest, ...]
    note: str = ""


def read_pasted(text: str) -> Pasted:
    """Raises NotUnderstood with what to change."""
    text = text.lstrip("\ufeff").strip()
    if prompt := _PROMPT.match(text):
        text = text[prompt.end() :]
    left_out = LeftOut()
    if text.startswith("{") or _YAML.match(text):
        requests = _of_document(_parsed(text), left_out)
    else:
        read = next((read for begins, read in _READERS if begins.match(text)), None)
        if read is not None and len(text) > MAX_COMMAND:
            raise _too_long(text, MAX_COMMAND)
        requests = read(text, left_out) if read else [read_address(text)]
    if len(requests) > MAX_REQUESTS:
        raise NotUnderstood(f"This has {len(requests):,} requests; at most {MAX_REQUESTS:,}.")
    return Pasted(tuple(requests), left_out.note)


def read_typed(text: str) -> TypedRequest:
    """The only request of what was typed. Raises NotUnderstood."""
    pasted = read_pasted(text)
    if len(pasted.requests) > 1:
        raise NotUnderstood(f"This has {len(pasted.requests):,} requests. Leave one.")
    return pasted.requests[0]


def _parsed(text: str) -> dict[str, Any]:
    if len(text) > MAX_DOCUMENT:
        raise _too_long(text, MAX_DOCUMENT)
    is_json = text.startswith("{")
    try:
        if not is_json:
            from campaigns.domain.pasted.yaml_document import read_yaml  # loads libyaml
        document = json.loads(text) if is_json else read_yaml(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if is_json else "YAML"
        raise NotUnderstood(f"This {kind} cannot be read: {error}.") from None
    if not isinstance(document, dict):
        raise NotUnderstood("This document is no OpenAPI document.")
    return document


def _of_document(document: dict[str, Any], left_out: LeftOut) -> list[TypedRequest]:
    if isinstance(document.get("log"), dict):
        return read_har(document, left_out)
    if "openapi" in document or "swagger" in document:
        return read_openapi(document, left_out)
    raise NotUnderstood("This is neither a HAR file nor an OpenAPI document.")


def _too_long(text: str, most: int) -> NotUnderstood:
    return NotUnderstood(f"This has {len(text):,} characters; at most {most:,}.")
