"""Options of the command line for WebSocket addresses, and the exchange that they describe."""

import argparse
from typing import Any

from campaigns.domain.plan.exchange import Exchange
from workers.injector.cli_fields import add_field_options, given_fields, refuse_given


def add_websocket_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("WebSocket", "with ws:// and wss:// addresses only")
    add_field_options(group, Exchange)


def exchange_of(options: argparse.Namespace, path: str, headers: list[list[str]]) -> dict[str, Any]:
    """The plan's exchange."""
    return {"path": path, "headers": headers, **given_fields(options, Exchange)}


def refuse_websocket_options(options: argparse.Namespace) -> None:
    """Raises ValueError where one of them was given with an address of HTTP."""
    refuse_given(options, Exchange, "needs a ws:// or wss:// address.")
