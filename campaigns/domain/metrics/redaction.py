"""Examples of failures without what is secret: done before they leave the injector.

Header values and parameters whose names speak of credentials, tokens in the usual forms, and values
that are known to be secret become "[hidden]". Control characters are written as escapes.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import ip_address

HIDDEN = "[hidden]"
_NAMES = (
    r"auth|token|secret|passw|pwd|api[-_]?key|session|cookie|credential|signature|csrf|xsrf|"
    r"jwt|access[-_]?key|otp|assertion"
)
_SECRET_HEADER = re.compile(_NAMES, re.IGNORECASE)
_COOKIE = re.compile(r"\s*([^=;\s]+)=[^;]*(.*)", re.DOTALL)
_WORD = r"[\w.\-\[\]%]*"
_PARAMETER = re.compile(
    rf"(?P<name>{_WORD}(?:{_NAMES}|\bsig\b|\bcode\b|\bkey\b){_WORD})(?P<is>\s*=\s*)[^&;\s\"'<>]+",
    re.IGNORECASE,
)
_JSON_MEMBER = re.compile(
    rf"(?P<name>[\"'][^\"'\n]{{0,80}}(?:{_NAMES})[^\"'\n]{{0,80}}[\"']\s*:\s*)"
    r"(?:\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)|[\w.+-]+)",
    re.IGNORECASE,
)
_TOKENS = (
    re.compile(r"(?P<kept>\b(?:bearer|basic|digest|negotiate)\s+)[\w.+/=~-]{6,}", re.IGNORECASE),
    re.compile(r"(?P<kept>)\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"),
    re.compile(r"(?P<kept>\b[a-z][a-z0-9+.-]*://)[^/\s@\"'<>]+(?=@)", re.IGNORECASE),
)
_UNPRINTABLE = re.compile(r"[^\t\n\x20-\x7e\xa1-\ud7ff\ue000-\ufffd]")
_SHORT = 4
# What may be an address, with or without brackets and a port.
_ADDRESS = re.compile(r"\[?(?P<host>[\da-f]*[.:][\da-f.:]*[\da-f])\]?(?::\d+)?", re.IGNORECASE)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with secrets hidden; `secrets` are values that must not appear in it."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        text = _without(text, secret)
    text = _JSON_MEMBER.sub(lambda found: f'{found["name"]}"{HIDDEN}"', text)
    text = _PARAMETER.sub(lambda found: f"{found['name']}{found['is']}{HIDDEN}", text)
    for token in _TOKENS:
        text = token.sub(lambda found: found["kept"] + HIDDEN, text)
    return text


def redacted_header(name: str, value: str, secrets: Iterable[str] = ()) -> str:
    """The line of a header; of a cookie that is set its name stays."""
    if name.lower() == "set-cookie" and (cookie := _COOKIE.fullmatch(value)):
        return f"{name}: {cookie[1]}={HIDDEN}{cookie[2]}"
    if _SECRET_HEADER.search(name):
        return f"{name}: {HIDDEN}"
    return f"{name}: {redacted(value, secrets)}"


def redacted_head(text: str, secrets: Iterable[str] = ()) -> str:
    """A request line or status line and its headers, one a line."""
    first, *headers = text.split("\n")
    lines = [redacted(first, secrets)]
    for header in headers:
        name, colon, value = header.partition(":")
        lines.append(redacted_header(name, value.strip(), secrets) if colon else redacted(header))
    return "\n".join(lines)


def printable(text: str) -> str:
    """The text as it can be stored and shown: control characters and the like as escapes."""
    return _UNPRINTABLE.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


def _without(text: str, secret: str) -> str:
    if not secret:
        return text
    if len(secret) >= _SHORT:
        return text.replace(secret, HIDDEN)
    # A short value as a part of words would take the sense from everything.
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, text)


def without_addresses(text: str, *hosts: str) -> str:
    """The text without these hosts and without literal addresses."""
    for host in hosts:
        text = re.sub(rf"(?<![\w.:-]){re.escape(host)}(?!\.?[\w-])", HIDDEN, text)
    return _ADDRESS.sub(_unless_an_address, text)


def _unless_an_address(found: re.Match[str]) -> str:
    host, _, port = found["host"].rpartition(":")
    for text in (found["host"], host if port.isdecimal() else ""):
        with suppress(ValueError):
            ip_address(text)
            return HIDDEN
    return found[0]
