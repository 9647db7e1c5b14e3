"""Opening handshakes with variables: each connection takes a row of the plan's table."""

from dataclasses import replace

from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.variables import filled_in, names_used
from workers.injector.order import Order
from workers.injector.rows import Rows
from workers.injector.websocket.upgrade import UpgradeRequest


class VaryingUpgrade:
    """Replaces an UpgradeRequest; a connection's bytes are made when it opens."""

    def __init__(self, exchange: Exchange, host_header: str, rows: Rows):
        self._exchange = exchange
        self._host_header = host_header
        self._rows = rows

    def bytes_ahead(self, key: bytes) -> bytes:
        """Nothing: a row is taken by a connection, not by an attempt to get one."""
        return b""

    def bytes_with(self, key: bytes) -> bytes:
        opening = filled_in(self._exchange.opening, self._rows.take())
        exchange = replace(self._exchange, path=opening.path, headers=opening.headers)
        return UpgradeRequest.of(exchange, self._host_header).bytes_with(key)

    @property
    def template(self) -> bytes:
        """The request as the plan has it, with the variables' names."""
        return UpgradeRequest.of(self._exchange, self._host_header).template


def make_upgrade(
    exchange: Exchange, host_header: str, order: Order
) -> UpgradeRequest | VaryingUpgrade:
    """What makes the opening request of an order's connections; `exchange` has its credentials."""
    if order.plan.variable_names & names_used(exchange.opening):
        rows = Rows(order.plan.variables, order.shard, order.seed)
        return VaryingUpgrade(exchange, host_header, rows)
    return UpgradeRequest.of(exchange, host_header)
