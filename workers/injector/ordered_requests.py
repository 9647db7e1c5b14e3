"""Which request comes next: the plan's steps in order, as a sequence that drivers index."""

from collections.abc import Sequence

from campaigns.domain.plan.step_order import OrderKind, StepOrder
from workers.injector.request import Request

# Drivers take their number modulo the length; an order that never repeats is "endless".
_ENDLESS = 1 << 62


class OrderedRequests(Sequence):
    """The requests of a run by number; the length is the order's period."""

    def __init__(self, requests: list[Request], order: StepOrder, seed: int):
        self._requests = requests
        self._order = order
        self._seed = seed

    def __len__(self) -> int:
        if self._order.kind == OrderKind.BLOCKS:
            return self._order.block_repeat * len(self._requests)
        return _ENDLESS

    def __getitem__(self, number: int) -> Request:
        requests = self._requests
        return requests[self._order.step_at(number, len(requests), self._seed)]


def in_order(requests: list[Request], order: StepOrder, seed: int) -> Sequence[Request]:
    """A sequence with request k at index k modulo its length; for round robin, the list itself."""
    if order.kind == OrderKind.ROUND_ROBIN or len(requests) == 1:
        return requests
    return OrderedRequests(requests, order, seed)
