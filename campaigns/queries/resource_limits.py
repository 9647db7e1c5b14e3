"""Resources that a campaign may exhaust: the injectors' local ports and open files, storage."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from campaigns.domain.plan.estimates import LOCAL_PORTS, Estimate
from campaigns.models import InjectorHost
from campaigns.queries.checks import Check

# Beyond this, pages become slow.
ROW_BUDGET = 1_000_000
# Of one second of one injector at one step, with its index: our injector's own in the first format
# (docs/performance.md). A machine without a free core makes 2.5 times as many.
ROW_BYTES = 1700


@dataclass(frozen=True, slots=True)
class Room:
    """The minimum over the injector hosts. `reuses_ports`: all of them reuse closed ports without
    a minute's wait. `open_files` is None if no host reported it."""

    ports: int
    open_files: int | None
    reuses_ports: bool


def room_of(hosts: Sequence[InjectorHost]) -> Room:
    """The room of the live hosts; Linux's default ports without any."""
    alive = [host.facts for host in hosts if host.is_alive]
    ports = [n for facts in alive if (n := _ports(facts.get("local_ports")))]
    files = [facts["open_files"] for facts in alive if isinstance(facts.get("open_files"), int)]
    return Room(
        ports=min(ports, default=LOCAL_PORTS),
        open_files=min((n for n in files if n > 0), default=None),
        reuses_ports=bool(alive) and all(each.get("time_wait_reuse") == "1" for each in alive),
    )


def _ports(text: str | None) -> int:
    """The number of ports in a range such as "32768 60999"; 0 if it cannot be parsed."""
    first, _, last = " ".join(str(text or "").split()).partition(" ")
    return int(last) - int(first) + 1 if first.isdecimal() and last.isdecimal() else 0


def room_checks(estimate: Estimate, room: Room) -> Iterator[Check]:
    ports, files, rows = estimate.ports, estimate.descriptors, estimate.rows
    if ports is not None and ports > room.ports and not room.reuses_ports:
        yield Check(
            "warn",
            f"If the injector closes connections first, new ones may need {ports:,} local ports "
            f"within a minute; one injector host has {room.ports:,}. Lower the rate, or spread "
            f"it over {ceil(ports / room.ports)} times as many injector hosts.",
        )
    if files is not None and room.open_files is not None and files > room.open_files:
        yield Check(
            "warn",
            f"One injector process may need {files:,} open files, but its limit is "
            f"{room.open_files:,}: a closed load is refused, requests of an open load wait. Raise "
            "the limit (ulimit -n), or spread the load over more injector processes.",
        )
    if rows > ROW_BUDGET:
        yield Check(
            "warn",
            f"This stores up to {rows:,} rows, about {rows * ROW_BYTES / 1e9:,.0f} GB: one per "
            "second, step and injector process of every run. Make the runs shorter, or measure "
            "fewer steps at a time.",
        )
