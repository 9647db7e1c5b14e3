"""Estimates a campaign's cost: time, requests, ports, the highest percentile; and how long a run
may take before the dispatcher stops it: no run is endless, whatever answers.

Pure arithmetic on domain plans. What only the target decides (how long 1,000 requests of a closed
loop take) is excluded from the sums and counted separately, never guessed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Annotated, Any

from campaigns.domain.percentiles import HighestPercentile, highest_percentile
from campaigns.domain.plan.exchange import longest_attempt_s
from campaigns.domain.plan.flows import mean_steps, sessions_of
from campaigns.domain.plan.load import (
    MAX_DURATION_S,
    ArrivalUnit,
    Hold,
    Load,
    Model,
    longest_duration_s,
    peak_rate_per_s,
    planned_arrivals,
    planned_duration_s,
)
from campaigns.domain.plan.load_rules import largest_share
from campaigns.domain.plan.plan import (
    REFERENCE_MODE,
    REFERENCE_PLAN,
    ConnectionMode,
    Plan,
    Timeouts,
)
from campaigns.domain.plan.session import (
    PLAIN_SESSION,
    Session,
    connections_per_arrival,
    longest_visit_s,
)
from campaigns.domain.plan.turns import (
    ALONE_RUNS,
    LONGEST_TRIAL_S,
    TRIAL_S,
    plan_alone,
    plan_in_turns,
    turn_s,
    turns_limit_s,
)

# From one run's end to the next run's first request: claim, resolve, barrier, summary.
SET_UP_S = 2.0
# Linux keeps a closed connection's port for a minute; its range has this many by default.
TIME_WAIT_S = 60.0
LOCAL_PORTS = 28_232
# An injector's open files besides its connections: pipes, libraries, the resolver.
OWN_DESCRIPTORS = 64
_USUAL_ROUNDS = 54  # until two arms that are alike are called so: the median of quiet campaigns
_OWN = ((REFERENCE_PLAN, REFERENCE_MODE, 1),)


@dataclass(frozen=True, slots=True)
class TestEstimate:
    """One run of one test. None: only the target decides."""

    __test__ = False  # pytest: not a test case

    requests: int | None  # about, of flows with different numbers of steps
    duration_s: float | None  # warm-up included
    ports: int | None
    descriptors: int | None
    rows: int  # stored rows, one per second, injector and step
    sessions: Mapping[str, int] = field(default_factory=dict)  # about, of each flow


@dataclass(frozen=True, slots=True)
class Estimate:
    """The whole campaign; sums exclude what only the target decides."""

    n_tests: int
    repeats: int
    duration_s: Annotated[float, "Side by side: at most."]
    runs_of_unknown_duration: int
    requests: int
    nouns: Annotated[str, "What `requests` counts: requests or connections."]
    runs_of_unknown_requests: int
    fewest_in_a_run: int | None
    most_in_a_run: int | None
    highest_of_a_run: HighestPercentile | None
    highest_pooled: HighestPercentile | None
    ports: Annotated[int | None, "Most per injector process."]
    descriptors: int | None
    rows: Annotated[int, "Seconds that will be stored."]
    has_reference: bool = False  # it counts in sums, not in what a run has
    settled_s: Annotated[float | None, "Side by side: where nothing disturbs; null in blocks."] = (
        None
    )
    n_alone: int = 0  # runs of single arms after the turns, for what their machine does
    sessions: Annotated[Mapping[str, int], "Of each flow by its name, about."] = field(
        default_factory=dict
    )

    @property
    def n_runs(self) -> int:
        """With those of the reference."""
        return (self.n_tests + self.has_reference) * self.repeats + self.n_alone


def estimate_campaign(
    tests: Sequence[tuple[Plan, ConnectionMode, int]],
    *,
    repeats: int,
    pause_s: float,
    has_reference: bool = False,
) -> Estimate:
    """The estimate for these tests (plan, connection mode and injectors each), `repeats` runs of
    each, and of the installation's own target."""
    if has_reference and tests:
        estimates, own = (
            estimate_campaign(each, repeats=repeats, pause_s=pause_s) for each in (tests, _OWN)
        )
        return replace(
            estimates,
            has_reference=True,
            duration_s=estimates.duration_s + own.duration_s + pause_s,
            requests=estimates.requests + own.requests,
            rows=estimates.rows + own.rows,
        )
    each = [
        estimate_test(plan.for_injectors(injectors), mode, pause_s, injectors)
        for plan, mode, injectors in tests
    ]
    known_s = sum(test.duration_s or 0.0 for test in each)
    counts = [test.requests for test in each if test.requests is not None]
    nouns = {plan.nouns for plan, _, _ in tests}
    n_runs = len(each) * repeats
    waits_s = n_runs * SET_UP_S + max(0, n_runs - 1) * pause_s
    return Estimate(
        n_tests=len(each),
        repeats=repeats,
        duration_s=known_s * repeats + waits_s,
        runs_of_unknown_duration=repeats * sum(test.duration_s is None for test in each),
        requests=sum(counts) * repeats,
        nouns=nouns.pop() if len(nouns) == 1 else "requests",
        runs_of_unknown_requests=repeats * (len(each) - len(counts)),
        fewest_in_a_run=min(counts, default=None),
        most_in_a_run=max(counts, default=None),
        highest_of_a_run=highest_percentile(min(counts)) if counts else None,
        highest_pooled=highest_percentile(min(counts) * repeats) if counts else None,
        ports=_most(test.ports for test in each),
        descriptors=_most(test.descriptors for test in each),
        rows=sum(test.rows for test in each) * repeats,
        sessions=sum((Counter(test.sessions) for test in each * repeats), Counter()),
    )


def estimate_side_by_side(
    groups: Sequence[Sequence[tuple[Plan, ConnectionMode, int]]],
    *,
    repeats: int,
    pause_s: float,
    limit_s: float | None,
    until_settled: bool,
    has_reference: bool = False,
    watched: Sequence[tuple[Plan, ConnectionMode, int]] = (),
) -> Estimate:
    """The estimate where the tests of each group take turns: at most as long as they may. Those
    whose machine is `watched` are sent alone as well."""
    limits_s = [turns_limit_s(each[0][0], len(each), limit_s, each[0][2]) for each in groups]
    tests = [
        (plan_in_turns(plan, len(group), longest_s), mode, injectors)
        for group, longest_s in zip(groups, limits_s, strict=True)
        for plan, mode, injectors in group
    ]
    values = {"repeats": repeats, "pause_s": pause_s, "has_reference": has_reference}
    estimate = estimate_campaign(tests, **values)
    n_passes = (len(groups) + has_reference) * repeats
    waits_s = n_passes * (SET_UP_S + TRIAL_S) + max(0, n_passes - 1) * pause_s
    settled_s = sum(
        _usual_s(group, longest_s, until_settled=until_settled)
        for group, longest_s in zip(groups, limits_s, strict=True)
    )
    alone = estimate_campaign(
        [(plan_alone(plan), mode, injectors) for plan, mode, injectors in watched],
        repeats=ALONE_RUNS,
        pause_s=pause_s,
    )
    return replace(
        estimate,
        duration_s=sum(limits_s) * repeats + waits_s + alone.duration_s,
        settled_s=settled_s * repeats + waits_s + alone.duration_s,
        runs_of_unknown_duration=alone.runs_of_unknown_duration,
        requests=estimate.requests + alone.requests,
        rows=estimate.rows + alone.rows,
        n_alone=alone.n_runs,
    )


def _usual_s(
    group: Sequence[tuple[Plan, ConnectionMode, int]], longest_s: float, *, until_settled: bool
) -> float:
    """What these arms take in turns, where nothing disturbs."""
    (plan, _, injectors), n_arms = group[0], len(group)
    if plan.load.stages:
        return n_arms * planned_duration_s(plan.load)
    settled_s = _USUAL_ROUNDS * n_arms * turn_s(plan, injectors)
    return min(longest_s, settled_s) if until_settled else longest_s


def estimate_test(plan: Plan, mode: ConnectionMode, pause_s: float, injectors: int) -> TestEstimate:
    """One run of this plan in this connection mode, its load shared by `injectors`."""
    measured_s = planned_duration_s(plan.load)
    duration_s = None if measured_s is None else measured_s + plan.warm_up_s
    arrivals = planned_arrivals(plan.load)
    in_flight = _most_in_flight(plan, arrivals, injectors)
    sessions = sessions_by_flow(plan, arrivals)
    requests = plan.planned_requests
    if requests is None and sessions:
        requests = round(arrivals * plan.calls_per_arrival)
    return TestEstimate(
        requests=requests,
        duration_s=duration_s,
        ports=_ports(plan, mode, arrivals, duration_s, pause_s, injectors, in_flight),
        descriptors=in_flight + OWN_DESCRIPTORS,
        rows=ceil(duration_s or 0) * len(plan.labels) * injectors,
        sessions=sessions,
    )


def sessions_by_flow(plan: Plan, arrivals: int | None) -> dict[str, int]:
    """About how many; {} without flows, and where only the target decides."""
    if not plan.flows or arrivals is None:
        return {}
    is_arriving = plan.load.arrival_unit == ArrivalUnit.SESSION
    n_sessions = arrivals if is_arriving else arrivals / mean_steps(plan.flows)
    each = sessions_of(plan.flows, n_sessions)
    return {flow.name: round(n) for flow, n in zip(plan.flows, each, strict=True)}


def _most_in_flight(plan: Plan, arrivals: int | None, injectors: int) -> int:
    """Connections in the worst case of one injector: a target that never answers."""
    load, share = plan.load, largest_share(plan.load, injectors)
    if load.model == Model.SEQUENTIAL:
        return 1
    if load.model == Model.CLOSED:
        return ceil((load.connections or 1) * share)
    if load.model == Model.WINDOW:
        n_held = (arrivals or 0) * share if load.hold == Hold.KEEP_UNTIL_ALL else 0
        return max(load.high, ceil(n_held))
    # Sessions stay in flight during their think time, even if every call is answered.
    stays_s = max(plan.timeouts.total_s, longest_visit_s(load, plan.longest_session, 0))
    waiting = ceil((peak_rate_per_s(load) or 0) * stays_s)
    most = min(load.max_in_flight, waiting, arrivals or waiting)
    return max(1, ceil(most * share)) * (plan.session.connections_per_session or 1)


def _ports(
    plan: Plan,
    mode: ConnectionMode,
    arrivals: int | None,
    duration_s: float | None,
    pause_s: float,
    injectors: int,
    in_flight: int,
) -> int | None:
    """One injector's simultaneous local ports: a closed connection holds its port for a minute."""
    load, is_kept = plan.load, mode == ConnectionMode.KEEP_ALIVE
    is_new_each = load.model == Model.WINDOW or load.arrival_unit != ArrivalUnit.REQUEST
    if is_kept and not is_new_each:
        return in_flight
    rate_per_s = peak_rate_per_s(load)
    if rate_per_s is not None:
        in_a_minute = rate_per_s * min(TIME_WAIT_S, duration_s or TIME_WAIT_S)
        if load.stages:
            in_a_minute = min(in_a_minute, arrivals)
    elif arrivals is not None:
        in_a_minute = arrivals
    else:
        return None
    in_a_minute *= connections_per_arrival(load, plan.longest_session, is_kept=is_kept)
    # Short runs follow one another within the minute.
    cycle_s = (duration_s or TIME_WAIT_S) + pause_s + SET_UP_S
    in_all = in_a_minute * max(1, int(TIME_WAIT_S // cycle_s))
    return ceil(in_all * largest_share(load, injectors))


def _most(values) -> int | None:
    return max((value for value in values if value is not None), default=None)


OVERRUN_GRACE_S = 30.0


def longest_run_s(
    load: Load,
    timeouts: Timeouts,
    warm_up_s: float,
    injectors: int = 1,
    exchange: Mapping[str, Any] | None = None,
    session: Session = PLAIN_SESSION,
    turns_s: float | None = None,
) -> float:
    """Seconds after the start at which a run is stopped as an overrun. `turns_s`: the limit of all
    arms where it is one of those side by side, whose trial comes first.

    The plan's own duration where it has one. A closed plan that ends after N requests over C
    connections has none: the slowest target that still answers within the limits keeps it busy for
    ⌈N / C⌉ × the total timeout (and a pause) after its ramp-up and start offsets, at most the
    longest duration that a plan may have. To either come the warm-up, one total timeout for what is
    in flight at the end, and 30 s of grace. The attempts of an exchange (as stored) may be longer
    than that; so may an arriving session, or a connection with several calls, which is in flight
    with all of its calls and pauses.
    """
    visit_s = longest_visit_s(load, session, timeouts.total_s)
    attempt_s = min(max(longest_attempt_s(exchange, timeouts.total_s), visit_s), MAX_DURATION_S)
    sending_s = longest_duration_s(load) if turns_s is None else LONGEST_TRIAL_S + turns_s
    if sending_s is None:
        rounds = ceil((load.requests or 1) / (load.connections or load.high or 1))
        pause_s = 0.0 if load.model == Model.WINDOW else session.think_time.longest_s
        sending_s = load.ramp_up_s + rounds * (attempt_s + pause_s)
        sending_s += load.start_offset_s * (injectors - 1)
        sending_s = min(sending_s, MAX_DURATION_S)
    return warm_up_s + sending_s + (load.hold_s or 0) + attempt_s + OVERRUN_GRACE_S
