"""The order to measure several arms side by side: protocol 2."""

from dataclasses import dataclass
from typing import Any, Self

from campaigns.domain.analysis.side_by_side import PRACTICAL
from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.load import ArrivalUnit, Distribution, Load, Model
from campaigns.domain.plan.plan import Plan
from workers.injector.order import PROTOCOL, Order, Refusal
from workers.injector.users import is_plain

PROTOCOL_OF_ARMS = 2
MOST_ARMS = 16
LIMIT_S = 60.0
_OF_THE_RUN = ("run", "policy", "seed")
_INSTEAD = "Measure the targets one after the other instead."


@dataclass(frozen=True, slots=True)
class TurnsOrder:
    """How the arms take turns. `seed` draws the order of each round. `limit_s` of measuring, all
    arms together; it ends before where `until_settled` and all is settled. `slice_s`: None lets the
    trial choose. `may_lower_rate`: else an arm that does not keep up has a direction only.
    """

    seed: int = 0
    limit_s: float = LIMIT_S
    until_settled: bool = True
    slice_s: float | None = None
    may_lower_rate: bool = True
    threshold: float = PRACTICAL
    reference: int = 0

    @classmethod
    def from_json(cls, data: dict[str, Any], n_arms: int) -> Self:
        """Raises ValueError, TypeError."""
        turns = cls(**{name: data[name] for name in cls.__slots__ if data.get(name) is not None})
        if not 1 <= float(turns.limit_s) <= 3600:
            raise ValueError(f"turns.limit_s must be from 1 to 3600, not {turns.limit_s}")
        if turns.slice_s is not None and not 0.05 <= float(turns.slice_s) <= 10:
            raise ValueError(f"turns.slice_s must be from 0.05 to 10, not {turns.slice_s}")
        if not 0 < float(turns.threshold) < 1:
            raise ValueError(f"turns.threshold must be between 0 and 1, not {turns.threshold}")
        if turns.reference not in range(n_arms):
            raise ValueError(f"turns.reference must be the number of an arm, not {turns.reference}")
        return turns


@dataclass(frozen=True, slots=True)
class ArmsOrder:
    """`arms` are orders as for an arm alone, all with the same load."""

    arms: tuple[Order, ...]
    turns: TurnsOrder
    dead_man_s: float | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Raises Refusal("bad_order")."""
        arms = data.get("arms")
        if not isinstance(arms, list) or not 2 <= len(arms) <= MOST_ARMS:
            raise Refusal("bad_order", f"The order needs from 2 to {MOST_ARMS} 'arms'.")
        if not all(isinstance(arm, dict) for arm in arms):
            raise Refusal("bad_order", "Each arm must be a JSON object.")
        if (data.get("shard") or {}).get("count", 1) != 1:
            raise Refusal("bad_order", "Side by side is one injector process: leave out 'shard'.")
        common = {name: data[name] for name in _OF_THE_RUN if name in data}
        dead_man = {"dead_man_s": data.get("dead_man_s"), "protocol": PROTOCOL}
        orders = tuple(Order.from_json({**arm, **common, **dead_man}) for arm in arms)
        for number, order in enumerate(orders):
            if reason := why_not_in_turns(order.plan):
                raise Refusal("bad_order", f"Arm {number}: {reason}")
        if any(order.plan.load != orders[0].plan.load for order in orders):
            raise Refusal("bad_order", "All arms need the same load to be measured side by side.")
        try:
            turns = TurnsOrder.from_json(data.get("turns") or {}, len(arms))
        except (TypeError, ValueError, AttributeError) as error:
            raise Refusal("bad_order", f"The order cannot be read: {error}") from None
        return cls(orders, turns, orders[0].dead_man_s)


def why_not_in_turns(plan: Plan) -> str:
    """Why a plan cannot be sent in short turns, and what to do; "" where it can."""
    load: Load = plan.load
    if plan.exchange is not None:
        return f"WebSockets cannot be measured side by side yet. {_INSTEAD}"
    if plan.http_version == HttpVersion.HTTP_2:
        return "HTTP/2 cannot be measured side by side yet. Use HTTP/1.1 for all arms."
    if load.model == Model.WINDOW:
        return f"A window cannot be cut into turns. Use a rate or a closed load. {_INSTEAD}"
    if load.stages:
        return "Stages cannot be cut into turns. Use one rate."
    if load.distribution == Distribution.UNIFORM:
        return "Random gaps cannot be cut into turns. Use a rate, even or exponential."
    if load.arrival_unit != ArrivalUnit.REQUEST:
        return "Only requests can arrive side by side. Use a rate of requests."
    if load.ramp_up_s or load.start_offset_s:
        return "All arms begin at once. Leave out ramp-up and start offset."
    if not is_plain(plan):
        return (
            "Sessions, pauses, pipelining and variables cannot be cut into turns. Use plain "
            "requests."
        )
    return ""
