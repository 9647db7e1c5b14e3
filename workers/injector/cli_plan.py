"""The plan that the command line describes: by options, whole in a file, or as requests that a
file has in place of URL (@FILE: a curl command, a HAR file and the like)."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaigns.domain.errors import InvalidFields
from campaigns.domain.paste.reader import read_paste
from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.flows import parse_flow
from campaigns.domain.plan.injectors import plan_for
from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.plan import Plan, Timeouts
from campaigns.domain.plan.session import AuthKind
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.plan.threshold import parse_rule
from campaigns.domain.plan.typed_request import shared_credentials
from workers.injector.cli_fields import add_field_options, given_fields, refuse_given, text_of
from workers.injector.cli_session import session_of
from workers.injector.cli_steps import headers_of, refuse_step_options, steps_of
from workers.injector.local_run import tell

# Not part of the plan, so it may be combined with one from a file.
_BESIDE_A_PLAN = frozenset(
    {
        "url", "address", "plan", "mode", "processes", "shares", "seed", "allow", "hlog", "json",
        "report", "secret_file", "insecure", "fingerprint", "tls_profile", "tls_min", "tls_max",
        "ciphers", "ciphersuites", "groups", "signatures", "ca_file", "sni", "client_certificate",
        "client_key", "no_alpn", "key_log", "against", "at_most", "exactly",
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
        plan = _plan_of(options, scheme, path)
    if plan["load"].get("per_injector"):
        return plan_for(Plan.from_json(plan), options.processes).to_json()
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
    text = None if name == "-" else text_of(name)
    try:
        return Plan.from_json(json.loads(sys.stdin.read() if text is None else text)).to_json()
    except InvalidFields as invalid:
        faults = [f"--plan: {field}: {fault}" for field, fault in invalid.errors.items()]
        raise ValueError("\n".join(faults)) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"--plan: this is no JSON: {error}.") from None


def _plan_of(options: argparse.Namespace, scheme: str, path: str) -> dict[str, Any]:
    return {
        **given_fields(options, Plan),
        **_read_work(options, scheme, path),
        "load": make_load(options),
        "flows": [parse_flow(text) for text in options.flow or ()],
        "timeouts": given_fields(options, Timeouts),
        "thresholds": [parse_rule(text) for text in options.threshold or ()],
        **session_of(options),
    }


def _read_work(options: argparse.Namespace, scheme: str, path: str) -> dict[str, Any]:
    """What is sent: HTTP steps, or a WebSocket exchange."""
    if scheme in WEBSOCKET_SCHEMES:
        refuse_step_options(options)
        return {"exchange": exchange_of(options, path, headers_of(options))}
    refuse_websocket_options(options)
    return steps_of(options, path)


def add_websocket_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("WebSocket", "with ws:// and wss:// addresses only")
    add_field_options(group, Exchange)


def exchange_of(options: argparse.Namespace, path: str, headers: list[list[str]]) -> dict[str, Any]:
    """The plan's exchange."""
    return {"path": path, "headers": headers, **given_fields(options, Exchange)}


def refuse_websocket_options(options: argparse.Namespace) -> None:
    """Raises ValueError where one of them was given with an address of HTTP."""
    refuse_given(options, Exchange, "needs a ws:// or wss:// address.")


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
    given = given_fields(options, Load)
    model = next((model for model, names in _NAMES.items() if names & given.keys()), Model.CLOSED)
    load = {"model": model, **given}
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
    name = options.url[1:]
    text = sys.stdin.read() if name == "-" else text_of(name)
    paste = read_paste(text)
    if paste.files:
        paste = read_paste(text, {each: Path(each).read_bytes() for each in paste.files})
    first = paste.requests[0]
    own = [each for each in paste.requests if each.origin == first.origin]
    if n_others := len(paste.requests) - len(own):
        tell(f"Left out: {n_others} requests to other origins than {first.scheme}://{first.host}.")
    if paste.note:
        tell(paste.note)
    signed, note = shared_credentials(own)
    if note:
        tell(note)
    plan: dict[str, Any] = {"steps": [{**each.step, "extract": []} for each in own]}
    if signed.auth_kind != AuthKind.NONE:
        plan["auth"] = signed.auth
    if first.http_version:
        plan["http_version"] = first.http_version
    if first.redirects:
        plan["redirects"] = first.redirects
    return PasteFile(
        {"scheme": first.scheme, "host": first.host, "port": first.port},
        plan,
        {"auth": signed.secret} if signed.secret else {},
        first.pinned,
        first.is_insecure,
    )
