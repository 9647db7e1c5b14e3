"""Checks before a campaign starts: allowed addresses, injector slots, busy targets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings

from campaigns.domain.lifecycle import ACTIVE_STATES
from campaigns.domain.plan.addresses import Allowed, is_address, parse_networks, vet
from campaigns.domain.plan.first_request import changes_something
from campaigns.domain.plan.machines import machines_of, written_addresses
from campaigns.domain.plan.plan import Plan
from campaigns.domain.units import counted
from campaigns.models import Endpoint, Project, Run
from campaigns.queries.caps import why_never
from campaigns.queries.injector_hosts import hosts
from campaigns.queries.ownership import why_not_permitted
from campaigns.queries.slots import NO_HOST, own_addresses


@dataclass(frozen=True, slots=True)
class Check:
    """`shape` is the glyph: good, warn, bad or info."""

    shape: str
    text: str


def checks_before_start(
    project: Project, endpoints: Sequence[Endpoint], injectors: int
) -> list[Check]:
    """The checks, in the order in which a start would fail."""
    why = why_never(project, injectors)
    slots = (Check("bad", why) if why else None) or _slots(injectors)
    return [*_addresses(endpoints), slots, *_busy_targets(endpoints)]


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
    verdicts = {(each.host, each.port): _refusal(each, networks) for each in endpoints}
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
    return vet(endpoint.host, endpoint.port, networks) if is_address(endpoint.host) else None


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


def _busy_targets(endpoints: Sequence[Endpoint]) -> Iterable[Check]:
    targets = {endpoint.target_id for endpoint in endpoints}
    machines = machines_of(
        (address for each in endpoints for address in written_addresses(each.host) or ()),
        own_addresses(),
    )
    active = Run.objects.filter(state__in=ACTIVE_STATES)
    for run in active.filter(target__in=targets).select_related("target"):
        yield Check("info", f"{run.target.name} is being measured; the first run waits for it")
    held = active.exclude(target__in=targets).filter(machines__overlap=machines)
    busy = {machine for run in held.only("machines") for machine in run.machines}
    for machine in sorted(busy & set(machines)):
        yield Check("info", f"{machine} is being measured; the first run waits for it")
