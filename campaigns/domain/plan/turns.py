"""How several arms of a plan take turns in one injector process, and which loads can."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.load import ArrivalUnit, Distribution, Model
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import PLAIN_SESSION

MOST_ARMS = 16
LIMIT_S, LEAST_S_OF_AN_ARM = 60.0, 10.0
LONGEST_LIMIT_S = 3600
TRIAL_S, LONGEST_TRIAL_S = 3.0, 60.0  # before the first round
PRACTICAL = 0.05  # a smaller difference makes none in practice


@dataclass(frozen=True, slots=True)
class Turns:
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
            raise ValueError(f"turns.limit_s must be from 1 to 3600, not {turns.limit_s}")
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
    if plan.exchange is not None:
        return "WebSockets cannot be measured side by side yet."
    if plan.http_version == HttpVersion.HTTP_2:
        return "HTTP/2 cannot be measured side by side yet."
    if load.model == Model.WINDOW:
        return "A window cannot be cut into turns."
    if load.stages:
        return "Stages cannot be cut into turns."
    if load.distribution == Distribution.UNIFORM:
        return "Random gaps cannot be cut into turns."
    if load.arrival_unit != ArrivalUnit.REQUEST:
        return "Connections and sessions that arrive cannot be cut into turns."
    if load.ramp_up_s or load.start_offset_s:
        return "A ramp-up or start offset cannot be cut into turns."
    if plan.session != PLAIN_SESSION or plan.variable_names:
        return "Sessions, pauses, pipelining and variables cannot be cut into turns."
    return ""
