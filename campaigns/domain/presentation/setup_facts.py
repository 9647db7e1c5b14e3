"""How a campaign was set up, and what its runs say of that: the groups of its page's tab Setup,
[(group, [(name, value), …]), …] without empty ones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from statistics import fmean

from campaigns.domain.analysis.likeness import ArmRun, texts_of
from campaigns.domain.metrics.injector_end import (
    TlsHandshakes,
    peers_of,
    servers_of,
    tls_libraries_of,
)
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.percentiles import P50, P99, Shown, shown
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.presentation.plan_words import order_words, plan_load_words
from campaigns.domain.presentation.report_tables import certificates_of
from campaigns.domain.units import count, counted, ms

Rows = list[tuple[str, str]]
Facts = list[tuple[str, Rows]]
_Arms = Mapping[str, Sequence[ArmRun]]
TLS, CERTIFICATE = "TLS", "Certificate"


def plan_facts(plan: Plan, *, shows_queries: bool = True) -> Rows:
    """`shows_queries`: whether the reader may see the parameters in paths."""
    requests = [f"{step.method} {step.path}" for step in plan.steps]
    if plan.exchange:
        requests = [f"WebSocket {plan.exchange.path}"]
    if not shows_queries:
        requests = [each.partition("?")[0] for each in requests]
    version = (
        "" if plan.exchange or plan.http_version == HttpVersion.HTTP_1_1 else plan.http_version
    )
    rows = [
        ("Request", requests[0] if len(requests) == 1 else ""),
        (
            "Requests",
            f"{counted(len(requests), 'steps')}, {order_words(plan)}" if requests[1:] else "",
        ),
        ("HTTP", str(version)),
        ("Load", plan_load_words(plan)),
        ("Success", "" if plan.exchange else f"status {', '.join(plan.expected_status)}"),
        ("Limits", ", ".join(each.rule for each in plan.thresholds)),
        ("Warm-up", f"{plan.warm_up_s} s" if plan.warm_up_s else ""),
    ]
    return [(name, value) for name, value in rows if value]


def setup_facts(arms: _Arms) -> Facts:
    """Of the runs of each arm, by its label. Machines are left out for who may not see them."""
    arms = {label: runs for label, runs in arms.items() if runs}
    over_tls = {label: runs for label, runs in arms.items() if runs[0].frozen.endpoint.is_tls}
    shown_arms = {label: runs for label, runs in arms.items() if runs[0].shows_machine}
    addresses = texts_of(peer for runs in shown_arms.values() for peer in peers_of(_ends(runs)))
    notes = {label: dict(runs[0].frozen.environment) for label, runs in shown_arms.items()}
    groups = [
        (TLS, _rows(over_tls, _TLS)),
        (CERTIFICATE, _rows(over_tls, _CERTIFICATE)),
        ("Connections", _connections(arms) + _handshakes(over_tls)),
        (
            "Machine",
            [
                *([("Address", addresses)] if addresses else []),
                *_rows(shown_arms, _MACHINE),
                # What people wrote down of the targets.
                *(
                    (name, told_once({arm: each.get(name, "") for arm, each in notes.items()}))
                    for name in dict.fromkeys(chain.from_iterable(notes.values()))
                ),
            ],
        ),
    ]
    return [(title, rows) for title, rows in groups if rows]


def told_once(values: Mapping[str, str]) -> str:
    """The value of all; where they differ, each with the labels that have it."""
    labels: dict[str, list[str]] = {}
    for label, value in values.items():
        if value:
            labels.setdefault(value, []).append(label)
    if len(labels) < 2:
        return "".join(labels)
    return "; ".join(f"{value} ({', '.join(of)})" for value, of in labels.items())


_Value = Callable[[Sequence[ArmRun]], Iterable[str | None]]


def _rows(arms: _Arms, columns: Mapping[str, _Value]) -> Rows:
    rows = [
        (name, told_once({label: texts_of(of(runs)) for label, runs in arms.items()}))
        for name, of in columns.items()
    ]
    return [(name, value) for name, value in rows if value]


def _ends(runs: Sequence[ArmRun]):
    return [end for each in runs for end in each.measurement.ends]


def _handshakes_of(runs: Sequence[ArmRun]) -> list[TlsHandshakes]:
    return [tls for end in _ends(runs) for tls in end.tls]


_MACHINE: Mapping[str, _Value] = {
    "Load generator": lambda runs: (host for each in runs for host in each.injector_hosts),
    "Server": lambda runs: servers_of(_ends(runs)) or (),
}
_TLS: Mapping[str, _Value] = {
    "Protocol": lambda runs: (each.version.removeprefix("TLSv") for each in _handshakes_of(runs)),
    "Cipher": lambda runs: (each.cipher for each in _handshakes_of(runs)),
    "Key exchange": lambda runs: (each.group for each in _handshakes_of(runs)),
    # They may name a host.
    "Options": lambda runs: runs[0].frozen.endpoint.tls.words() if runs[0].shows_machine else (),
    "Early data": lambda runs: ["never sent"],
    "Library": lambda runs: tls_libraries_of(_ends(runs)),
}
_CERTIFICATE: Mapping[str, _Value] = {
    "Key": lambda runs: certificates_of(_ends(runs)),
    "Verified": lambda runs: ["yes" if runs[0].frozen.endpoint.verify_tls else "no"],
}


def _connections(arms: _Arms) -> Rows:
    """How many each scheme and mode opened, over all plans and targets."""
    totals: dict[tuple[str, str], list[Total]] = {}
    for runs in arms.values():
        frozen = runs[0].frozen
        arm = frozen.endpoint.scheme.upper(), frozen.connection_mode
        totals.setdefault(arm, []).extend(each.measurement.total for each in runs)
    return [
        (f"{scheme} {mode}", words)
        for (scheme, mode), of in totals.items()
        if (words := _opened_words(of, mode))
    ]


def _opened_words(totals: Sequence[Total], mode: str) -> str:
    """3,600 full handshakes; 40 for 3,600 requests"""
    n_opened, ok, n_failed, full, n_resumed = (
        sum(each.count(name) for each in totals)
        for name in ("connections_opened", "ok", "failed", "tls_full", "tls_resumed")
    )
    if (not n_opened and mode != ConnectionMode.KEEP_ALIVE) or not ok + n_failed:
        return ""
    if 2 * n_opened <= ok + n_failed:
        return f"{count(n_opened)} for {counted(ok + n_failed, 'requests')}"
    if full and n_resumed:
        return f"{count(n_resumed)} resumed, {count(full)} full"
    return f"{count(n_opened)}{' resumed' if n_resumed else ' full' if full else ''}"


def _handshakes(arms: _Arms) -> Rows:
    """How long one takes, where a run has only one kind; the p99 of a single run."""
    timings: dict[str, list[Timing]] = {}
    for total in (each.measurement.total for runs in arms.values() for each in runs):
        full, n_resumed = total.count("tls_full"), total.count("tls_resumed")
        timing = total.timing("tls")
        kind = "Full" if full > 20 * n_resumed else "Resumed" if n_resumed > 20 * full else ""
        if kind and timing.n:
            timings.setdefault(kind, []).append(timing)
    rows = []
    for kind, of in timings.items():
        middle, high = ms(fmean(each.percentile_us(P50) for each in of)), ""
        if len(of) == 1 and shown(of[0].n, P99) is Shown.OK:
            high = f", p99 {ms(of[0].percentile_us(P99))}"
        rows.append((f"{kind} handshake", f"median {middle}{high}"))
    return rows
