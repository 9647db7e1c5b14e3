"""The rows of a plan's table of variables, one per use, across all shards."""

from campaigns.domain.plan.shards import LoadSlice
from campaigns.domain.plan.step_order import draw
from campaigns.domain.plan.variables import RowOrder, Variables

_STREAM = 0x726F7773


class Rows:
    def __init__(self, variables: Variables, shard: LoadSlice, seed: int):
        self._variables = variables
        self._n_rows = len(variables.table[1])
        self._seed = seed
        self._uses = shard.all()

    def take(self) -> dict[str, str]:
        """The values of the next row; {} without a table."""
        return self.at(next(self._uses))

    def at(self, number: int) -> dict[str, str]:
        """The values for use `number`, counted over the whole run; {} without a table."""
        if not self._n_rows:
            return {}
        if self._variables.order == RowOrder.RANDOM:
            return self._variables.values(draw(self._seed ^ _STREAM, number) * self._n_rows >> 64)
        return self._variables.values(number % self._n_rows)
