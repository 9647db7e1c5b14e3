"""Checks before a campaign starts: allowed addresses, injector slots, busy targets. Resources that
a campaign may exhaust: the injectors' local ports and open files, storage. Rules about a target's
machine whose figures nobody would tell. Checks no permissions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Annotated

from django.conf import settings

from campaigns.domain.lifecycle import ACTIVE_STATES
from campaigns.domain.plan.addresses import (
    Allowed,
    is_address,
    machines_of,
    parse_networks,
    vet,
    written_addresses,
)
from campaigns.domain.plan.estimates import LOCAL_PORTS, Estimate
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.threshold import Threshold
from campaigns.domain.plan.typed_request import changes_something
from campaigns.domain.presentation.host_use import MEANING, busiest
from campaigns.domain.units import counted
from campaigns.engine.queries.injector_hosts import (
    NO_HOST,
    host_uses,
    hosts,
    live_hosts_now,
    own_addresses,
)
from campaigns.models import Endpoint, InjectorHost, Project, Run, Target
from campaigns.operations.queries import why_never
from campaigns.probes.queries.probes import is_watched
from campaigns.targets.queries import why_not_permitted


@dataclass(frozen=True, slots=True)
class Check:
    """`shape` is the glyph."""

    shape: Annotated[str, "good, info, warn or bad: a start would fail."]
    text: str


def checks_before_start(
    project: Project, endpoints: Sequence[Endpoint], injectors: int
) -> list[Check]:
    """The checks, in the order in which a start would fail; with names of programs, which those
    may see who may edit a campaign."""
    why = why_never(project, live_hosts_now(), injectors)
    slots = (Check("bad", why) if why else None) or _slots(injectors)
    return [*_addresses(endpoints), slots, *machine_checks(), *_busy_targets(endpoints)]


def first_requests_check(cells: Iterable[tuple[Plan, Endpoint]]) -> Check:
    """What the campaign sends before its first run, and what of it may change something there."""
    plans = {(each, endpoint.pk): each for each, endpoint in cells}
    changing = dict.fromkeys(filter(None, map(changes_something, plans.values())))
    among = f"; {', '.join(changing)} may change something there" if changing else ""
    return Check(
        "info",
        "Before the first run each plan's first request is sent once to each endpoint "
        f"({counted(len(plans), 'requests')}{among}).",
    )


def _addresses(endpoints: Sequence[Endpoint]) -> Iterable[Check]:
    networks = parse_networks(settings.ALLOWED_NETWORKS)
    if not networks and not settings.PROOF_DAYS:
        yield Check(
            "bad",
            "This installation does not allow testing any network yet. "
            "List networks in BENCHSITE_ALLOWED_NETWORKS.",
        )
        return
    verdicts = {(each.dialled, each.port): _refusal(each, networks) for each in endpoints}
    fine = dict.fromkeys(host for (host, _), refusal in verdicts.items() if not refusal)
    for name in fine:
        if not is_address(name):
            yield Check("info", f"{name} is resolved and checked when the run starts")
    for refusal in dict.fromkeys(filter(None, verdicts.values())):
        yield Check("bad", refusal)
    if allowed := list(filter(is_address, fine)):
        yield Check("good", f"{', '.join(allowed)} can be tested from here")


def _refusal(endpoint: Endpoint, networks: Iterable[Allowed]) -> str | None:
    if settings.PROOF_DAYS:
        return why_not_permitted(endpoint)
    dialled = endpoint.dialled
    return vet(dialled, endpoint.port, networks) if is_address(dialled) else None


def _slots(wanted: int) -> Check:
    alive = [host for host in hosts() if host.is_alive]
    slots = sum(host.slots for host in alive)
    free = sum(max(0, host.slots - host.busy) for host in alive)
    if not alive:
        return Check("bad", NO_HOST)
    if slots < wanted:
        return Check(
            "bad",
            f"Each run needs {counted(wanted, 'injector slots')}, but only {slots} are available.",
        )
    if free < wanted:
        return Check("warn", f"{_free_words(free, slots)}; the first run waits for them.")
    return Check("good", _free_words(free, slots))


def _free_words(free: int, slots: int) -> str:
    return f"{free} of {counted(slots, 'injector slots')} {'is' if free == 1 else 'are'} free"


def machine_checks() -> Iterable[Check]:
    """Whether other programs leave the injector hosts alone."""
    uses = host_uses()
    if busy := busiest(uses):
        yield Check("warn", f"{busy.words()} {MEANING}")
    elif uses:
        yield Check("good", max(uses, key=lambda each: each.others_share).quiet_words())


def _busy_targets(endpoints: Sequence[Endpoint]) -> Iterable[Check]:
    targets = {endpoint.target_id for endpoint in endpoints}
    machines = machines_of(
        (address for each in endpoints for address in written_addresses(each.dialled) or ()),
        own_addresses(),
    )
    active = Run.objects.filter(state__in=ACTIVE_STATES)
    for run in active.filter(target__in=targets).select_related("target"):
        yield Check("info", f"{run.target.name} is being measured; the first run waits for it")
    beside = active.exclude(target__in=targets).filter(machines__overlap=machines)
    busy = {machine for run in beside.only("machines") for machine in run.machines}
    for machine in sorted(busy & set(machines)):
        yield Check("info", f"{machine} is being measured; the first run waits for it")


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


_UNTOLD = (
    "{rule} needs an agent or an exporter on the machine of {target}, and none tells anything now. "
    "Start one as the target's page says, or leave the rule out."
)


def unreported_rule(target: Target, rules: Sequence[Threshold]) -> str:
    """What to do about the first rule that nobody would tell in the target's next run; "" if all
    are told."""
    rule = next((each for each in rules if each.is_of_machine), None)
    if rule is None or is_watched(target):
        return ""
    return _UNTOLD.format(rule=rule.rule, target=target.name)


def machine_rule_checks(cells: Iterable[tuple[Plan, Endpoint]]) -> Iterator[Check]:
    """Before a start; of each target and rule once."""
    sentence = (
        unreported_rule(endpoint.target, plan.thresholds)
        for plan, endpoint in cells
        if endpoint.target_id
    )
    for text in dict.fromkeys(filter(None, sentence)):
        yield Check("warn", text)
