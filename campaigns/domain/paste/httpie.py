"""HTTPie's commands: http POST shop.example/cart id=7."""

import json
import mimetypes
import re
from typing import Any
from urllib.parse import quote_plus

from campaigns.domain.paste.draft import Omissions, RequestDraft
from campaigns.domain.paste.shells import read_command
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, shortened

BEGINS = re.compile(r"https?\s+(?!$)")
_ITEM = re.compile(r"((?:[^\\:=@;]|\\.)*?)(:=@|:=|==|=@|=|@|:|;$)(.*)", re.S)
_METHOD = re.compile(r"[A-Za-z]+")
_PRINTED = re.compile(r"-[vhbqdSIm]+")
_WITH_VALUE = {
    "--auth", "-a", "--auth-type", "-A", "--raw", "--verify", "--print", "-p", "--output", "-o",
    "--timeout", "--max-redirects", "--style", "-s", "--pretty", "--session", "--session-read-only",
    "--proxy", "--cert", "--cert-key", "--ssl", "--boundary", "--default-scheme",
    "--format-options", "--response-charset", "--response-mime", "--max-headers",
}  # fmt: skip
_FOLLOWED = {"--auth", "-a", "--auth-type", "-A", "--raw", "--verify", "--default-scheme"}
_SWITCHES = {
    "--check-status", "--stream", "-S", "--offline", "--all", "--compress", "-x",
    "--chunked", "--ignore-netrc", "--path-as-is",
}  # fmt: skip
# What it prints.
_SILENT = {
    "--verbose", "--headers", "--body", "--meta", "--quiet", "--download", "--continue", "--debug",
    "--traceback", "--ignore-stdin", "--sorted", "--unsorted", "-c",
}  # fmt: skip
_REFUSED = {"--proxy", "--cert", "--cert-key", "--session", "--session-read-only"}
_KINDS = {
    "--json": "json",
    "-j": "json",
    "--form": "form",
    "-f": "form",
    "--multipart": "multipart",
}


def read_httpie(text: str, omissions: Omissions) -> list[TypedRequest]:
    """Raises NotUnderstood."""
    command = read_command(text)
    for each in command.expansions:
        omissions.other(f"the value of {shortened(each)}")
    if command.left_out:
        omissions.other(f"what follows the command ({shortened(command.left_out)})")
    words, options, kind = [], {"scheme": command.words[0], "stdin": command.stdin}, "json"
    rest = iter(command.words[1:])
    for word in rest:
        name, equals, value = word.partition("=")
        if word in _KINDS:
            kind = _KINDS[word]
        elif word.startswith("-") and (name in _WITH_VALUE or word in _WITH_VALUE):
            value = value if equals else next(rest, "")
            if name in _REFUSED:
                raise NotUnderstood(f"{name} cannot be followed. Leave it out.")
            if name in _FOLLOWED:
                options[name] = value
            else:
                omissions.option(name)
        elif word in {"--follow", "-F"}:
            options["redirects"] = "all"
        elif word in _SWITCHES:
            omissions.option(word)
        elif word in _SILENT or _PRINTED.fullmatch(word):
            continue
        elif word.startswith("-"):
            raise NotUnderstood(f"The option {word} is not understood. Leave it out.")
        else:
            words.append(word)
    return [_request(words, options, kind, omissions)]


def _request(
    words: list[str], options: dict[str, str], kind: str, omissions: Omissions
) -> TypedRequest:
    method = ""
    if len(words) > 1 and _METHOD.fullmatch(words[0]) and not _ITEM.fullmatch(words[1]):
        method, words = words[0].upper(), words[1:]
    elif len(words) > 1 and _METHOD.fullmatch(words[0]) and words[0].isupper():
        method, words = words[0], words[1:]
    if not words:
        raise NotUnderstood("The command has no address. Add it, as in http shop.example.")
    scheme = options.get("--default-scheme", options["scheme"])
    redirects = options.get("redirects", "")
    draft = RequestDraft(_url(words[0], scheme), method=method, redirects=redirects)
    data: dict[str, Any] = {}
    query = [_take(draft, item, data, omissions) for item in words[1:]]
    for each in filter(None, query):
        draft.url += f"{'&' if '?' in draft.url else '?'}{each}"
    _write_data(draft, data, kind)
    if stdin := options["stdin"]:
        draft.set_file(draft.read_file(stdin, omissions))
    if raw := options.get("--raw"):
        draft.body = raw
    if raw or stdin:
        draft.headers.insert(0, ("Content-Type", "application/json"))
    auth = options.get("--auth") or options.get("-a")
    auth_kind = options.get("--auth-type") or options.get("-A") or "basic"
    if auth and auth_kind not in {"basic", "bearer"}:
        raise NotUnderstood(f"Credentials of the kind {auth_kind} cannot be sent.")
    if auth:
        setattr(draft, "bearer" if auth_kind == "bearer" else "user", auth)
    draft.is_insecure = options.get("--verify", "").lower() in {"no", "false"}
    return draft.request(omissions)


def _url(text: str, scheme: str) -> str:
    if "://" in text:
        return text.lstrip(":") if text.startswith("://") else text
    if text.startswith(":"):  # :8080/cart and :/cart are this machine's
        port, slash, path = text[1:].partition("/")
        return f"{scheme}://localhost{f':{port}' if port else ''}{slash}{path}"
    return f"{scheme}://{text}"


def _take(draft: RequestDraft, item: str, data: dict[str, Any], omissions: Omissions) -> str:
    """A header or a field; what it adds to the address, or ""."""
    match = _ITEM.fullmatch(item)
    if match is None:
        raise NotUnderstood(f"{shortened(item)} is not an item; write it as in name=value.")
    name, sign, value = re.sub(r"\\(.)", r"\1", match[1]), match[2], match[3]
    if sign == "@":
        path, _, kind = value.partition(";type=")
        content = draft.read_file(path, omissions)
        if name:
            draft.add_file(name, content, path, kind or mimetypes.guess_type(path)[0] or "")
        else:
            draft.set_file(content)
            kind = mimetypes.guess_type(path)[0] or "application/json"
            draft.headers.insert(0, ("Content-Type", kind))
        return ""
    if sign in {"=@", ":=@"}:
        sign, content = sign[:-1], draft.read_file(value, omissions)
        value = "null" if value in draft.missing else content.decode(errors="replace")
    if sign in ":;":
        if value or sign == ";":
            draft.headers.append((name, value))
        return ""
    if sign == "==":
        return f"{quote_plus(name)}={quote_plus(value)}"
    if "[" in name:
        raise NotUnderstood(f"{shortened(item)}: nested fields cannot be read. Use --raw.")
    if sign == "=":
        data[name] = value
        return ""
    try:
        data[name] = json.loads(value)
    except ValueError:
        raise NotUnderstood(f"{shortened(item)} is no JSON after :=.") from None
    return ""


def _write_data(draft: RequestDraft, data: dict[str, Any], kind: str) -> None:
    if not data:
        return
    pairs = [
        [name, value if isinstance(value, str) else json.dumps(value)]
        for name, value in data.items()
    ]
    if kind == "multipart" or draft.multipart:
        draft.multipart += [{"name": name, "value": value} for name, value in pairs]
    elif kind == "form":
        draft.form = pairs
    else:
        draft.body = json.dumps(data, ensure_ascii=False)
        for header, value in (
            ("Accept", "application/json, */*;q=0.5"),
            ("Content-Type", "application/json"),
        ):
            if not draft.value_of(header.lower()):
                draft.headers.insert(0, (header, value))
