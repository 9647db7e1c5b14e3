"""The order to measure several arms side by side: protocol 2."""

from dataclasses import dataclass
from typing import Any, Self

from campaigns.domain.plan.turns import MOST_ARMS, TurnsOrder, why_not_in_turns
from workers.injector.order import PROTOCOL, Order, Refusal

PROTOCOL_OF_ARMS = 2
_OF_THE_RUN = ("run", "policy", "seed")


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
                instead = "Measure the arms one after the other instead."
                raise Refusal("bad_order", f"Arm {number}: {reason} {instead}")
        if any(order.plan.load != orders[0].plan.load for order in orders):
            raise Refusal("bad_order", "All arms need the same load to be measured side by side.")
        try:
            turns = TurnsOrder.from_json(data.get("turns") or {}, len(arms))
        except (TypeError, ValueError, AttributeError) as error:
            raise Refusal("bad_order", f"The order cannot be read: {error}") from None
        return cls(orders, turns, orders[0].dead_man_s)
