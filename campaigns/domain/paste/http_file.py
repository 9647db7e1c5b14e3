"""A .http or .rest file of an editor: requests with ### between them, names behind it, variables
as in @host = shop.example, which requests use as {{host}}."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from campaigns.domain.paste.draft import MAX_REQUESTS, Omissions, RequestDraft
from campaigns.domain.paste.recorded import read_message
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, shortened

_LINE = r"(?:[A-Z]{3,20}[ \t]+)?(?:(?:https?|wss?)://|/|\{\{)\S[^\n]*(?:\n|\Z)"
_COMMENT = r"(?:#(?!##)|//|@[\w.-]+[ \t]*=)"
_BEFORE = rf"(?:[ \t]*(?:{_COMMENT}[^\n]*)?\n)"
_FIRST = re.compile(rf"(?:{_BEFORE}|###[^\n]*\n|<[ \t]*\{{%)*+(?:{_LINE}|[^\n]*%\}})")
_TOLD = re.compile(
    rf"(?:###|{_COMMENT})[^\n]*\n|<[ \t]*\{{%|[^\n]*\{{\{{|[^\n]*(?:\n(?!###)[^\n]*)*?\n###"
)
# A heading of a text in a body is no separator: a request follows one.
_SEPARATOR = re.compile(rf"^###[ \t]*([^\n]*)\n(?={_BEFORE}*+(?:{_LINE}|###|\Z))", re.M)
_VARIABLE = re.compile(r"@([\w.-]+)[ \t]*=[ \t]*(.*)")
_NAME = re.compile(r"(?:#|//)[ \t]*@name[ \t]*=?[ \t]*(\S.*)")
_USE = re.compile(r"\{\{([^{}\n]{1,200})\}\}")
_SCRIPT = re.compile(r"^[<>][ \t]*\{%", re.M)
_STORED = re.compile(r"^(?:<>|>>?!?)[ \t]+\S[^\n]*\n?", re.M)
_BODY_FILE = re.compile(r"<(?:@[\w-]*)?[ \t]+(\S[^\n]*)")
_OTHER_PROTOCOLS = {"WEBSOCKET", "GRPC", "RSOCKET", "GRAPHQL"}
_DEEPEST = 10
_MOST_FILLED = 4_000_000  # characters, of all requests together


def is_http_file(text: str) -> bool:
    """Whether it is more than one raw request."""
    return bool(_FIRST.match(text) and _TOLD.match(text))


@dataclass
class _Block:
    """What is between two separators."""

    name: str
    lines: list[str] = field(default_factory=list)
    body: str = ""


class _Variables:
    """Those of the file, and how much they may still add to it."""

    def __init__(self, omissions: Omissions) -> None:
        self.values: dict[str, str] = {}
        self._omissions = omissions
        self._n_left = _MOST_FILLED

    def fill(self, text: str) -> str:
        """With the values in their places; what is defined elsewhere is noted."""
        for _ in range(_DEEPEST):
            uses = [use for use in _USE.finditer(text) if use[1].strip() in self.values]
            if not uses:
                break
            self._n_left -= sum(len(self.values[use[1].strip()]) for use in uses)
            if self._n_left < 0:
                raise NotUnderstood("The variables of this file make its requests too long.")
            text = _USE.sub(lambda use: self.values.get(use[1].strip(), use[0]), text)
        for use in _USE.finditer(text):
            self._omissions.other(f"the value of {shortened(use[0])}")
        return text


def read_http_file(text: str, omissions: Omissions) -> list[TypedRequest]:
    """Raises NotUnderstood."""
    text, *scripts = _SCRIPT.split(text)
    if scripts:
        omissions.other("its scripts")
        text += "".join(each.partition("%}")[2] for each in scripts)
    variables = _Variables(omissions)
    blocks = [_block(name, each, variables) for name, each in _split(text)]
    requests = [_request(each, variables, omissions) for each in blocks if each.lines]
    if not any(requests):
        raise NotUnderstood("This file has no request. Write one as in GET https://shop.example/.")
    return [each for each in requests if each]


def _split(text: str) -> Iterator[tuple[str, str]]:
    """(name, text) of each part."""
    name, at = "", 0
    for number, mark in enumerate(_SEPARATOR.finditer(text)):
        if number > MAX_REQUESTS:
            raise NotUnderstood(f"This file has more than {MAX_REQUESTS:,} requests.")
        yield name, text[at : mark.start()]
        name, at = mark[1].strip(), mark.end()
    yield name, re.sub(r"(?:^|\n)###[^\n]*\Z", "", text[at:])


def _block(name: str, text: str, variables: _Variables) -> _Block:
    """Its request line and headers, and its body; what is defined before it joins `variables`."""
    block = _Block(name)
    lines = iter(text.splitlines())
    for line in lines:
        if not line.strip():
            if block.lines:
                break
        elif variable := _VARIABLE.fullmatch(line.strip()):
            variables.values[variable[1]] = variable[2].strip()
        elif line.lstrip().startswith(("#", "//")):
            named = _NAME.fullmatch(line.strip())
            block.name = block.name or (named[1] if named else "")
        elif line[0].isspace() and len(block.lines) == 1:
            block.lines[0] += line.strip()  # a query on lines of its own
        else:
            block.lines.append(line)
    block.body = "\n".join(lines).rstrip("\n")
    return block


def _request(block: _Block, variables: _Variables, omissions: Omissions) -> TypedRequest | None:
    words = variables.fill(block.lines[0]).split()
    version = words.pop().removeprefix("HTTP/") if words[-1].startswith("HTTP/") else ""
    method = words.pop(0) if len(words) > 1 and words[0].isalpha() else ""
    if method in _OTHER_PROTOCOLS:
        omissions.other(f"the {method} request")
        return None
    body, n_stored = _STORED.subn("", block.body)
    if n_stored:
        omissions.other("where replies are stored")
    body_file = _BODY_FILE.fullmatch(body.strip())
    headers = [variables.fill(line) for line in block.lines[1:]]
    text = "" if body_file else variables.fill(body)
    method = method or ("POST" if body_file or text else "GET")
    draft = read_message((method, "%20".join(words), version), headers, text, omissions)
    if body_file:
        draft.set_file(draft.read_file(variables.fill(body_file[1]), omissions))
    draft.label = block.name[:100]
    _read_user(draft)
    return draft.request(omissions)


def _read_user(draft: RequestDraft) -> None:
    """Authorization: Basic ann:secret or Basic ann secret, which editors encode."""
    for pair in draft.headers:
        kind, _, words = pair[1].partition(" ")
        if pair[0].lower() == "authorization" and kind.lower() == "basic":
            user, sign, password = words.strip().partition(":" if ":" in words else " ")
            if sign:
                draft.headers.remove(pair)
                draft.user = f"{user}:{password.strip()}"
            return
