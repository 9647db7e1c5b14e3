"""Options of the command line for sessions and credentials."""

import argparse
from typing import Any

from campaigns.domain.plan.generators import parse_lines
from campaigns.domain.plan.session import Session
from campaigns.domain.plan.variables import Variables
from campaigns.domain.typed_text import seconds_in
from workers.injector.cli_fields import add_field_options, given_fields, refuse_given, text_of


def add_session_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sessions", "what one connection and one user do")
    add = group.add_argument
    add_field_options(group, Session)
    add(
        "--think-time",
        metavar="S|S-S|~S",
        help="pause between requests, s: always S, even between two, exponential of mean S (0)",
    )
    add(
        "--csv",
        metavar="FILE",
        help="values of ${name} in address, headers and body; the first row has the names (none)",
    )
    add_field_options(group, Variables)
    add(
        "--value",
        action="append",
        default=[],
        metavar="LINE",
        help="a value made for each request, such as 'id = uuid', 'n = counter 1', 'size = "
        "integer 1 to 9', 'kind = choice book, pen' or 'at = time ms'; may be repeated (none)",
    )
    kinds = group.add_mutually_exclusive_group()
    kinds.add_argument(
        "--basic", metavar="USER", help="send this user and the secret as password (off)"
    )
    kinds.add_argument(
        "--bearer", action="store_true", help="send the secret as bearer token (off)"
    )
    add(
        "--secret-file",
        metavar="FILE",
        help="file of the password or token: everybody could read an option (none)",
    )


def session_of(options: argparse.Namespace) -> dict[str, Any]:
    """The plan's fields that the options describe. Raises ValueError."""
    auth: dict[str, Any] = {"kind": "bearer"} if options.bearer else {}
    if options.basic is not None:
        auth = {"kind": "basic", "user": options.basic}
    think_time = _read_think_time(options.think_time)
    return {
        "session": {**given_fields(options, Session), "think_time": think_time},
        "auth": auth,
        "variables": _variables_of(options),
    }


def _variables_of(options: argparse.Namespace) -> dict[str, Any]:
    made = {"generators": parse_lines("\n".join(options.value))} if options.value else {}
    if not options.csv:
        refuse_given(options, Variables, "says which row of --csv is next; there is no --csv.")
        return made
    return {"csv": text_of(options.csv), **given_fields(options, Variables), **made}


def read_secrets(options: argparse.Namespace, plan: dict[str, Any]) -> dict[str, str]:
    """The order's secrets, from a file. Raises OSError, ValueError."""
    wants_one = plan.get("auth", {}).get("kind", "none") != "none"
    if wants_one != bool(options.secret_file):
        raise ValueError(
            "--basic, --bearer and a plan with credentials go together with --secret-file."
        )
    return {"auth": text_of(options.secret_file).rstrip("\r\n")} if wants_one else {}


def _read_think_time(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        if text.startswith("~"):
            return {"kind": "exponential", "mean_s": seconds_in(text[1:])}
        low, dash, high = text.partition("-")
        if dash:
            return {"kind": "uniform", "min_s": seconds_in(low), "max_s": seconds_in(high)}
        return {"kind": "constant", "mean_s": seconds_in(text)}
    except ValueError:
        raise ValueError(f"--think-time {text!r}: write 0.5, 1-3, ~2 (seconds) or 500ms.") from None
