"""The options of the command line that say how hard, and the load that they make."""

import argparse
from typing import Any

from campaigns.domain.plan.load import Load, Model
from workers.injector.cli_fields import add_field_options, given_fields

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
