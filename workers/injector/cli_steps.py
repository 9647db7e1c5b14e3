"""Options of the command line for what is sent: one request, or several steps and their order."""

import argparse
import base64
from pathlib import Path
from typing import Any

from campaigns.domain.plan.reply_rules import Source, parse_check
from campaigns.domain.plan.session import Session
from campaigns.domain.plan.step import MAX_BODY_BYTES
from campaigns.domain.plan.step_order import StepOrder
from workers.injector.cli_fields import add_field_options, given_fields, refuse_given

CHECK_EXAMPLE = "'1 text: Welcome' or '2 json: $.status = ok'"
EXTRACT_EXAMPLE = '1 token body "id":"(\\w+)" or 1 next header:Location ^(/.*)$'
_HTTP_ONLY = (
    *("method", "body", "form", "multipart", "step", "check", "extract", "expect", "think_time"),
    "flow",
)


def add_step_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("requests", "the first is that of URL")
    add = group.add_argument
    add(
        "--method",
        metavar="M",
        help="of the request, such as PURGE (GET; POST where there is a body)",
    )
    add(
        "--body",
        metavar="TEXT|@FILE",
        default="",
        help="body of the request, or its file of any bytes, at most 8 MiB (none)",
    )
    add(
        "--form",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a field of a form as the body of the request; may be repeated (none)",
    )
    add(
        "--multipart",
        action="append",
        default=[],
        metavar="NAME=VALUE|NAME=@FILE[;type=TYPE]",
        help="a field or a file of multipart/form-data; may be repeated (none)",
    )
    add(
        "--header",
        action="append",
        default=[],
        metavar="'N: v'",
        help="one more header, of every request (none)",
    )
    add(
        "--step",
        action="append",
        default=[],
        metavar="'[METHOD] PATH [BODY|@FILE]'",
        help="one more request to the same service; may be repeated (none)",
    )
    add_field_options(group, StepOrder)
    add(
        "--check",
        action="append",
        default=[],
        metavar="'I RULE'",
        help="what a reply to request I, counted from 1, must have, or else it is a failure: "
        "'1 text: Welcome', '1 pattern: id=[0-9]+', '1 json: $.status = ok', '1 status: 200 204'; "
        "'1 no text: error' must not be there; may be repeated (none)",
    )
    add(
        "--extract",
        action="append",
        default=[],
        metavar="'I NAME FROM PATTERN'",
        help="what the one group of PATTERN finds in a reply to request I, counted from 1, is "
        "${NAME} in later requests; FROM is body, json (PATTERN is a path), header:Name or "
        "cookie:Name (whole without PATTERN), as in '1 next header:Location ^(/.*)$'; with NAME? a "
        "reply without it is no failure; may be repeated (none)",
    )


def refuse_step_options(options: argparse.Namespace) -> None:
    """Raises ValueError for options that a WebSocket does not use."""
    sentence = "is for http and https; a WebSocket has messages."
    for name in _HTTP_ONLY:
        if getattr(options, name):
            raise ValueError(f"--{name.replace('_', '-')} {sentence}")
    refuse_given(options, StepOrder, sentence)
    refuse_given(options, Session, sentence)


def steps_of(options: argparse.Namespace, path: str) -> dict[str, Any]:
    """The plan's fields that the options describe. Raises ValueError, OSError."""
    body = _first_body(options)
    first = {"method": options.method or _method_for(body), "path": path, **body}
    steps = [first, *(_read_step(text) for text in options.step)]
    headers = headers_of(options)
    for step in steps:
        step |= {"headers": headers, "extract": []}
    for text in options.extract:
        number, rest = _numbered("--extract", text, len(steps), EXTRACT_EXAMPLE)
        steps[number - 1]["extract"].append(_read_extract(rest))
    for text in options.check:
        number, rest = _numbered("--check", text, len(steps), CHECK_EXAMPLE)
        steps[number - 1].setdefault("checks", []).append(parse_check(rest))
    return {"steps": steps, "order": given_fields(options, StepOrder)}


def headers_of(options: argparse.Namespace) -> list[list[str]]:
    return [_read_header(text) for text in options.header]


def _read_step(text: str) -> dict[str, Any]:
    """[METHOD] PATH [BODY]; a body may have spaces, a path has none."""
    method, rest = _leading_method(text)
    path, body = [*rest.split(maxsplit=1), "", ""][:2]
    if not path.startswith("/"):
        raise ValueError(f"--step {text!r}: write it as in '/login' or 'POST /login @form.txt'.")
    body = _read_body(body)
    return {"method": method or _method_for(body), "path": path, **body}


def _leading_method(text: str) -> tuple[str | None, str]:
    """The method, if the text begins with one, and what comes after it."""
    word, rest = [*text.split(maxsplit=1), "", ""][:2]
    return (None, text) if word.startswith("/") else (word, rest)


def _numbered(option: str, text: str, n_steps: int, example: str) -> tuple[int, str]:
    """(number of the request from 1, what follows it)."""
    number, _, rest = text.strip().partition(" ")
    if not rest:
        raise ValueError(f"{option} {text!r}: write it as in {example}.")
    if not number.isdecimal() or not 1 <= int(number) <= n_steps:
        raise ValueError(f"{option} {text!r}: the requests are counted from 1 to {n_steps}.")
    return int(number), rest


def _read_extract(text: str) -> dict[str, Any]:
    """The plan's extract."""
    name, source, pattern = (text.split(maxsplit=2) + [""] * 3)[:3]
    source, _, header = source.partition(":")
    if source not in set(Source) or not (pattern or header):
        raise ValueError(f"--extract {text!r}: write it as in {EXTRACT_EXAMPLE}.")
    given = {"name": name.removesuffix("?"), "from": source, "header": header, "pattern": pattern}
    return {**given, **({"may_miss": True} if name.endswith("?") else {})}


def _method_for(body: dict[str, Any]) -> str:
    return "POST" if any(body.values()) else "GET"


def _first_body(options: argparse.Namespace) -> dict[str, Any]:
    """Raises ValueError, OSError."""
    if sum(map(bool, (options.body, options.form, options.multipart))) > 1:
        raise ValueError("Write one of --body, --form and --multipart.")
    if options.form:
        return {"form": [_pair("--form", text) for text in options.form]}
    if options.multipart:
        return {"multipart": [_part(*_pair("--multipart", text)) for text in options.multipart]}
    return _read_body(options.body)


def _read_body(text: str) -> dict[str, Any]:
    """A text, or a file: as a text too where it is one, for that may have variables."""
    if not text.startswith("@"):
        return {"body": text}
    data = Path(text[1:]).read_bytes()
    try:
        if len(data) <= MAX_BODY_BYTES:
            return {"body": data.decode()}
    except UnicodeDecodeError:
        pass
    return {"body_file": base64.b64encode(data).decode()}


def _part(name: str, value: str) -> dict[str, Any]:
    value, _, kind = value.partition(";type=")
    if not value.startswith("@"):
        return {"name": name, "value": value, "content_type": kind}
    path = value[1:]
    data = base64.b64encode(Path(path).read_bytes()).decode()
    return {"name": name, "file": data, "filename": Path(path).name, "content_type": kind}


def _pair(option: str, text: str) -> list[str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{option} {text!r}: write it as in name=value.")
    return [name, value]


def _read_header(text: str) -> list[str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise ValueError(f"{text!r} is not a header; write 'Name: value'.")
    return [name.strip(), value.strip()]
