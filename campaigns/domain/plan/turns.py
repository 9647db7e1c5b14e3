"""How several arms of a plan take turns, in each injector process alike, and which loads can.

The order of a campaign's runs.

Repeats are blocks: each block runs every test once, so that a drift over hours (heat, a neighbour's
load, a growing table) affects all tests alike instead of only the last. Blocks are
counterbalanced: every second one is the reverse of its predecessor, so that a steady drift cancels
out of every comparison; and over the blocks of a whole square each test is at every place, and
directly after every other test, equally often (Williams 1949)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any, NamedTuple, Self

import numpy as np

from campaigns.domain.plan.exchange import Exchange, ExchangeMode
from campaigns.domain.plan.load import (
    Load,
    Model,
    Stage,
    mean_rate_per_s,
    peak_rate_per_s,
    planned_duration_s,
)
from campaigns.domain.plan.load_rules import smallest_share
from campaigns.domain.plan.plan import Plan, Resolve
from campaigns.domain.plan.session import HttpVersion, ThinkKind, calls_per_arrival, makes_visits
from campaigns.domain.units import duration

MOST_ARMS = 16
LIMIT_S, LEAST_S_OF_AN_ARM = 60.0, 10.0
LONGEST_LIMIT_S = 3600
TRIAL_S, LONGEST_TRIAL_S = 3.0, 60.0  # before the first round
PRACTICAL = 0.05  # a smaller difference makes none in practice
MOST_USUAL_S = 300.0
_UNDER_WAY = 2  # rounds that a look leaves out
FEWEST_ROUNDS = 16  # before the first look at what they say
REQUESTS_OF_A_TURN, SHORTEST_TURN_S = 10, 0.1  # of each injector process
SHORTEST_OF_HOSTS_S = 0.5  # where processes of several hosts have the same turns
# Of one WebSocket that is opened and closed in a turn; a longer one stays open.
MOST_MESSAGES, LONGEST_TALK_S = 100, 0.1
MOST_CALLS = 20  # of one arrival, in such a turn
# Of an arm on a watched machine, after the turns: runs by itself, and how long one measures.
ALONE_RUNS, ALONE_S = 3, 6.0


@dataclass(frozen=True, slots=True)
class TurnsOrder:
    """`seed` draws the order of each round. `limit_s` of measuring, all arms together; it ends
    before where `until_settled` and all `pairs` are settled: (arm, reference), by number. No
    pairs: each arm with the first. `slice_s`: None lets the trial choose. `may_lower_rate`: else
    an arm that does not keep up has a direction only.
    """

    seed: int = 0
    limit_s: float = LIMIT_S
    until_settled: bool = True
    slice_s: float | None = None
    may_lower_rate: bool = True
    threshold: float = PRACTICAL
    pairs: Sequence[tuple[int, int]] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any], n_arms: int = MOST_ARMS) -> Self:
        """Raises ValueError, TypeError."""
        turns = cls(**{name: data[name] for name in cls.__slots__ if data.get(name) is not None})
        pairs = tuple((arm, reference) for arm, reference in turns.pairs)
        if not 1 <= float(turns.limit_s) <= LONGEST_LIMIT_S:
            raise ValueError(
                f"turns.limit_s must be from 1 to {LONGEST_LIMIT_S}, not {turns.limit_s}"
            )
        if turns.slice_s is not None and not 0.05 <= float(turns.slice_s) <= 10:
            raise ValueError(f"turns.slice_s must be from 0.05 to 10, not {turns.slice_s}")
        if not 0 < float(turns.threshold) < 1:
            raise ValueError(f"turns.threshold must be between 0 and 1, not {turns.threshold}")
        if any(arm == other or {arm, other} - {*range(n_arms)} for arm, other in pairs):
            raise ValueError("turns.pairs must be pairs of numbers of two arms")
        return replace(turns, pairs=pairs)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def compared(self, n_arms: int) -> Sequence[tuple[int, int]]:
        """(arm, reference) of each comparison."""
        return self.pairs or [(arm, 0) for arm in range(1, n_arms)]


def why_not_in_turns(plan: Plan) -> str:
    """Why a plan cannot be sent in short turns; "" where it can."""
    load = plan.load
    if load.model == Model.WINDOW:
        return "A window cannot be cut into turns."
    if messages_take_turns(plan) and (why := _why_not_messages(plan.exchange, load)):
        return why
    if load.only_rises:
        return "A load that only rises looks for the limit. It needs whole runs of one arm."
    if load.ramp_up_s:
        return "Turns begin with all connections. A ramp-up needs whole runs of one arm."
    if load.start_offset_s:
        return "Turns begin in all processes at once. Staggered ones need whole runs of one arm."
    if plan.resolve == Resolve.ALL_ADDRESSES:
        return "Over all addresses of a name, arms with few connections may go to different ones."
    session = plan.longest_session
    if session.pipeline_depth > 1:
        return "Pipelining cannot be cut into turns."
    if has_pauses(plan) and (why := _why_not_pauses(plan)):
        return why
    if session.calls_per_session is not None and not makes_visits(load, session):
        return "Sessions on open connections cannot be cut into turns. Let sessions arrive."
    if calls_per_arrival(load, session) > MOST_CALLS:
        return f"More than {MOST_CALLS} requests of an arrival cannot be cut into turns."
    is_shared = plan.streams > 1 or (session.connections_per_session or 1) > 1
    if makes_visits(load, session) and (is_shared or session.retry_on_failure):
        return "Sessions that retry, or send several requests at once, cannot be cut into turns."
    return ""


def messages_take_turns(plan: Plan) -> bool:
    """Whether connections are too long for a turn, so that they stay open and their messages take
    turns."""
    exchange = plan.exchange
    if exchange is None:
        return False
    n_messages = exchange.n_messages
    talk_s = n_messages / exchange.rate_per_s if exchange.rate_per_s else 0.0
    return n_messages > MOST_MESSAGES or talk_s + exchange.waits_s > LONGEST_TALK_S


@dataclass(frozen=True, slots=True)
class MessagePlan(Plan):
    """A plan whose messages take turns."""

    nouns = "messages"


def has_pauses(plan: Plan) -> bool:
    return plan.longest_session.think_time.kind != ThinkKind.NONE


def paced_per_s(plan: Plan) -> float | None:
    """The most messages or requests that connections of a closed load send, all together, by their
    rate or pauses; None where only replies decide."""
    each_per_s = None
    if messages_take_turns(plan):
        each_per_s = plan.exchange.rate_per_s
    elif has_pauses(plan) and (mean_s := plan.longest_session.think_time.mean_pause_s):
        each_per_s = plan.longest_session.burst_length / mean_s
    return each_per_s and each_per_s * (plan.load.connections or 1)


def _why_not_pauses(plan: Plan) -> str:
    if plan.load.model not in {Model.CLOSED, Model.SEQUENTIAL}:
        return "Pauses of sessions that arrive cannot be cut into turns."
    if plan.http_version == HttpVersion.HTTP_2:
        return "Pauses on HTTP/2 cannot be cut into turns."
    is_drawn = plan.longest_session.think_time.kind != ThinkKind.CONSTANT
    if not is_drawn and (plan.load.connections or 1) > 1:
        return (
            "Users with equal pauses meet again and again. Draw the pauses, or use one connection."
        )
    return ""


def _why_not_messages(exchange: Exchange, load: Load) -> str:
    if load.model not in {Model.CLOSED, Model.SEQUENTIAL}:
        return (
            f"Connections that arrive and have more than {MOST_MESSAGES} messages, or messages for "
            f"more than {LONGEST_TALK_S:g} s, cannot be cut into turns. Keep connections open."
        )
    if not exchange.n_messages:
        return f"A scenario that waits for more than {LONGEST_TALK_S:g} s cannot be cut into turns."
    if exchange.mode == ExchangeMode.SEND_ONLY:
        return "Messages without replies have no round trip that turns could compare."
    return ""


class ArmsOfPlan(NamedTuple):
    """The arms of a campaign that send the same plan."""

    label: str
    plan: Plan
    n_arms: int
    injectors: int = 1


def slowest_share(load: Load) -> float:
    """The mean rate of the slowest stage that sends anything, as a share of the highest rate."""
    means = [(each.from_per_s + each.to_per_s) / 2 for each in load.stages]
    return min((mean / peak_rate_per_s(load) for mean in means if mean), default=1.0)


def turn_s(plan: Plan, injectors: int = 1) -> float:
    """How long a turn is at least, on one host."""
    load = plan.load
    peak_per_s = paced_per_s(plan) or peak_rate_per_s(load) or 0.0
    rate_per_s = peak_per_s * slowest_share(load) * smallest_share(load.shares, injectors)
    return max(SHORTEST_TURN_S, REQUESTS_OF_A_TURN / rate_per_s if rate_per_s else 0.0)


def turns_limit_s(
    plan: Plan, n_arms: int, asked_s: float | None = None, injectors: int = 1
) -> float:
    """How long so many arms are measured together: by default a minute, 10 s an arm, or as long as
    the first look takes at a low rate, but then not for more than MOST_USUAL_S. Stages take as long
    as they take, with pauses as long as the turns."""
    if plan.load.stages:
        return 2 * n_arms * planned_duration_s(plan.load)
    looked_s = (FEWEST_ROUNDS + _UNDER_WAY) * n_arms * turn_s(plan, injectors)
    usual_s = max(LIMIT_S, LEAST_S_OF_AN_ARM * n_arms)
    return asked_s or max(usual_s, min(looked_s, MOST_USUAL_S))


def why_not_side_by_side(groups: Sequence[ArmsOfPlan], limit_s: float | None = None) -> str:
    """Why these are not measured side by side; "" where they are."""
    for label, plan, n_arms, injectors in groups:
        if why := why_not_in_turns(plan):
            return why if len(groups) == 1 else f"{label}: {why}"
        if n_arms < 2:
            return f"Side by side compares arms of a plan, and {label} has one arm."
        if n_arms > MOST_ARMS:
            return f"At most {MOST_ARMS} arms take turns, and {label} has {n_arms}."
        round_s = n_arms * turn_s(plan, injectors)
        most_s = turns_limit_s(plan, n_arms, limit_s, injectors)
        if plan.load.stages and most_s > LONGEST_LIMIT_S:
            return (
                f"The stages of {n_arms} arms may take {duration(most_s)}. Together arms are "
                f"measured for {duration(LONGEST_LIMIT_S)} at most."
            )
        if FEWEST_ROUNDS * round_s > (most_s / 2 if plan.load.stages else most_s):
            return f"A round takes {duration(round_s)}. An answer takes {FEWEST_ROUNDS} rounds."
    return ""


def pace_of_all(
    paces: Sequence[Mapping[str, Any]], clock_error_s: float | None = None
) -> dict[str, Any]:
    """What all injector processes of a run keep up with, of the paces that each has found.
    `clock_error_s`: the largest of the hosts, where they are several: turns of two may be twice as
    far apart."""
    slice_s, gap_s = (max(each[name] for each in paces) for name in ("slice_s", "gap_s"))
    if clock_error_s is not None:
        slice_s = max(slice_s, SHORTEST_OF_HOSTS_S)
        gap_s = max(gap_s, ceil(200 * clock_error_s) / 100)
    common = {name: each for name, each in paces[0].items() if name != "clock_error_us"}
    return {
        **common,
        "slice_s": slice_s,
        "gap_s": gap_s,
        "rate_per_s": min(each["rate_per_s"] or 0.0 for each in paces) or None,
        "keeps_up": all(each["keeps_up"] for each in paces),
        "connections": list(map(sum, zip(*(each["connections"] for each in paces), strict=True))),
    }


def plan_in_turns(plan: Plan, n_arms: int, limit_s: float) -> Plan:
    """What an arm sends: the limit of all arms replaces the duration of a plan that has one."""
    load = plan.load
    if load.model == Model.OVER:
        load = load_at_rate(load, mean_rate_per_s(load))
    elif load.duration_s is None:
        return plan
    return replace(plan, load=replace(load, duration_s=limit_s / n_arms, requests=None))


def plan_alone(plan: Plan) -> Plan:
    """What an arm sends by itself, long enough to tell whose CPU it was. Only the rules about the
    machine judge it."""
    load, rules = plan.load, tuple(each for each in plan.thresholds if each.is_of_machine)
    planned_s = planned_duration_s(load)
    if load.requests and load.model != Model.OVER and planned_s and planned_s > ALONE_S:
        requests = ceil(load.requests * ALONE_S / planned_s)
        return replace(plan, thresholds=rules, load=replace(load, requests=requests))
    shorter = plan_in_turns(plan, 1, min(ALONE_S, planned_s or ALONE_S))
    return replace(shorter, thresholds=rules)


def load_at_rate(load: Load, rate_per_s: float) -> Load:
    """An open load with this rate, of stages the highest; other stages and drawn gaps keep their
    proportions."""
    load = replace(load, model=Model.OPEN, over_s=None)
    if load.stages:
        factor = rate_per_s / peak_rate_per_s(load)
        stages = (
            Stage(each.duration_s, each.from_per_s * factor, each.to_per_s * factor)
            for each in load.stages
        )
        return replace(load, stages=tuple(stages))
    if load.mean_gap_s is None:
        return replace(load, rate_per_s=rate_per_s)
    factor = 1 / (rate_per_s * load.mean_gap_s)
    gaps_s = factor * load.uniform_min_s, factor * load.uniform_max_s
    return replace(load, uniform_min_s=gaps_s[0], uniform_max_s=gaps_s[1])


def plan_at_pace(plan: Plan, pace: Mapping[str, Any]) -> Plan:
    """The plan as it was sent: at the rate that the trial has found, until all was settled."""
    load, rate_per_s = plan.load, pace.get("rate_per_s")
    if rate_per_s and messages_take_turns(plan):
        each_per_s = rate_per_s / (load.connections or 1)
        plan = replace(plan, exchange=replace(plan.exchange, rate_per_s=each_per_s))
    elif rate_per_s and load.model == Model.OPEN:
        load = load_at_rate(load, rate_per_s)
    if pace.get("measured_s") and not load.stages:
        load = replace(load, duration_s=pace["measured_s"], requests=None)
        if load.mean_gap_s:
            requests = max(1, round(load.duration_s / load.mean_gap_s))
            load = replace(load, duration_s=None, requests=requests)
    return replace(plan, load=load)


USUAL_BLOCKS = 5


@dataclass(frozen=True, slots=True)
class Turn:
    """One place in the order: `position` and `repeat` count from 1, `test` from 0."""

    position: int
    repeat: int
    test: int


def order_of_runs(n_tests: int, repeats: int, *, is_random: bool, seed: int) -> list[Turn]:
    """The turns of all runs: blocks in an order drawn from `seed`, or each as listed."""
    blocks = _balanced_blocks(n_tests, np.random.default_rng(seed)) if is_random else None
    turns: list[Turn] = []
    for repeat in range(1, repeats + 1):
        block = next(blocks) if blocks else range(n_tests)
        turns += [Turn(len(turns) + 1 + n, repeat, int(test)) for n, test in enumerate(block)]
    return turns


def _balanced_blocks(n: int, source: np.random.Generator) -> Iterator[np.ndarray]:
    """Blocks without end: the rows of a Williams square, each followed by its reverse, then the
    same with every block reversed: AB BA, BA AB.

    So curved drifts cancel too, and the correlated noise of neighbouring runs does not add up. The
    assignment of tests, the order of the rows and their direction are drawn again for every two
    squares.
    """
    while True:
        tests = source.permutation(n)
        # How many rows with their reverses make a square; of an even number, row + n / 2
        # is one.
        rows = [
            tests[(_zigzag(n) + row) % n] for row in source.permutation(n // 2 if n % 2 == 0 else n)
        ]
        rows = [row[::-1] if source.integers(2) else row for row in rows]
        for row in rows:
            yield row
            yield row[::-1]
        for row in rows:
            yield row[::-1]
            yield row


def _zigzag(n: int) -> np.ndarray:
    """0, n − 1, 1, n − 2, …: a row of which every shift modulo n is one of a Williams square."""
    places = np.arange(n)
    return np.where(places % 2, -(places + 1) // 2, places // 2) % n
