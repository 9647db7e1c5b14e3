"""The option --against: other addresses to measure side by side with the first."""

import argparse
from collections.abc import Callable
from typing import Any

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.turns import LIMIT_S, MOST_ARMS, turns_limit_s, why_not_in_turns
from workers.injector.cli_fields import read_amount
from workers.injector.order import PROTOCOL_OF_ARMS

_OF_AN_ARM = ("endpoint", "connection_mode", "plan", "secrets")
# What makes a report of one address, or shares its load.
_ALONE = ("hlog", "requests_csv", "threshold", "key_log")


def add_against_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "side by side", "measures addresses in turns, so that the noise of a machine meets them all"
    )
    add = group.add_argument
    add(
        "--against",
        action="append",
        default=[],
        metavar="URL",
        help="compare this address with the first; may be repeated (none)",
    )
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
        for name in ("at_most", "exactly"):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name.replace('_', '-')} needs --against.")
        return
    if len(options.against) >= MOST_ARMS:
        raise ValueError(f"--against: write at most {MOST_ARMS - 1} of them.")
    if options.exactly is not None and options.at_most is not None:
        raise ValueError("--exactly and --at-most exclude each other.")
    if options.processes > 1:
        raise ValueError("--against is measured by one process; leave out --processes.")
    if options.report != "plain":
        raise ValueError("--report is for one address; leave out --against.")
    for name in _ALONE:
        if getattr(options, name):
            raise ValueError(f"--{name.replace('_', '-')} is for one address; leave out --against.")


def arms_order(
    options: argparse.Namespace, make_order: Callable[[argparse.Namespace], dict[str, Any]]
) -> dict[str, Any]:
    """The order of protocol 2; `make_order` makes that of one address. Raises ValueError."""
    limit_s = options.exactly or options.at_most or LIMIT_S
    given = vars(options)
    if not (options.plan or options.duration or options.requests or options.stages):
        given = given | {"duration": limit_s}
    urls = [options.url, *options.against]
    orders = [make_order(argparse.Namespace(**given | {"url": url})) for url in urls]
    for order in orders:
        plan = Plan.from_json(order["plan"])
        if reason := why_not_in_turns(plan):
            raise ValueError(f"--against: {reason}")
        if plan.load.stages:
            if options.exactly or options.at_most:
                raise ValueError("The stages say when it ends; leave out --exactly and --at-most.")
            limit_s = turns_limit_s(plan.load, len(urls))
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
