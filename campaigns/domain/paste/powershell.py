"""Invoke-WebRequest and Invoke-RestMethod, as browsers on Windows copy them as PowerShell."""

import json
import re
from typing import Any

from campaigns.domain.paste.draft import Omissions, RequestDraft
from campaigns.domain.paste.shells import powershell_string, without_ticks
from campaigns.domain.plan.body import FORM_TYPE
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, shortened

_CALL = re.compile(r"\b(?:Invoke-WebRequest|Invoke-RestMethod|iwr|irm|curl|wget)\b", re.I)
BEGINS = re.compile(
    r"(?:\$[\w.]+\s*=|\$\w+\.|(?:Invoke-WebRequest|Invoke-RestMethod|iwr|irm)\b|curl\s+-Uri\b)",
    re.I,
)
_COOKIE = re.compile(r"System\.Net\.Cookie\(", re.I)
_USER_AGENT = re.compile(r"\.UserAgent\s*=\s*(?=[\"'])", re.I)
_ASSIGNED = re.compile(r"\$(\w+)\s*=\s*(?=[\"'@])")
_NEW = re.compile(r"\$(\w+)\s*=\s*New-Object\s+[\"']?System\.Collections", re.I)
_ADDED = re.compile(r"\$(\w+)\.Add\(\s*(?=[\"'])", re.I)
_HERE = re.compile(r"@([\"'])\n(.*?)\n\1@", re.S)
_TO_JSON = re.compile(r"\s*\|\s*ConvertTo-Json\b[^)\n;|]*", re.I)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_VERSIONS = {"1.0": "1.0", "2": "2", "2.0": "2"}
_BLANK = re.compile(r"(?:\s|`\r?\n)+")
_PARAMETER = re.compile(r"-([A-Za-z]\w*)(?::\$(true|false)|:)?", re.I)
_BARE = re.compile(r"[^\s`;|()@{}=]+")
_ENCODER = re.compile(r"\[System\.Text\.Encoding\]::\w+\.GetBytes", re.I)
_SWITCHES = {
    "usebasicparsing", "skipcertificatecheck", "skipheadervalidation", "disablekeepalive",
    "passthru", "allowunencryptedauthentication", "skiphttperrorcheck",
}  # fmt: skip
_SENT = {"uri", "method", "custommethod", "headers", "contenttype", "useragent", "body"}
# Pseudo-headers of HTTP/2, which Chrome lists without their colon.
_PSEUDO = {"authority", "method", "path", "scheme"}


def read_powershell(text: str, omissions: Omissions) -> list[TypedRequest]:
    """Raises NotUnderstood."""
    call = _CALL.search(text)
    if call is None:
        raise NotUnderstood("This PowerShell has no Invoke-WebRequest.")
    before = text[: call.start()]
    draft = RequestDraft(headers=_session_headers(before))
    reader = _ParameterReader(text, call.end(), _variables(before))
    for name, value in reader.parameters():
        _take(draft, name, value, omissions)
    if draft.body and draft.method.upper() == "POST" and not draft.value_of("content-type"):
        draft.headers.append(("Content-Type", FORM_TYPE))
    if rest := text[reader.at :].strip():
        omissions.other(f"what follows the command ({shortened(rest)})")
    return [draft.request(omissions)]


def _session_headers(text: str) -> list[tuple[str, str]]:
    """What the lines before the call keep in a session: its cookies and its user agent."""
    headers, cookies = [], []
    if agent := _USER_AGENT.search(text):
        headers.append(("User-Agent", powershell_string(text, agent.end())[0]))
    for cookie in _COOKIE.finditer(text):
        name, at = powershell_string(text, text.index('"', cookie.end()))
        value, _ = powershell_string(text, text.index('"', at))
        cookies.append(f"{name}={value}")
    return [*headers, *([("Cookie", "; ".join(cookies))] if cookies else [])]


def _variables(text: str) -> dict[str, Any]:
    """What the lines before the call say of $headers, $body and so on."""
    variables: dict[str, Any] = {match[1].lower(): {} for match in _NEW.finditer(text)}
    for match in _ASSIGNED.finditer(text):
        variables[match[1].lower()] = _ParameterReader(text, match.end(), variables).value()
    for match in _ADDED.finditer(text):
        name, at = powershell_string(text, match.end())
        reader = _ParameterReader(text, at, variables)
        if isinstance(values := variables.get(match[1].lower()), dict) and reader.takes(","):
            values[name] = reader.value()
    return variables


def _take(draft: RequestDraft, name: str, value: Any, omissions: Omissions) -> None:
    if value is None and name.lower() in _SENT:
        raise NotUnderstood(
            f"-{name}: the paste does not say what its variable is. Paste the lines before, too."
        )
    if value is True and name.lower() in _SENT:
        raise NotUnderstood(f"-{name} has no value. Add one, or leave it out.")
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
        case "httpversion" if str(value) in {"1.1", *_VERSIONS}:
            draft.http_version = _VERSIONS.get(str(value), "")
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
    def __init__(self, text: str, at: int, variables: dict[str, Any]):
        self.text, self.at, self.variables = text, at, variables

    def _skip(self) -> None:
        if blank := _BLANK.match(self.text, self.at):
            self.at = blank.end()

    def takes(self, sign: str) -> bool:
        self._skip()
        if self.text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def parameters(self) -> list[tuple[str, Any]]:
        pairs: list[tuple[str, Any]] = []
        while True:
            before = self.at
            while blank := re.compile(r"[ \t]+|`\r?\n").match(self.text, self.at):
                self.at = blank.end()
            if self.at >= len(self.text) or self.text[self.at] in ";|\r\n":
                return pairs
            if match := _PARAMETER.match(self.text, self.at):
                self.at = match.end()
                # Without a value, another parameter follows, or nothing.
                blank = _BLANK.match(self.text, self.at)
                after = blank.end() if blank else self.at
                has_value = self.text[after:] and not _PARAMETER.match(self.text, after)
                is_switch = match[1].lower() in _SWITCHES or match[2] or not has_value
                pairs.append((match[1], True if is_switch else self._value()))
            else:
                pairs.append(("Uri", self._value()))
            if self.at == before:
                raise self.fault()

    def fault(self) -> NotUnderstood:
        where = shortened(self.text[self.at :].strip()) or "its end"
        return NotUnderstood(f"This PowerShell cannot be read at {where}.")

    def value(self) -> Any:
        """A text, a number, a table, or what a variable is; None where nobody says."""
        value = self._value()
        if match := _TO_JSON.match(self.text, self.at):
            self.at = match.end()
            return json.dumps(value, ensure_ascii=False)
        return value

    def _value(self) -> Any:
        self._skip()
        if match := _HERE.match(self.text, self.at):
            self.at = match.end()
            return match[2] if match[1] == "'" else without_ticks(match[2])
        if self.at < len(self.text) and self.text[self.at] in "'\"":
            value, self.at = powershell_string(self.text, self.at)
            return value
        if self.takes("@{"):
            return self._table()
        if self.takes("("):
            # ([System.Text.Encoding]::UTF8.GetBytes("…")) is that text.
            if encoder := _ENCODER.match(self.text, self.at):
                self.at = encoder.end()
            value = self.value()
            if not self.takes(")"):
                raise self.fault()
            return value
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise self.fault()
        self.at = match.end()
        if match[0].startswith("$"):
            name = match[0][1:].lower()
            return {"true": True, "false": False}.get(name, self.variables.get(name))
        return json.loads(match[0]) if _NUMBER.fullmatch(match[0]) else match[0]

    def _table(self) -> dict[str, Any]:
        values = {}
        while not self.takes("}"):
            name = str(self.value())
            if not self.takes("="):
                raise self.fault()
            values[name] = self.value()
            self.takes(";")
        return values
