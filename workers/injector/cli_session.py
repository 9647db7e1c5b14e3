"""Options of the command line for sessions and credentials."""

import argparse
from pathlib import Path
from typing import Any

from campaigns.domain.plan.variables import RowOrder


def add_session_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sessions", "what one connection and one user do")
    add = group.add_argument
    add(
        "--calls-per-connection",
        type=int,
        metavar="N",
        default=0,
        help="close a kept connection after N requests; where connections arrive, or in a window, "
        "each makes N (0: when the server does, and 1)",
    )
    add(
        "--calls-per-session",
        type=int,
        metavar="N",
        help="after N requests a user begins anew: new connection, no cookies; where sessions "
        "arrive, each makes N (never)",
    )
    add(
        "--connections-per-session",
        type=int,
        metavar="N",
        help="sessions that arrive: a burst's requests share up to N connections (1)",
    )
    add(
        "--think-time",
        metavar="S|S-S|~S",
        help="pause between requests, s: always S, even between two, exponential of mean S (0)",
    )
    add(
        "--burst-length",
        type=int,
        metavar="N",
        default=1,
        help="N requests between two pauses (1)",
    )
    add(
        "--all-at-once",
        action="store_true",
        help="pipeline the first request of a burst too, instead of waiting for its reply (off)",
    )
    add(
        "--pipeline",
        type=int,
        metavar="D",
        default=1,
        help="up to D requests unanswered on a connection (1)",
    )
    add(
        "--csv",
        metavar="FILE",
        help="values of ${name} in address, headers and body; the first row has the names (none)",
    )
    add(
        "--csv-order",
        choices=list(RowOrder),
        default=RowOrder.SEQUENTIAL,
        help="which row is next: the one below, or one drawn by --seed (sequential)",
    )
    add("--cookies", action="store_true", help="keep the cookies of each session (off)")
    add(
        "--retry-on-failure",
        action="store_true",
        help="sessions that arrive: make a failed request again, up to 3 times, but not after a "
        "timeout (off)",
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
    return {
        "session": {
            "calls_per_connection": options.calls_per_connection,
            "calls_per_session": options.calls_per_session,
            "connections_per_session": options.connections_per_session,
            "think_time": _read_think_time(options.think_time),
            "burst_length": options.burst_length,
            "first_call_alone": not options.all_at_once,
            "pipeline_depth": options.pipeline,
            "cookies": options.cookies,
            "retry_on_failure": options.retry_on_failure,
        },
        "auth": auth,
        "variables": _variables_of(options),
    }


def _variables_of(options: argparse.Namespace) -> dict[str, Any]:
    if not options.csv and options.csv_order != RowOrder.SEQUENTIAL:
        raise ValueError("--csv-order says which row of --csv is next; there is no --csv.")
    return {
        "csv": Path(options.csv).read_text() if options.csv else "",
        "order": options.csv_order,
    }


def read_secrets(options: argparse.Namespace, plan: dict[str, Any]) -> dict[str, str]:
    """The order's secrets, from a file. Raises OSError, ValueError."""
    wants_one = plan.get("auth", {}).get("kind", "none") != "none"
    if wants_one != bool(options.secret_file):
        raise ValueError(
            "--basic, --bearer and a plan with credentials go together with --secret-file."
        )
    return {"auth": Path(options.secret_file).read_text().rstrip("\r\n")} if wants_one else {}


def _read_think_time(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        if text.startswith("~"):
            return {"kind": "exponential", "mean_s": float(text[1:])}
        low, dash, high = text.partition("-")
        if dash:
            return {"kind": "uniform", "min_s": float(low), "max_s": float(high)}
        return {"kind": "constant", "mean_s": float(text)}
    except ValueError:
        raise ValueError(f"--think-time {text!r}: write 0.5, 1-3 or ~2 (seconds).") from None
