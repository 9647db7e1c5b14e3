"""The plan that the command line describes: by options, whole in a file, or as requests that a
file has in place of URL (@FILE: a curl command, a HAR file and the like).

Options of the command line for what is sent: one request, or several steps and their order."""

import argparse
import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaigns.domain.errors import InvalidFields
from campaigns.domain.paste.reader import read_paste
from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.flows import parse_flow
from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.plan import Plan, Timeouts
from campaigns.domain.plan.reply_rules import Source, parse_check
from campaigns.domain.plan.session import AuthKind, Session
from campaigns.domain.plan.step import MAX_BODY_BYTES, StepOrder
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.plan.threshold import parse_rule
from campaigns.domain.plan.typed_request import shared_credentials
from workers.injector.cli_options import (
    add_field_options,
    add_list,
    bytes_of,
    given_fields,
    refuse_given,
    session_of,
    text_of,
)
from workers.injector.summary import tell

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
    add_list(
        add,
        "--form",
        "NAME=VALUE",
        "a field of a form as the body of the request; may be repeated (none)",
    )
    add_list(
        add,
        "--multipart",
        "NAME=VALUE|NAME=@FILE[;type=TYPE]",
        "a field or a file of multipart/form-data; may be repeated (none)",
    )
    add_list(add, "--header", "'N: v'", "one more header, of every request (none)")
    add_list(
        add,
        "--step",
        "'[METHOD] PATH [BODY|@FILE]'",
        "one more request to the same service; may be repeated (none)",
    )
    add_field_options(group, StepOrder)
    add_list(
        add,
        "--check",
        "'I RULE'",
        "what a reply to request I, counted from 1, must have, or else it is a failure: "
        "'1 text: Welcome', '1 pattern: id=[0-9]+', '1 json: $.status = ok', '1 status: 200 204'; "
        "'1 no text: error' must not be there; may be repeated (none)",
    )
    add_list(
        add,
        "--extract",
        "'I NAME FROM PATTERN'",
        "what the one group of PATTERN finds in a reply to request I, counted from 1, is "
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
        number, rest = _read_number("--extract", text, len(steps), EXTRACT_EXAMPLE)
        name, source, pattern = (rest.split(maxsplit=2) + [""] * 3)[:3]
        source, _, header = source.partition(":")
        if source not in set(Source) or not (pattern or header):
            raise ValueError(f"--extract {rest!r}: write it as in {EXTRACT_EXAMPLE}.")
        rule = {"name": name.removesuffix("?"), "from": source}
        rule |= {"header": header, "pattern": pattern}
        if name.endswith("?"):
            rule["may_miss"] = True
        steps[number - 1]["extract"].append(rule)
    for text in options.check:
        number, rest = _read_number("--check", text, len(steps), CHECK_EXAMPLE)
        steps[number - 1].setdefault("checks", []).append(parse_check(rest))
    return {"steps": steps, "order": given_fields(options, StepOrder)}


def headers_of(options: argparse.Namespace) -> list[list[str]]:
    headers = []
    for text in options.header:
        name, colon, value = text.partition(":")
        if not colon:
            raise ValueError(f"{text!r} is not a header; write 'Name: value'.")
        headers.append([name.strip(), value.strip()])
    return headers


def _read_step(text: str) -> dict[str, Any]:
    """[METHOD] PATH [BODY]; a body may have spaces, a path has none."""
    method, rest = [*text.split(maxsplit=1), "", ""][:2]
    if method.startswith("/"):
        method, rest = "", text
    path, body = [*rest.split(maxsplit=1), "", ""][:2]
    if not path.startswith("/"):
        raise ValueError(f"--step {text!r}: write it as in '/login' or 'POST /login @form.txt'.")
    body = _read_body(body)
    return {"method": method or _method_for(body), "path": path, **body}


def _read_number(option: str, text: str, n_steps: int, example: str) -> tuple[int, str]:
    """(number of the request from 1, what follows it)."""
    number, _, rest = text.strip().partition(" ")
    if not rest:
        raise ValueError(f"{option} {text!r}: write it as in {example}.")
    if not number.isdecimal() or not 1 <= int(number) <= n_steps:
        raise ValueError(f"{option} {text!r}: the requests are counted from 1 to {n_steps}.")
    return int(number), rest


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
    data = bytes_of(text[1:])
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
    data = base64.b64encode(bytes_of(path)).decode()
    return {"name": name, "file": data, "filename": Path(path).name, "content_type": kind}


def _pair(option: str, text: str) -> list[str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{option} {text!r}: write it as in name=value.")
    return [name, value]


# Not part of the plan, so it may be combined with one from a file.
_BESIDE_A_PLAN = frozenset(
    {
        "url", "address", "plan", "mode", "processes", "shares", "seed", "allow", "hlog", "json",
        "requests_csv", "report", "secret_file", "insecure", "fingerprint", "tls_profile",
        "tls_min", "tls_max", "ciphers", "ciphersuites", "groups", "signatures", "ca_file", "sni",
        "client_certificate", "client_key", "no_alpn", "key_log", "against", "at_most", "exactly",
        "strict",
    }
)  # fmt: skip


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plan",
        metavar="FILE",
        help="take all of the plan from this file, JSON as the API gives it, - for standard input; "
        "options for load, requests and sessions cannot be combined with it (none)",
    )
    add_field_options(parser, Plan)
    add_field_options(parser, Timeouts)


def make_plan(
    options: argparse.Namespace, defaults: argparse.Namespace, scheme: str, path: str
) -> dict[str, Any]:
    """The plan as JSON, with the load of all processes together. Raises BenchsiteError, ValueError,
    OSError."""
    if options.plan:
        if path != "/":
            raise ValueError("URL: the plan has the paths; write the address without one.")
        for name, value in vars(options).items():
            if name not in _BESIDE_A_PLAN and value != getattr(defaults, name):
                raise ValueError(f"--{name.replace('_', '-')}: --plan says that; change it there.")
        plan = _read_plan(options.plan)
        if options.shares:
            plan["load"]["shares"] = options.shares
    else:
        if scheme in WEBSOCKET_SCHEMES:
            refuse_step_options(options)
            exchange = given_fields(options, Exchange)
            work = {"exchange": {"path": path, "headers": headers_of(options), **exchange}}
        else:
            refuse_given(options, Exchange, "needs a ws:// or wss:// address.")
            work = steps_of(options, path)
        plan = {
            **given_fields(options, Plan),
            **work,
            "load": make_load(options),
            "flows": [parse_flow(text) for text in options.flow or ()],
            "timeouts": given_fields(options, Timeouts),
            "thresholds": [parse_rule(text) for text in options.threshold or ()],
            **session_of(options),
        }
    if plan["load"].get("per_injector"):
        return Plan.from_json(plan).for_injectors(options.processes).to_json()
    return plan


def check_shares(options: argparse.Namespace, shares: Sequence[int]) -> None:
    """One process sends all of a plan that has shares; several need one each. Raises ValueError."""
    if not shares or len(shares) == options.processes:
        return
    if options.shares:
        raise ValueError(f"--shares has {len(shares)} numbers for {options.processes} --processes.")
    if options.processes > 1:
        raise ValueError(f"--plan has shares for {len(shares)} processes; say --processes so.")


def _read_plan(name: str) -> dict[str, Any]:
    text = text_of(name)
    try:
        return Plan.from_json(json.loads(text)).to_json()
    except InvalidFields as invalid:
        faults = [f"--plan: {field}: {fault}" for field, fault in invalid.errors.items()]
        raise ValueError("\n".join(faults)) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"--plan: this is no JSON: {error}.") from None


def add_websocket_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("WebSocket", "with ws:// and wss:// addresses only")
    add_field_options(group, Exchange)


# An option that is only for one model names it.
_NAMES = {
    Model.OVER: {"over_s"},
    Model.OPEN: {"rate_per_s", "uniform_min_s", "uniform_max_s", "stages"},
    Model.WINDOW: {"low", "high"},
}


def add_load_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "load",
        "open if it has a rate, gaps or stages, spread over a time with --over, a window if it has "
        "marks, else closed",
    )
    add_field_options(group, Load)
    group.add_argument("--seed", type=int, metavar="N", default=0, help="of whatever is random (0)")


def make_load(options: argparse.Namespace) -> dict[str, Any]:
    """The load that the options name; what does not fit its model is for the plan to refuse."""
    fields = given_fields(options, Load)
    model = next((model for model, names in _NAMES.items() if names & fields.keys()), Model.CLOSED)
    load = {"model": model, **fields}
    if model == Model.CLOSED:
        load.setdefault("connections", 1)
        if "duration_s" not in load:
            load.setdefault("requests", 1)
    return load


# --- requests of a file
_SAID_THERE = ("method", "body", "form", "multipart", "step", "plan", "against")


@dataclass(frozen=True, slots=True)
class PasteFile:
    """`plan` has the fields of a plan that the file says, steps among them."""

    endpoint: dict[str, Any]
    plan: dict[str, Any]
    secrets: dict[str, str] = field(repr=False)
    pinned: str = ""
    is_insecure: bool = False


def read_file(options: argparse.Namespace) -> PasteFile:
    """Requests to another origin than the first one's are left out, as a line says. Raises
    NotUnderstood, ValueError, OSError."""
    for name in _SAID_THERE:
        if getattr(options, name):
            raise ValueError(f"--{name}: the file of {options.url} says that; change it there.")
    text = text_of(options.url[1:])
    paste = read_paste(text)
    if paste.files:
        paste = read_paste(text, {each: bytes_of(each) for each in paste.files})
    first = paste.requests[0]
    own = [each for each in paste.requests if each.origin == first.origin]
    if n_others := len(paste.requests) - len(own):
        tell(f"Left out: {n_others} requests to other origins than {first.scheme}://{first.host}.")
    if paste.note:
        tell(paste.note)
    credentials, note = shared_credentials(own)
    if note:
        tell(note)
    plan: dict[str, Any] = {"steps": [{**each.step, "extract": []} for each in own]}
    if credentials.auth_kind != AuthKind.NONE:
        plan["auth"] = credentials.auth
    if first.http_version:
        plan["http_version"] = first.http_version
    if first.redirects:
        plan["redirects"] = first.redirects
    return PasteFile(
        {"scheme": first.scheme, "host": first.host, "port": first.port},
        plan,
        {"auth": credentials.secret} if credentials.secret else {},
        first.pinned,
        first.is_insecure,
    )
