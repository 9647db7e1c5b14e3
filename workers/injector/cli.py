"""The command line: a URL and how hard, a line of progress each second, a report.

The option --against: other addresses to measure side by side with the first."""

import argparse
import csv
import json
import os
import sys
from collections.abc import Callable, Iterable
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from campaigns.domain import units
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.errors import BenchsiteError
from campaigns.domain.metrics.snapshot import Second, Timing, Total
from campaigns.domain.other_tools.reports import REPORTS
from campaigns.domain.percentiles import P50, P99, Shown, shown
from campaigns.domain.plan.addresses import parse_networks
from campaigns.domain.plan.arrivals import share_fault
from campaigns.domain.plan.load import MAX_INJECTORS
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.target import TLS_SCHEMES, WEBSOCKET_SCHEMES, address_fault
from campaigns.domain.plan.turns import (
    LIMIT_S,
    LONGEST_LIMIT_S,
    MOST_ARMS,
    turns_limit_s,
    why_not_in_turns,
)
from campaigns.domain.presentation.request_tables import csv_rows
from workers.injector.arms_run import run_arms, run_arms_in_processes
from workers.injector.cli_options import (
    add_list,
    add_session_options,
    add_tls_options,
    advice,
    bytes_of,
    check_tls,
    lines_of,
    open_key_log,
    read_amount,
    read_client_key,
    read_secrets,
    tls_fields,
)
from workers.injector.cli_plan import (
    add_load_options,
    add_plan_options,
    add_step_options,
    add_websocket_options,
    check_shares,
    headers_of,
    make_plan,
    read_file,
)
from workers.injector.order import DEFAULT_PORTS, PROTOCOL, PROTOCOL_OF_ARMS, Refusal
from workers.injector.summary import LocalRun, hlog_lines, run_here, run_processes, tell

_LIMITS = ("at_most", "exactly")
_OF_AN_ARM = ("endpoint", "connection_mode", "plan", "secrets")
# What makes a report of one address, or shares its load.
_ALONE = ("hlog", "requests_csv", "threshold", "key_log")


def add_against_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "side by side", "measures addresses in turns, so that the noise of a machine meets them all"
    )
    add = group.add_argument
    add_list(add, "--against", "URL", "compare this address with the first; may be repeated (none)")
    add(
        "--at-most",
        type=read_amount,
        metavar="S",
        help=f"seconds after which to stop, settled or not, all addresses together ({LIMIT_S:g} s)",
    )
    add("--exactly", type=read_amount, metavar="S", help="seconds to measure, settled or not (off)")


def refuse_against_options(options: argparse.Namespace) -> None:
    """Raises ValueError for what needs another address, or for what several addresses rule out."""
    if not options.against:
        for name in _LIMITS:
            if getattr(options, name) is not None:
                raise ValueError(f"{_flag(name)} needs --against.")
        return
    if len(options.against) >= MOST_ARMS:
        raise ValueError(f"--against: write at most {MOST_ARMS - 1} of them.")
    if options.exactly is not None and options.at_most is not None:
        raise ValueError("--exactly and --at-most exclude each other.")
    for name in _LIMITS:
        limit_s = getattr(options, name)
        if limit_s is not None and not 1 <= limit_s <= LONGEST_LIMIT_S:
            raise ValueError(f"{_flag(name)}: write 1 to {LONGEST_LIMIT_S:,} seconds.")
    if options.report != "plain":
        raise ValueError("--report is for one address; leave out --against.")
    for name in _ALONE:
        if getattr(options, name):
            raise ValueError(f"{_flag(name)} is for one address; leave out --against.")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def arms_order(
    options: argparse.Namespace, make_order: Callable[[argparse.Namespace], dict[str, Any]]
) -> dict[str, Any]:
    """The order of protocol 2; `make_order` makes that of one address. Raises ValueError."""
    limit_s = options.exactly or options.at_most or LIMIT_S
    values = vars(options)
    if not (options.plan or options.duration or options.requests or options.stages):
        values = values | {"duration": limit_s}
    urls = [options.url, *options.against]
    orders = [make_order(argparse.Namespace(**values | {"url": url})) for url in urls]
    for order in orders:
        plan = Plan.from_json(order["plan"])
        if reason := why_not_in_turns(plan):
            raise ValueError(f"--against: {reason}")
        # A process without a connection would try in vain how long its turns must be.
        if options.processes > 1 and (fault := share_fault(plan.load, options.processes)):
            raise ValueError(f"--processes: The load {fault}.")
        if plan.load.stages:
            if options.exactly or options.at_most:
                raise ValueError("The stages say when it ends; leave out --exactly and --at-most.")
            limit_s = turns_limit_s(plan, len(urls), injectors=options.processes)
    return {
        "protocol": PROTOCOL_OF_ARMS,
        "run": "command line",
        "arms": [{name: order[name] for name in _OF_AN_ARM} for order in orders],
        "policy": orders[0]["policy"],
        "seed": options.seed,
        "turns": {
            "seed": options.seed,
            "limit_s": limit_s,
            "until_settled": options.exactly is None,
        },
    }


OK, BROKEN, REFUSED, NO_ANSWER = 0, 1, 2, 3
# Loopback and private networks: what a person at a keyboard may be expected to own.
DEFAULT_ALLOW = (
    "127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7",
)  # fmt: skip
_HELP = """\
examples:
  %(prog)s http://127.0.0.1:8080/ --requests 1000 --connections 50     closed, like ab -n -c
  %(prog)s http://127.0.0.1:8080/ --rate 200 --duration 30             open, like httperf --rate
  %(prog)s http://127.0.0.1:8080/ --requests 100 --over 10             N over T, like JMeter
  %(prog)s ws://127.0.0.1:8080/ --requests 200 --connections 50 --messages 10
                                                    WebSocket: 200 connections, 10 messages each
  %(prog)s http://127.0.0.1:8080/ --against https://127.0.0.1:8443/ --rate 200 --insecure
                                                    which of two is slower, and by how much
exit status: 0 measured, 1 a threshold was broken, 2 refused or wrong usage,
             3 nothing was learnt; with --strict also where a threshold stays open, or where
             it is too close to call which is slower"""
_NO_ADDRESS = "{!r} is not an address such as http://127.0.0.1:8080/path."
_CSV = "also write the requests: all, where they are at most 2,000, else the slowest (none)"
_STRICT = "exit with 3 where a threshold stays open, or a comparison too close to call (off)"
_ALLOW = "one more network to send to (loopback and private networks)"


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workers.injector",
        usage="%(prog)s URL [--against URL] [options]",
        description="Measures how fast a service answers over HTTP, HTTPS or WebSocket.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "url",
        metavar="URL",
        help="http://, https://, ws:// or wss:// address; or @FILE, - for standard input: requests "
        "as curl, HTTPie, a browser, a HAR file or an OpenAPI document has them",
    )
    add_step_options(parser)
    add_load_options(parser)
    add_session_options(parser)
    add_websocket_options(parser)
    add_plan_options(parser)
    modes = parser.add_mutually_exclusive_group()
    for flag, mode, words in (
        ("--keep-alive", ConnectionMode.KEEP_ALIVE, "reuse connections (on)"),
        ("--new-connection", ConnectionMode.NEW, "a new connection for every request (off)"),
        ("--resume", ConnectionMode.RESUMED, "the same, resuming the TLS session (off)"),
    ):
        modes.add_argument(flag, dest="mode", action="store_const", const=mode, help=words)
    add(
        "--processes",
        type=int,
        metavar="P",
        default=1,
        help=f"share the load among P processes, at most {MAX_INJECTORS} (1)",
    )
    add(
        "--address",
        metavar="A",
        default="",
        help="connect to this address, whatever a name server says of the host (none)",
    )
    add_list(add, "--allow", "CIDR", _ALLOW)
    add("--hlog", metavar="FILE", help="also write an HdrHistogram log, µs, a second a line (none)")
    add("--requests-csv", metavar="FILE", help=_CSV)
    add("--strict", action="store_true", help=_STRICT)
    output = parser.add_mutually_exclusive_group()
    output.add_argument(
        "--json", action="store_true", help="print one JSON object instead of a report (off)"
    )
    output.add_argument(
        "--report", choices=sorted(REPORTS), default="plain", help="style of the report (plain)"
    )
    add_against_options(parser)
    add_tls_options(parser)
    return parser


def main(arguments: list[str]) -> int:
    """The exit status. Reports go to standard output, everything else to standard error."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    bytes_of.cache_clear()
    try:
        refuse_against_options(options)
        if options.against:
            return _compare(options)
        order = make_order(options)
        Plan.from_json(order["plan"])
        check_tls(order["endpoint"])
        for path in filter(None, (options.hlog, options.requests_csv)):
            Path(path).write_text("")  # or an hour of measuring ends in a wrong path
        key_log = open_key_log(options, order["endpoint"]["scheme"])
        progress = ProgressLine()
        if options.processes == 1:
            run = run_here(order, progress.show, key_log)
        else:
            run = run_processes(order, options.processes, progress.show)
        progress.finish()
    except (Refusal, BenchsiteError, ValueError, OSError) as error:
        return _refuse(parser, error)
    try:
        as_json = options.json and json.dumps(run.to_json())
        _print(as_json or run.report(options.report, order))
        for line in advice(run.measurement.failures):
            tell(line)
        _write(options.hlog, lambda: "".join(f"{line}\n" for line in hlog_lines(run)))
        _write(options.requests_csv, lambda: _csv_text(csv_rows(run.kept_requests)))
    except OSError as error:
        return _refuse(parser, error)
    return _status(run, is_strict=options.strict)


def _compare(options: argparse.Namespace) -> int:
    """Measure several addresses side by side. Raises as `main` refuses."""
    order, names = arms_order(options, make_order), [options.url, *options.against]
    for arm in order["arms"]:
        check_tls(arm["endpoint"])
    lines = [ProgressLine(f"{name}  ") for name in names]

    def show(second: Second, arm: int) -> None:
        lines[arm].show(second)

    if options.processes == 1:
        run = run_arms(order, names, show)
    else:
        run = run_arms_in_processes(order, names, show, options.processes)
    for line in lines:
        line.finish()
    _print(json.dumps(run.to_json()) if options.json else run.report())
    for line in advice(chain.from_iterable(run.failures)):
        tell(line)
    is_open = any(each.word == Word.OPEN for each in run.comparisons)
    return NO_ANSWER if not run.has_learnt or (is_open and options.strict) else OK


def _refuse(parser: argparse.ArgumentParser, error: Exception) -> int:
    for line in lines_of(error):
        tell(f"{parser.prog}: {line}")
    return REFUSED


def _print(text: str) -> None:
    """To a reader that may have gone, such as head: the exit status says the rest. Raises OSError
    where there is no room for it."""
    try:
        print(text, flush=True)
    except OSError as error:
        # Python writes out at its end what is left, and would complain of the same file.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, "standard output") from None


def _write(path: str | None, make: Callable[[], str]) -> None:
    """After the report, which a full disk must not cost. Raises OSError with the path."""
    if path:
        try:
            Path(path).write_text(make())
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None


def _csv_text(rows: Iterable[list[Any]]) -> str:
    out = StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


def _status(run: LocalRun, *, is_strict: bool) -> int:
    """What a busy machine may have broken is open; its ends are told."""
    if any(each.is_broken for each in run.verdicts):
        return BROKEN
    is_open = is_strict and any(each.is_open for each in run.verdicts)
    return NO_ANSWER if is_open or not run.judgement.is_usable else OK


def make_order(options: argparse.Namespace) -> dict[str, Any]:
    """The order of the protocol that the options describe. Raises ValueError."""
    if options.processes < 1:
        raise ValueError("--processes must be at least 1.")
    if options.processes > MAX_INJECTORS:
        raise ValueError(
            f"--processes: {options.processes:,} is outside: write a whole number from 1 to "
            f"{MAX_INJECTORS}."
        )
    try:
        parse_networks(options.allow)
    except ValueError as error:
        raise ValueError(f"--allow: {error}.") from None
    paste = read_file(options) if options.url.startswith("@") else None
    if paste is not None:
        options.insecure = options.insecure or paste.is_insecure
        options.address = options.address or paste.pinned
    endpoint, path = (paste.endpoint, "/") if paste else _read_url(options.url)
    defaults = make_parser().parse_args([options.url])
    plan = make_plan(options, defaults, endpoint["scheme"], path)
    secrets: dict[str, str] = {}
    if paste is not None:
        for step in paste.plan["steps"]:
            step["headers"] += headers_of(options)
        plan, secrets = {**paste.plan, **plan, "steps": paste.plan["steps"]}, paste.secrets
        plan["auth"] = plan["auth"] or paste.plan.get("auth", {})
    check_shares(options, plan["load"].get("shares") or ())
    tls = tls_fields(options, endpoint["scheme"])
    if fault := address_fault(options.address):
        raise ValueError(f"--address: {fault}")
    if options.address:
        endpoint["address"] = options.address
    return {
        "protocol": PROTOCOL,
        "run": "command line",
        "plan": plan,
        "endpoint": endpoint | tls,
        "connection_mode": _mode(options, plan, endpoint["scheme"]),
        "policy": {"allow": [*DEFAULT_ALLOW, *options.allow]},
        "secrets": (secrets or read_secrets(options, plan)) | read_client_key(options),
        "seed": options.seed,
    }


def _mode(options: argparse.Namespace, plan: dict[str, Any], scheme: str) -> ConnectionMode:
    """A WebSocket is opened anew for every attempt. Raises ValueError for an option that the scheme
    has no use for."""
    if options.mode == ConnectionMode.RESUMED and scheme not in TLS_SCHEMES:
        raise ValueError("--resume needs an https or wss address.")
    if options.mode == ConnectionMode.KEEP_ALIVE and scheme in WEBSOCKET_SCHEMES:
        raise ValueError("--keep-alive is for http and https; a WebSocket is opened every time.")
    mode = options.mode or plan.get("connection_mode", ConnectionMode.KEEP_ALIVE)
    is_kept = mode == ConnectionMode.KEEP_ALIVE
    return ConnectionMode.NEW if scheme in WEBSOCKET_SCHEMES and is_kept else mode


def _read_url(text: str) -> tuple[dict[str, Any], str]:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # in words of Python that do not say what was read
        raise ValueError(_NO_ADDRESS.format(text)) from None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ValueError(_NO_ADDRESS.format(text))
    if "@" in parts.netloc:
        raise ValueError("Leave user and password out of the address; send a header instead.")
    endpoint = {
        "scheme": parts.scheme,
        "host": parts.hostname,
        "port": DEFAULT_PORTS[parts.scheme] if port is None else port,
    }
    has_query = "?" in text.partition("#")[0]
    return endpoint, (parts.path or "/") + (f"?{parts.query}" if has_query else "")


class ProgressLine:
    """A line on standard error for each second, all processes of it merged."""

    def __init__(self, label: str = "") -> None:
        self._label = label
        self._second: int | None = None
        self._total = Total()

    def show(self, second: Second) -> None:
        if second.second != self._second:
            self._print()
            self._second, self._total = second.second, Total()
        self._total.add(second)

    def finish(self) -> None:
        """Print the last second as well."""
        self._print()

    def _print(self) -> None:
        if self._second is None:
            return
        response, message = self._total.timing("response"), self._total.timing("message")
        figures = _figures(response) if response.n else "no reply"
        if message.n and not response.n:
            figures = f"{message.n:,} messages  {_figures(message)}"
        failed = self._total.count("failed")
        words = f"{self._label}{self._second:4d} s  {self._total.count('ok'):7,d} ok  {figures}"
        tell(words + (f"  {failed} failed" if failed else ""))


def _figures(response: Timing) -> str:
    """The median and the slow end: p99 where there are enough for one, else the slowest."""
    has_p99 = shown(response.n, P99) is not Shown.NO
    slow = f"p99 {_ms(response.percentile_us(P99))}" if has_p99 else f"max {_ms(response.max_us)}"
    return f"p50 {_ms(response.percentile_us(P50))}  {slow}"


def _ms(us: float) -> str:
    return f"{units.figure(us / 1000):>7} ms"
