"""Decides where connections may go: every address is checked right before it is dialled."""

import socket
import threading

from campaigns.domain.plan.addresses import Allowed, why_refused
from campaigns.domain.plan.target import Origin
from workers.injector.order import Refusal

RESOLVE_LIMIT_S = 5.0
_MAX_ADDRESSES = 64


# A name server that returns a new address each time must not fill the memory.
MAX_VERDICTS = 10_000


def look_up(host: str, port: int) -> list[str]:
    """The literal addresses of a host, in the resolver's order. Blocks; raises OSError,
    UnicodeError."""
    rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in rows))[:_MAX_ADDRESSES]


def resolve(host: str, port: int, limit_s: float = RESOLVE_LIMIT_S) -> list[str]:
    """The literal addresses of a host, in the resolver's order. Raises Refusal("dns_failed").

    Runs in a thread, because a resolver may hang for minutes and cannot be interrupted.
    """
    answer: list[str] = []
    failure: list[str] = []

    def ask() -> None:
        try:
            answer.extend(look_up(host, port))
        except (OSError, UnicodeError) as error:
            failure.append(str(error))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(limit_s)
    if not answer:
        why = failure[0] if failure else f"no answer within {limit_s:g} s"
        raise Refusal("dns_failed", f"The name {host} could not be resolved: {why}.")
    return answer


class Guard:
    """The addresses of one endpoint. Nothing is dialled that `refusal` objects to."""

    def __init__(
        self, endpoint: Origin, allowed: tuple[Allowed, ...], never: frozenset[str] = frozenset()
    ):
        self._allowed = allowed
        self._never = never
        self._verdicts: dict[str, str | None] = {}
        self.port = endpoint.port
        self.addresses: list[str] = []

    def admit(self, addresses: list[str]) -> None:
        """Take the endpoint's addresses; raises Refusal unless all of them are allowed."""
        for address in addresses:
            refusal = self.refusal(address)
            if refusal:
                raise Refusal("address_refused", refusal)
        self.addresses = addresses

    def refusal(self, address: str) -> str | None:
        """Why this literal address may not be dialled, or None; asked before every connect."""
        if address not in self._verdicts:
            if len(self._verdicts) >= MAX_VERDICTS:
                self._verdicts.clear()
            self._verdicts[address] = why_refused(address, self.port, self._allowed, self._never)
        return self._verdicts[address]

    def prefer(self, address: str) -> None:
        """Dial this address first from now on: those before it did not answer."""
        self.addresses = [address, *(each for each in self.addresses if each != address)]


def family_of(address: str) -> socket.AddressFamily:
    """The socket family of a literal address; called per connection, so it does not parse."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def peer_name(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
