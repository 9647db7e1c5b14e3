"""Where a connection may go: names are resolved once, and every address is vetted when dialled."""

import socket
import threading

from campaigns.domain.addresses import Network, vet
from workers.injector.order import Endpoint, Refusal

RESOLVE_LIMIT_S = 5.0
_MAX_ADDRESSES = 64


def resolve(host: str, port: int, limit_s: float = RESOLVE_LIMIT_S) -> list[str]:
    """The literal addresses of a host, in the resolver's order. Raises Refusal("dns_failed").

    In a thread of its own, for a resolver may hang for minutes and cannot be interrupted.
    """
    answer: list[str] = []
    failure: list[str] = []

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer.extend(dict.fromkeys(str(each[4][0]) for each in found))
        except (OSError, UnicodeError) as error:
            failure.append(str(error))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(limit_s)
    if not answer:
        why = failure[0] if failure else f"no answer within {limit_s:g} s"
        raise Refusal("dns_failed", f"The name {host} could not be resolved: {why}.")
    return answer[:_MAX_ADDRESSES]


class Guard:
    """The addresses of one endpoint. Nothing is dialled that `check` did not let through."""

    def __init__(self, endpoint: Endpoint, allowed: tuple[Network, ...]):
        self._allowed = allowed
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
            self._verdicts[address] = vet(address, self._allowed)
        return self._verdicts[address]

    def prefer(self, address: str) -> None:
        """Dial this one first from now on: the ones before it did not answer."""
        self.addresses = [address, *(each for each in self.addresses if each != address)]


def family_of(address: str) -> socket.AddressFamily:
    """The socket family of a literal address; asked for every connection, so it does not parse."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def peer_name(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
