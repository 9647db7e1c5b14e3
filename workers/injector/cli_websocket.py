"""Options of the command line for WebSocket addresses, and the exchange that they describe."""

import argparse
from typing import Any

from campaigns.domain.plan.exchange import ExchangeMode, Verify

_STANDARD: dict[str, Any] = {
    "messages": 0, "size": 64, "binary": False, "message_rate": None,
    "exchange": ExchangeMode.ECHO_SYNC, "verify": Verify.EXACT, "subprotocol": [],
    "close_code": 1000, "close_timeout": 5.0,
}  # fmt: skip


def add_websocket_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("WebSocket", "with ws:// and wss:// addresses only")
    add = group.add_argument
    add("--messages", type=int, metavar="N", help="messages on each connection (0: none)")
    add("--size", type=int, metavar="B", help="size of a message, bytes (64)")
    add("--binary", action="store_true", help="binary messages instead of text (off)")
    add(
        "--exchange",
        choices=list(ExchangeMode),
        help="wait for each echo, send on without, or expect none (echo_sync)",
    )
    add(
        "--message-rate",
        type=float,
        metavar="R",
        help="messages a second on each connection (at once)",
    )
    add("--verify", choices=list(Verify), help="what of an echo must be right (exact)")
    add("--subprotocol", action="append", metavar="NAME", help="offer a subprotocol (none)")
    add("--close-code", type=int, metavar="C", help="code of our close frame (1000)")
    add("--close-timeout", type=float, metavar="S", help="limit of the closing handshake, s (5)")
    parser.set_defaults(**_STANDARD)


def exchange_of(options: argparse.Namespace, path: str, headers: list[list[str]]) -> dict[str, Any]:
    """The plan's exchange."""
    return {
        "path": path,
        "headers": headers,
        "subprotocols": options.subprotocol,
        "messages": options.messages,
        "size_bytes": options.size,
        "binary": options.binary,
        "mode": options.exchange,
        "rate_per_s": options.message_rate,
        "verify": options.verify,
        "close_code": options.close_code,
        "close_timeout_s": options.close_timeout,
    }


def refuse_websocket_options(options: argparse.Namespace) -> None:
    """Raises ValueError where one of them was given with an address of HTTP."""
    for name, standard in _STANDARD.items():
        if getattr(options, name) != standard:
            raise ValueError(f"--{name.replace('_', '-')} needs a ws:// or wss:// address.")
