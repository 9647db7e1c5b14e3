"""The options of the command line that say how hard, and the load that they make."""

import argparse
from typing import Any

from campaigns.domain.plan.load import ArrivalUnit, Distribution, Hold, WhenSaturated
from campaigns.domain.plan.shards import shares_of_text
from campaigns.domain.plan.stages import stages_of_text

# The options that are fields of a load under another name or as they are, by option.
FIELDS = {
    "requests": "requests",
    "connections": "connections",
    "duration": "duration_s",
    "rate": "rate_per_s",
    "over": "over_s",
    "ramp_up": "ramp_up_s",
    "distribution": "distribution",
    "uniform_min": "uniform_min_s",
    "uniform_max": "uniform_max_s",
    "max_in_flight": "max_in_flight",
    "when_saturated": "when_saturated",
    "low": "low",
    "high": "high",
    "hold": "hold",
    "hold_s": "hold_s",
    "arrival_unit": "arrival_unit",
    "start_offset": "start_offset_s",
    "shares": "shares",
}
# An option that is only for one model names it.
_NAMES = {
    "over": ("over",),
    "open": ("rate", "uniform_min", "uniform_max", "stages"),
    "window": ("low", "high"),
}


def add_load_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "load", "open if it has a rate, a window if it has marks, else closed"
    )
    add = group.add_argument
    add("--requests", type=int, metavar="N", help="send N requests (1, or none with a duration)")
    add(
        "--duration",
        type=float,
        metavar="S",
        help="send for S seconds (until the requests are done)",
    )
    add("--connections", type=int, metavar="C", help="closed load: C connections (1)")
    add("--ramp-up", type=float, metavar="S", help="connection i of C begins at i·S/C s (0)")
    add("--over", type=float, metavar="T", help="spread --requests evenly over T seconds (off)")
    add("--rate", type=float, metavar="R", help="open load: R requests a second (off)")
    add(
        "--stages",
        metavar="TEXT",
        help="open load in stages of seconds and rate: '30: 10, 60: 10-50' holds 10/s for 30 s, "
        "then goes evenly from 10/s to 50/s within 60 s (none)",
    )
    add(
        "--distribution",
        choices=list(Distribution),
        help="of an open load's arrivals: even, Poisson, or uniform gaps (deterministic)",
    )
    add(
        "--uniform-min",
        type=float,
        metavar="S",
        help="uniform: the shortest gap, s; without --rate (none)",
    )
    add("--uniform-max", type=float, metavar="S", help="uniform: the longest gap, s (none)")
    add("--max-in-flight", type=int, metavar="N", help="open: at most N at once (10000)")
    add(
        "--when-saturated",
        choices=list(WhenSaturated),
        help="what is due beyond that waits, or is dropped and counted (queue)",
    )
    add(
        "--low",
        type=int,
        metavar="N",
        help="window: refill when fewer than N are being opened (none)",
    )
    add("--high", type=int, metavar="N", help="window: open at most N connections at a time (none)")
    add("--hold", choices=list(Hold), help="window: what becomes of open connections (close)")
    add("--hold-s", type=float, metavar="S", help="window: keep each open for S seconds (keep_s)")
    add(
        "--arrival-unit",
        choices=list(ArrivalUnit),
        help="open, over: what arrives and is counted by --requests, --rate, --stages and "
        "--max-in-flight: requests, new connections or sessions, see below (request)",
    )
    add("--start-offset", type=float, metavar="S", help="process i begins i·S s later (0)")
    add(
        "--per-process",
        action="store_true",
        help="connections and requests are of each process, not of all together (off)",
    )
    add(
        "--shares",
        type=shares_of_text,
        metavar="W,W",
        help="a whole number for each of --processes: of 2,1,1 the first sends half (equal shares)",
    )
    add("--seed", type=int, metavar="N", default=0, help="of whatever is random (0)")


def make_load(options: argparse.Namespace) -> dict[str, Any]:
    """The load that the options name; what does not fit its model is for the plan to refuse."""
    given = {
        name: getattr(options, option)
        for option, name in FIELDS.items()
        if getattr(options, option) is not None
    }
    if options.stages is not None:
        given["stages"] = stages_of_text(options.stages)
    load = {"model": _model_of(options), **given}
    if load["model"] == "closed":
        load.setdefault("connections", 1)
        if "duration_s" not in load:
            load.setdefault("requests", 1)
    return load | ({"per_injector": True} if options.per_process else {})


def _model_of(options: argparse.Namespace) -> str:
    for model, names in _NAMES.items():
        if any(getattr(options, name) is not None for name in names):
            return model
    return "closed"
