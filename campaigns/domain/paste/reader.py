"""What somebody typed or pasted: an address, a command of curl or HTTPie, PowerShell, fetch(…), a
raw request, a .http file, a HAR file or an OpenAPI document. How it begins says which it is."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from campaigns.domain.paste import httpie, javascript, powershell, recorded
from campaigns.domain.paste.curl import read_curl
from campaigns.domain.paste.draft import MAX_REQUESTS, Omissions
from campaigns.domain.paste.openapi import read_openapi
from campaigns.domain.paste.recorded import is_http_file, read_http_file
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, read_address, shortened
from campaigns.domain.typed_text import whole
from campaigns.domain.yaml_text import InvalidYaml, read_yaml

MAX_COMMAND, MAX_DOCUMENT = 1_000_000, 4_000_000  # characters
_MOST_YAML = 1_000_000  # which takes longer to read than JSON
_PROMPT_END = re.compile(r"[$%#>][ \t]*")
_LONGEST_PROMPT = 200
_YAML = re.compile(r"^['\"]?(?:openapi|swagger)['\"]?\s*:", re.I | re.M)
_CURL = re.compile(r"curl(?:\.exe)?(?=\s|$)")
_LATER_CURL = re.compile(r"(?<=[\s>;&])curl(?:\.exe)?(?=\s)")
Reader = Callable[[str, Omissions], list[TypedRequest]]
_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (powershell.BEGINS, powershell.read_powershell),
    (_CURL, read_curl),
    (javascript.BEGINS, javascript.read_fetch),
    (httpie.BEGINS, httpie.read_httpie),
    (recorded.BEGINS, recorded.read_raw),
)


@dataclass(frozen=True, slots=True)
class Paste:
    """`note` says what is left out, in one sentence; "" if nothing is. `files`: the names of those
    of the user's machine that it sends."""

    requests: tuple[TypedRequest, ...]
    note: str = ""
    files: tuple[str, ...] = ()


def read_paste(text: str, files: Mapping[str, bytes] | None = None) -> Paste:
    """`files`: those that the text names and that came with it. Raises NotUnderstood with what to
    change."""
    # Forms end a line with two signs.
    text = whole(text).replace("\r\n", "\n").lstrip("\ufeff").strip()
    omissions = Omissions(files)
    reader = _reader(text)
    if text.startswith("{") or (reader is None and _YAML.search(text)):
        requests = _read_document(text, omissions)
    else:
        if reader is None:
            text = _without_beginning(text, omissions)
            reader = _reader(text)
        if reader is not None and len(text) > MAX_COMMAND:
            raise _too_long(text, MAX_COMMAND)
        requests = reader(text, omissions) if reader else [read_address(text)]
    if len(requests) > MAX_REQUESTS:
        raise NotUnderstood(f"This has {len(requests):,} requests; at most {MAX_REQUESTS:,}.")
    return Paste(tuple(requests), omissions.note, tuple(omissions.file_names))


def _reader(text: str) -> Reader | None:
    if is_http_file(text):
        return read_http_file
    return next((reader for begins, reader in _READERS if begins.match(text)), None)


def _without_beginning(text: str, omissions: Omissions) -> str:
    """Without a prompt, and without what is before a command of curl, such as comments."""
    for prompt in _PROMPT_END.finditer(text.partition("\n")[0][:_LONGEST_PROMPT]):
        if _reader(rest := text[prompt.end() :]):
            return rest
    if later := _LATER_CURL.search(text):
        omissions.other(f"what is before the command ({shortened(text[: later.start()].strip())})")
        return text[later.start() :]
    return text


def _read_document(text: str, omissions: Omissions) -> list[TypedRequest]:
    is_json = text.startswith("{")
    if len(text) > (most := MAX_DOCUMENT if is_json else _MOST_YAML):
        raise _too_long(text, most)
    try:
        document = json.loads(text) if is_json else read_yaml(text).value
    except InvalidYaml as fault:
        sentence = str(fault).removesuffix(".")
        raise NotUnderstood(f"This YAML cannot be read: line {fault.line}: {sentence}.") from None
    except (ValueError, RecursionError) as error:
        kind = "JSON" if is_json else "YAML"
        raise NotUnderstood(f"This {kind} cannot be read: {error}.") from None
    if isinstance(document, dict):
        if isinstance(document.get("log"), dict):
            return recorded.read_har(document, omissions)
        if "openapi" in document or "swagger" in document:
            return read_openapi(document, omissions)
    raise NotUnderstood("This is neither a HAR file nor an OpenAPI document.")


def _too_long(text: str, most: int) -> NotUnderstood:
    return NotUnderstood(f"This has {len(text):,} characters; at most {most:,}.")
