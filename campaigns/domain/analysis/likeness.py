"""Which tests of two campaigns belong together: the same plan on the same arm; and whether two arms
are like for like: what is the same, what is equal, and what differs.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from campaigns.domain.metrics.injector_end import peers_of
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.plan.frozen_run import FrozenRun
from campaigns.domain.units import count, percent

_EQUAL_WITHIN = 0.01
HOSTS = "injector hosts"


@dataclass(frozen=True, slots=True)
class ArmRun:
    """The part of an arm's run that likeness depends on: its plan, its injectors' hosts, and its
    measurement. `shows_machine`: whether the reader may see which hosts they are, and not only
    whether they are alike."""

    frozen: FrozenRun
    injector_hosts: tuple[str, ...]
    measurement: Measurement
    shows_machine: bool = True


@dataclass(frozen=True, slots=True)
class Likeness:
    """One thing that several arms have: a text for each, and whether they are the same, or
    measured values nearly so."""

    name: str
    values: tuple[str, ...]
    is_alike: bool


def like_for_like(
    baseline: Sequence[ArmRun], candidate: Sequence[ArmRun]
) -> dict[str, list[list[str]]]:
    """{"same": [[k, v]], "equal": [[k, v]], "different": [[k, both]]} of two arms' runs.

    "same" has choices (target, host, plan, injectors), "equal" measured values that agree.
    """
    facts: dict[str, list[list[str]]] = {"same": [], "equal": [], "different": []}
    if not baseline or not candidate:
        return facts
    arms = [baseline, candidate]
    for name, of_run in (
        ("target", lambda each: each.frozen.target),
        ("host", _host),
        ("plan", lambda each: each.frozen.plan_label),
    ):
        values = [texts_of(of_run(each) for each in arm) for arm in arms]
        texts = _host_texts(arms, values) if of_run is _host else values
        _sort_in(facts, "same", name, texts, values[0] == values[1])
    for each in likeness_among(arms):
        kind = "same" if each.name == HOSTS else "equal"
        _sort_in(facts, kind, each.name, each.values, each.is_alike)
    return facts


def likeness_among(arms: Sequence[Sequence[ArmRun]]) -> list[Likeness]:
    """What should be alike in arms whose targets differ; each of them has runs."""
    hosts = [texts_of(host for each in arm for host in each.injector_hosts) for arm in arms]
    totals = [[each.measurement.total for each in arm] for arm in arms]
    sizes = [_content_bytes(total) for total in totals]
    counts = [sum((Counter(each.statuses) for each in total), Counter()) for total in totals]
    statuses = [
        {status: number / each.total() for status, number in sorted(each.items())}
        for each in counts
    ]
    per_run = [max(each.measurement.figures.attempts for each in arm) for arm in arms]
    # Failed requests have other statuses and sizes, or none.
    within = _EQUAL_WITHIN + max(map(_failed_share, totals))
    is_close = max(sizes) - min(sizes) <= within * max(sizes)
    return [
        Likeness(HOSTS, tuple(_host_texts(arms, hosts)), len(set(hosts)) == 1),
        Likeness("reply", tuple(f"{size:,.0f} B" for size in sizes), is_close),
        Likeness(
            "status",
            tuple(
                f"{next(iter(shares))} only"
                if len(shares) == 1
                else ", ".join(f"{status} {percent(share)}" for status, share in shares.items())
                or "none"
                for shares in statuses
            ),
            all(
                abs(statuses[0].get(status, 0.0) - each.get(status, 0.0)) <= within
                for each in statuses
                for status in {*statuses[0], *each}
            ),
        ),
        Likeness("requests a run", tuple(map(count, per_run)), max(per_run) <= 2 * min(per_run)),
    ]


def _sort_in(facts: dict, kind: str, name: str, values: Sequence[str], agree: bool) -> None:
    if agree:
        text = values[0] if values[0] == values[1] else f"{values[0]} and {values[1]}"
        facts[kind].append([name, text])
    else:
        facts["different"].append([name, *values])


def _host_texts(arms: Sequence[Sequence[ArmRun]], hosts: Sequence[str]) -> Sequence[str]:
    may_see = all(each.shows_machine for arm in arms for each in arm)
    return hosts if may_see else ["not shown"] * len(hosts)


def texts_of(values: Iterable[str | None]) -> str:
    """Each once, in order."""
    return ", ".join(sorted(set(filter(None, values))))


def _host(each: ArmRun) -> str:
    """The addresses actually connected to, or the endpoint's host if none is known."""
    hosts = texts_of(peer.rpartition(":")[0] for peer in peers_of(each.measurement.ends))
    return hosts or each.frozen.endpoint.host


def _content_bytes(totals: Sequence[Total]) -> float:
    """A reply's bytes without head and framing, which each server words in its own way."""
    replies = sum(each.count("ok") + each.count("failed") for each in totals)
    whole, head, framing = (
        sum(each.count(name) for each in totals)
        for name in ("bytes_received", "head_received", "framing_received")
    )
    return (whole - head - framing) / replies if replies else 0.0


def _failed_share(totals: Sequence[Total]) -> float:
    n_failed = sum(each.count("failed") for each in totals)
    return n_failed / max(1, n_failed + sum(each.count("ok") for each in totals))


@dataclass(frozen=True, slots=True)
class PlanOnArm:
    """What identifies a test from one campaign to the next; plan, endpoint and target by id.

    `swept`: the number of the plan that it is one point of a sweep of, "" if of none. `number`:
    what its runs have of any such number.
    """

    plan: int
    version: int
    plan_name: str
    endpoint: int
    target: int
    scheme: str
    connection_mode: str
    injectors: int
    tls_profile: str = ""
    swept: str = ""
    number: Callable[[str], float | None] = field(default=lambda _: None, compare=False)


def partners(
    baseline: Sequence[PlanOnArm], candidate: Sequence[PlanOnArm]
) -> list[tuple[int, int]]:
    """The pairs as (index in baseline, index in candidate), in the order of the candidate.

    Closest first, each test once: the same version of the plan before another version before
    another plan of the same name; then the same endpoint before the same target before another
    target, and of either with the same TLS profile first. Scheme, connection mode, number of
    injectors and what either sweeps must be equal.
    """
    of_baseline: set[int] = set()
    pairs: dict[int, int] = {}
    candidates = [
        (distance, second, first)
        for second, theirs in enumerate(candidate)
        for first, ours in enumerate(baseline)
        if (distance := _distance(ours, theirs)) is not None
    ]
    for _, second, first in sorted(candidates):
        if first not in of_baseline and second not in pairs:
            of_baseline.add(first)
            pairs[second] = first
    return [(pairs[second], second) for second in sorted(pairs)]


def _distance(first: PlanOnArm, second: PlanOnArm) -> tuple[int, int] | None:
    """How far apart the plans are and how far the arms; None for tests that have no relation."""
    if any(
        getattr(first, name) != getattr(second, name)
        for name in ("scheme", "connection_mode", "injectors")
    ):
        return None
    swept = filter(None, (first.swept, second.swept))
    if any(first.number(each) != second.number(each) for each in swept):
        return None
    plan = _first_true(
        (first.plan, first.version) == (second.plan, second.version),
        first.plan == second.plan,
        first.plan_name == second.plan_name,
    )
    if plan is None:
        return None
    same_target = first.target == second.target
    same_profile = first.tls_profile == second.tls_profile
    arm = _first_true(
        first.endpoint == second.endpoint,
        same_target and same_profile,
        same_target,
        same_profile,
        True,
    )
    return plan, arm


def _first_true(*answers: bool) -> int | None:
    return next((index for index, answer in enumerate(answers) if answer), None)
