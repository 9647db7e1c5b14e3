"""The machines that a run loads, by address: two runs on one machine would disturb each other."""

from collections.abc import Collection, Iterable

from campaigns.domain.plan.addresses import is_address, parse_address

# Stands for every loopback address, and for the injector hosts' own ones: all are one machine.
LOOPBACK = "127.0.0.1"


def written_addresses(host: str) -> list[str] | None:
    """The addresses that a host is without asking a name server; None for any other name."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return [LOOPBACK]
    return machines_of([host]) if is_address(host) else None


def machines_of(addresses: Iterable[str], own: Collection[str] = ()) -> list[str]:
    """One address for each machine, sorted. `own` are the addresses of the injector hosts."""
    return sorted({_machine(address, own) for address in addresses})


def _machine(text: str, own: Collection[str]) -> str:
    address = parse_address(text)
    return LOOPBACK if address.is_loopback or str(address) in own else str(address)
