"""Which step of a plan a request sends: in turns, in blocks, at random or by weight.

The step of a run's k-th request does not depend on its sender: random orders are a function of the
seed and of k, so that injectors that share a run together send what one alone would have sent.
"""

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from campaigns.domain.json_reader import JsonReader, is_number
from campaigns.domain.plan.fields import choice, listed, read_scalars, whole

MAX_BLOCK_REPEAT = 10_000_000
MAX_WEIGHT = 1_000_000
_64_BITS = (1 << 64) - 1


class OrderKind(StrEnum):
    ROUND_ROBIN = "round_robin"
    BLOCKS = "blocks"
    RANDOM = "random"
    WEIGHTED = "weighted"


def weights_of_text(text: str) -> list[float | str]:
    """3, 1, 1 as numbers; other text is kept for the plan to reject."""
    return [_number_or_text(word) for word in text.split(",") if word.strip()]


def _number_or_text(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word


@dataclass(frozen=True, slots=True)
class StepOrder:
    """`block_repeat`: requests of a step before the next one's. `weights`: one for each step."""

    # fmt: off
    kind: OrderKind = choice("Order", OrderKind.ROUND_ROBIN,
        {OrderKind.ROUND_ROBIN: "In turns", OrderKind.BLOCKS: "In blocks",
        OrderKind.RANDOM: "At random", OrderKind.WEIGHTED: "By weight"},
        help="Which step the next request sends: in turns, in blocks of one step, or drawn by the "
        "recorded seed, evenly or by weight.",
        detail="Each works with one step too.",
        option="--order",
        option_help="which request comes next: in turns, in blocks, drawn by --seed, or drawn by "
        "--weights")
    block_repeat: int = whole("Requests per block", 1, low=1, high=MAX_BLOCK_REPEAT, example=1000,
        used_by={OrderKind.BLOCKS},
        help="Requests of one step before the next one; for the order in blocks.",
        option="--block-repeat N")
    weights: tuple[float, ...] = listed("Weight", f"numbers from 0 to {MAX_WEIGHT:,}, []",
        help="A weight for each step, not all 0; for the order by weight.",
        from_text=weights_of_text,
        option="--weights W,W")
    # fmt: on

    def step_at(self, number: int, n_steps: int, seed: int) -> int:
        """The step of request `number` of the run, which may be negative in the warm-up."""
        match self.kind:
            case OrderKind.BLOCKS:
                return number // self.block_repeat % n_steps
            case OrderKind.RANDOM:
                return draw(seed, number) * n_steps >> 64
            case OrderKind.WEIGHTED:
                bounds = list(accumulate(self.weights))
                return min(
                    bisect_right(bounds, draw(seed, number) / (1 << 64) * bounds[-1]), n_steps - 1
                )
        return number % n_steps


IN_TURNS = StepOrder()


def draw(seed: int, number: int) -> int:
    """The `number`-th of the evenly spread 64-bit numbers of a seed (SplitMix64)."""
    mixed = (seed * 0xD1342543DE82EF95 + (number + 1) * 0x9E3779B97F4A7C15) & _64_BITS
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _64_BITS
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _64_BITS
    return mixed ^ mixed >> 31


def read_order(reader: JsonReader, n_steps: int) -> StepOrder:
    order = StepOrder(**read_scalars(reader, StepOrder), weights=_read_weights(reader))
    is_weighted, weights = order.kind == OrderKind.WEIGHTED, order.weights
    if is_weighted and not reader.errors and len(weights) != n_steps:
        reader.fail("weights", f"Enter a weight for each of the {n_steps} steps.")
    if not is_weighted and weights:
        reader.fail("weights", f"The order {order.kind} does not use weights; leave them empty.")
    if order.kind != OrderKind.BLOCKS and order.block_repeat != 1:
        reader.fail("block_repeat", f"The order {order.kind} has no blocks; leave it at 1.")
    return order


def _read_weights(reader: JsonReader) -> tuple[float, ...]:
    raw = reader.data.get("weights") or []
    if not isinstance(raw, list | tuple):
        reader.fail("weights", "Write a list of numbers, one for each step.")
        return ()
    wrong = [
        place for place, each in enumerate(raw) if not (is_number(each) and 0 <= each <= MAX_WEIGHT)
    ]
    for place in wrong:
        reader.fail(f"weights.{place}", f"Write a number from 0 to {MAX_WEIGHT:,}.")
    if not wrong and raw and not any(raw):
        reader.fail("weights", "Give at least one step a weight above 0.")
    return () if wrong else tuple(float(each) for each in raw)
