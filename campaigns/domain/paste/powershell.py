"""Invoke-WebRequest and Invoke-RestMethod, as browsers on Windows copy them as PowerShell."""

import re
from typing import Any

from campaigns.domain.paste.draft import Omissions, RequestDraft
from campaigns.domain.paste.shells import powershell_string
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, shortened

_CALL = re.compile(r"\b(?:Invoke-WebRequest|Invoke-RestMethod|iwr|irm|curl|wget)\b", re.I)
BEGINS = re.compile(
    r"(?:\$[\w.]+\s*=|\$\w+\.|(?:Invoke-WebRequest|Invoke-RestMethod|iwr|irm)\b|curl\s+-Uri\b)",
    re.I,
)
_COOKIE = re.compile(r"System\.Net\.Cookie\(", re.I)
_USER_AGENT = re.compile(r"\.UserAgent\s*=\s*(?=[\"'])", re.I)
_BLANK = re.compile(r"(?:\s|`\r?\n)+")
_PARAMETER = re.compile(r"-(\w+)(?::\$(\w+))?")
_BARE = re.compile(r"[^\s`;|()@{}=]+")
_SWITCHES = {
    "usebasicparsing", "skipcertificatecheck", "skipheadervalidation", "disablekeepalive",
    "passthru", "allowunencryptedauthentication", "skiphttperrorcheck",
}  # fmt: skip
# Pseudo-headers of HTTP/2, which Chrome lists without their colon.
_PSEUDO = {"authority", "method", "path", "scheme"}


def read_powershell(text: str, omissions: Omissions) -> list[TypedRequest]:
    """Raises NotUnderstood."""
    call = _CALL.search(text)
    if call is None:
        raise NotUnderstood("This PowerShell has no Invoke-WebRequest.")
    draft = RequestDraft(headers=_session_headers(text[: call.start()]))
    reader = _ParameterReader(text, call.end())
    for name, value in reader.parameters():
        _take(draft, name, value, omissions)
    if rest := text[reader.at :].strip():
        omissions.other(f"what follows the command ({shortened(rest)})")
    return [draft.request(omissions)]


def _session_headers(text: str) -> list[tuple[str, str]]:
    """What the lines before the call keep in a session: its cookies and its user agent."""
    headers, cookies = [], []
    if agent := _USER_AGENT.search(text):
        headers.append(("User-Agent", powershell_string(text, agent.end())[0]))
    for found in _COOKIE.finditer(text):
        name, at = powershell_string(text, text.index('"', found.end()))
        value, _ = powershell_string(text, text.index('"', at))
        cookies.append(f"{name}={value}")
    return [*headers, *([("Cookie", "; ".join(cookies))] if cookies else [])]


def _take(draft: RequestDraft, name: str, value: Any, omissions: Omissions) -> None:
    match name.lower():
        case "uri":
            draft.url = str(value)
        case "method" | "custommethod":
            draft.method = str(value)
        case "headers" if isinstance(value, dict):
            pairs = ((key, str(each)) for key, each in value.items())
            draft.headers += [pair for pair in pairs if pair[0].lower() not in _PSEUDO]
        case "contenttype":
            draft.headers.append(("Content-Type", str(value)))
        case "useragent":
            draft.headers.append(("User-Agent", str(value)))
        case "body" if isinstance(value, dict):
            draft.form = [[key, str(each)] for key, each in value.items()]
        case "body":
            draft.body = str(value)
        case "skipcertificatecheck":
            draft.is_insecure = True
        case "usebasicparsing" | "websession" | "sessionvariable":
            pass
        case "infile" | "form" | "proxy" | "certificate" | "credential":
            raise NotUnderstood(
                f"-{name} cannot be followed. Leave it out if the request allows it."
            )
        case _:
            omissions.option(f"-{name}")


class _ParameterReader:
    def __init__(self, text: str, at: int):
        self.text, self.at = text, at

    def _skip(self) -> None:
        if blank := _BLANK.match(self.text, self.at):
            self.at = blank.end()

    def _takes(self, sign: str) -> bool:
        self._skip()
        if self.text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def parameters(self) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        while True:
            before = self.at
            while blank := re.compile(r"[ \t]+|`\r?\n").match(self.text, self.at):
                self.at = blank.end()
            if self.at >= len(self.text) or self.text[self.at] in ";|\r\n":
                return found
            if match := _PARAMETER.match(self.text, self.at):
                self.at = match.end()
                is_switch = match[1].lower() in _SWITCHES or match[2]
                found.append((match[1], True if is_switch else self.value()))
            else:
                found.append(("Uri", self.value()))
            if self.at == before:
                raise self.fault()

    def fault(self) -> NotUnderstood:
        return NotUnderstood(
            f"This PowerShell cannot be read at {shortened(self.text[self.at :])}."
        )

    def value(self) -> Any:
        self._skip()
        if self.at < len(self.text) and self.text[self.at] in "'\"":
            value, self.at = powershell_string(self.text, self.at)
            return value
        if self._takes("@{"):
            return self._table()
        if self._takes("("):
            value = self._inner()
            if not self._takes(")"):
                raise self.fault()
            return value
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise self.fault()
        self.at = match.end()
        return match[0]

    def _inner(self) -> Any:
        """([System.Text.Encoding]::UTF8.GetBytes("…")) is that text."""
        encoder = re.compile(r"\[System\.Text\.Encoding\]::\w+\.GetBytes", re.I)
        if match := encoder.match(self.text, self.at):
            self.at = match.end()
        return self.value()

    def _table(self) -> dict[str, Any]:
        values = {}
        while not self._takes("}"):
            name = str(self.value())
            if not self._takes("="):
                raise self.fault()
            values[name] = self.value()
            self._takes(";")
        return values
