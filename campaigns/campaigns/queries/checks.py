"""Checks before a campaign or a search starts: allowed addresses, injector slots, busy targets.
Resources that it may exhaust: the injectors' local ports and open files, storage. Rules about a
target's machine whose figures nobody would tell, and counters that nobody would count. Checks no
permissions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Annotated

from django.conf import settings

from campaigns.campaigns.queries.campaign_grid import LastReply
from campaigns.domain.caps import LOAD_HOURS
from campaigns.domain.lifecycle import ACTIVE_STATES
from campaigns.domain.metrics.machine import PERF, PROCESS
from campaigns.domain.metrics.profiles import PerfOf
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
from campaigns.domain.plan.presets import PAUSE_S, SearchCost, search_cost
from campaigns.domain.plan.threshold import Threshold, parse_rule
from campaigns.domain.plan.typed_request import changes_something
from campaigns.domain.presentation.host_use import MEANING, busiest
from campaigns.domain.presentation.what_to_do import words_of
from campaigns.domain.units import and_joined, counted, duration
from campaigns.engine.queries.injector_hosts import (
    NO_HOST,
    host_uses,
    hosts,
    live_hosts_now,
    own_addresses,
)
from campaigns.models import Endpoint, InjectorHost, Project, Run, Target
from campaigns.operations.queries import use_of, why_never
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


def checks_of_campaign(
    project: Project,
    requests: Sequence[tuple[Plan, Endpoint]],
    estimate: Estimate,
    *,
    injectors: int,
    perf: str,
) -> list[Check]:
    """What a start would say of these plans on these endpoints."""
    endpoints = [endpoint for _, endpoint in requests]
    return [
        first_requests_check(requests),
        *checks_before_start(project, endpoints, injectors),
        *machine_rule_checks(requests),
        *perf_checks(endpoints, perf),
        *room_checks(estimate, room_of(hosts())),
    ]


def cost_of_search(plan: Plan, *, trial_s: float, longest_s: float) -> SearchCost:
    return search_cost(
        trial_s=trial_s, warm_up_s=plan.warm_up_s, pause_s=PAUSE_S, longest_s=longest_s
    )


def checks_of_search(
    project: Project,
    plan: Plan,
    endpoint: Endpoint,
    injectors: int,
    cost: SearchCost,
    objective: Sequence[str] = (),
) -> list[Check]:
    """In the order in which a start would fail, then what the project's cap has left. `objective`:
    the rules that are searched by, as far as they can be read; else the plan's."""
    # What is still being typed is left out; the form says what is wrong with it.
    checks = []
    for text in objective:
        with suppress(ValueError):
            checks.append(Threshold(**parse_rule(text)))
    rules = checks or plan.thresholds
    untold = unreported_rule(endpoint.target, rules)
    refusals = [use.refusal(project.name, cost.load_s) for use in use_of(project, {LOAD_HOURS})]
    return [
        first_requests_check([(plan, endpoint)]),
        *([Check("bad", untold)] if untold else []),
        *checks_before_start(project, [endpoint], injectors),
        *(Check("warn", refusal) for refusal in refusals if refusal),
    ]


def answer_checks(
    endpoints: Iterable[Endpoint], answers: Mapping[int, LastReply], now: datetime
) -> Iterator[Check]:
    """What the latest single requests to them brought, if any was sent: shop-api answers over HTTP
    and HTTPS, 3 s ago."""
    good: dict[str, list[tuple[str, datetime]]] = {}
    for each in dict.fromkeys(endpoints):
        name, scheme = each.target.name, each.scheme.upper()
        latest = answers.get(each.pk)
        if latest and latest.error:
            what = words_of(latest.error)
            yield Check("warn", f"{name} failed over {scheme}, {_ago(now, latest.at)}: {what}")
        elif latest:
            good.setdefault(name, []).append((scheme, latest.at))
    for name, replies in good.items():
        schemes = and_joined(list(dict.fromkeys(scheme for scheme, _ in replies)))
        oldest = min(at for _, at in replies)
        yield Check("good", f"{name} answers over {schemes}, {_ago(now, oldest)}")


def _ago(now: datetime, then: datetime) -> str:
    return f"{duration(max(0, round((now - then).total_seconds())))} ago"


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
    host = endpoint.dialled
    return vet(host, endpoint.port, networks) if is_address(host) else None


def _slots(n_needed: int) -> Check:
    alive = [host for host in hosts() if host.is_alive]
    slots = sum(host.slots for host in alive)
    free = sum(max(0, host.slots - host.busy) for host in alive)
    if not alive:
        return Check("bad", NO_HOST)
    if slots < n_needed:
        needs = counted(n_needed, "injector slots")
        return Check("bad", f"Each run needs {needs}, but only {slots} are available.")
    if free < n_needed:
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
    names = active.filter(target__in=targets).values_list("target__name", flat=True)
    for name in names.order_by("target__name").distinct():
        yield Check("info", f"{name} is being measured; the first run waits for it")
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


def perf_checks(endpoints: Sequence[Endpoint], perf: str) -> Iterator[Check]:
    """Before a start: whether somebody will look at what the campaign asks for: a PerfOf."""
    targets = {each.target_id: each.target for each in endpoints if each.target_id} if perf else {}
    for target in targets.values():
        offers = [each for each in target.exporters.filter(problem="") if PERF in each.offers]
        words = [word for each in offers for word in each.offers]
        if not offers:
            yield Check(
                "warn",
                f"No agent of {target.name} runs perf. Start one with --perf on its machine; the "
                "target's page says how.",
            )
        elif perf == PerfOf.PROCESSES and not any(word.startswith(PROCESS) for word in words):
            yield Check(
                "warn",
                f"The agent of {target.name} watches no processes, so perf has nothing to count. "
                "Start it with --process, or choose the whole machine.",
            )
