"""Checks before the first packet: what this machine can do, cannot do, or may run short of.

A load that must fail is refused, because the run would only make the target look bad. What may run
short, depending on the target, is a warning with its numbers.
"""

import resource
from dataclasses import dataclass
from ipaddress import ip_address
from math import ceil

from campaigns.domain.plan.arrivals import is_scheduled
from campaigns.domain.plan.load import (
    ArrivalUnit,
    peak_rate_per_s,
    planned_arrivals,
    planned_duration_s,
)
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.session import connections_per_arrival
from workers.injector import crew, machine
from workers.injector.order import Order, Refusal

SPARE_DESCRIPTORS = 64
_MANY = 1 << 30
_TIME_WAIT_S = 60
# net.ipv4.tcp_tw_reuse lets a port be used again after a second: 1 for all, 2 on the loopback.
_REUSE_S = 1
_QUICK_CLOCKS = {"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"}
_ADVICE = "Use fewer connections, spread them over more injectors, or"


@dataclass(frozen=True, slots=True)
class Capacity:
    """`connections`: how many can be open at once. `cpu_quota`: cores; None without a quota."""

    connections: int
    descriptors: int
    cpu_quota: float | None
    warnings: tuple[str, ...]


def find_capacity(order: Order, addresses: list[str], n_arms: int = 1) -> Capacity:
    """Raises Refusal if the load cannot be sent from here. `n_arms`: how many loads of this kind
    share what there is; each gets an equal part."""
    descriptors = raise_descriptor_limit()
    possible = descriptors - SPARE_DESCRIPTORS
    ports = machine.count_ephemeral_ports() or _MANY
    n_needed, useful = crew.connections_of(order.plan, order.shard)
    _refuse_more_than(possible, ports, n_needed * n_arms)
    most = min(possible, ports) // n_arms
    cpu_quota = machine.read_cores()
    reuse = machine.time_wait_reuse()
    is_loopback = bool(addresses) and all(ip_address(each).is_loopback for each in addresses)
    is_reused_soon = reuse == 1 or (reuse == 2 and is_loopback)
    warnings = [
        _descriptor_warning(order, possible),
        _port_warning(order, ports, _REUSE_S if is_reused_soon else _TIME_WAIT_S),
    ]
    # Clock sources that need no system call or device access are fast enough.
    if (source := machine.clock_source()) and source not in _QUICK_CLOCKS:
        warnings.append(
            f"This machine's clock source is {source}, which is slow to read. Each request reads "
            "it several times. Switch to a fast one (tsc) if there is one."
        )
    # A process of one thread cannot use up a whole core's quota.
    if cpu_quota is not None and cpu_quota < 1:
        warnings.append(
            f"This process may use only {cpu_quota:.2g} of a core (the CPU quota of its control "
            "group). Whenever it has used that up, requests and replies wait. Raise the limit to "
            "a whole core."
        )
    return Capacity(
        connections=most if useful is None else min(most, useful),
        descriptors=descriptors,
        cpu_quota=cpu_quota,
        warnings=tuple(filter(None, warnings)),
    )


def _refuse_more_than(descriptors: int, ports: int, count: int) -> None:
    if count > descriptors:
        raise Refusal(
            "client_fd_exhausted",
            f"{count} connections need {count + SPARE_DESCRIPTORS} open files, but this "
            f"process is limited to {descriptors + SPARE_DESCRIPTORS}. {_ADVICE} raise the limit "
            "(ulimit -n).",
        )
    if count > ports:
        raise Refusal(
            "client_ports",
            f"{count} connections to one address need {count} local ports, but this machine has "
            f"{ports}. {_ADVICE} widen net.ipv4.ip_local_port_range.",
        )


def _descriptor_warning(order: Order, possible: int) -> str:
    """The worst case of a scheduled load: the target answers nothing within the limit."""
    load = order.plan.load
    rate_per_s = peak_rate_per_s(load)
    if not is_scheduled(load) or rate_per_s is None:
        return ""
    waiting = ceil(rate_per_s * float(order.shard.share) * order.plan.timeouts.total_s)
    of_each = order.plan.session.connections_per_session or 1
    in_flight = of_each * min(load.max_in_flight, waiting, planned_arrivals(load) or waiting)
    if in_flight <= possible:
        return ""
    return (
        f"Up to {in_flight:,} requests in flight need {in_flight + SPARE_DESCRIPTORS:,} open "
        f"files, but this process is limited to {possible + SPARE_DESCRIPTORS:,}: requests beyond "
        f"{possible:,} wait. {_ADVICE} raise the limit (ulimit -n)."
    )


def _port_warning(order: Order, ports: int, wait_s: int) -> str:
    load, mode = order.plan.load, order.mode
    rate_per_s = peak_rate_per_s(load)
    is_kept = mode == ConnectionMode.KEEP_ALIVE and load.arrival_unit == ArrivalUnit.REQUEST
    if is_kept or rate_per_s is None:
        return ""
    of_each = connections_per_arrival(
        load, order.plan.longest_session, is_kept=mode == ConnectionMode.KEEP_ALIVE
    )
    own_per_s = rate_per_s * float(order.shard.share) * of_each
    n_ports = ceil(own_per_s * min(wait_s, planned_duration_s(load) or wait_s))
    if n_ports <= ports:
        return ""
    return (
        f"If the injector closes first, each local port stays in use for {wait_s} s, so "
        f"{own_per_s:,.0f} new connections per second need {n_ports:,} ports. This machine has "
        f"{ports:,} per address, enough for {ports / wait_s:,.0f} per second. {_ADVICE} lower the "
        "rate, use keep-alive, or widen net.ipv4.ip_local_port_range."
    )


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open files to the hard limit; returns it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return _MANY if hard == resource.RLIM_INFINITY else hard
