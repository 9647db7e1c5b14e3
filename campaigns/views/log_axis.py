"""A logarithmic axis of a drawing, in percent of its width or height, with round ticks."""

from collections.abc import Sequence
from math import ceil, floor, log10

from campaigns.domain.units import figure

_STEPS = (1, 2, 5)
_FEW_TICKS, _MOST_TICKS = 3, 8


class LogAxis:
    """From below the smallest of the values to above the largest, `around` as a factor."""

    def __init__(self, values: Sequence[float], start: float, end: float, around: float):
        self._low, self._high = min(values) / around, max(values) * around
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        share = log10(value / self._low) / log10(self._high / self._low)
        return round(self._start + (self._end - self._start) * min(1.0, max(0.0, share)), 2)

    def ticks(self) -> list[tuple[float, str]]:
        """1, 2 and 5 of each decade; of a short axis a number of equal steps."""
        decades = range(floor(log10(self._low)), ceil(log10(self._high)) + 1)
        values = [step * 10.0**decade for decade in decades for step in _STEPS]
        values = [value for value in values if self._low <= value <= self._high]
        if len(values) < _FEW_TICKS:
            values = self._even()
        elif len(values) > _MOST_TICKS:
            values = [value for value in values if log10(value).is_integer()]
        return [(self.at(v), f"{v:,.0f}" if v >= 100 else figure(v, 2)) for v in values]

    def _even(self) -> list[float]:
        size = (self._high - self._low) / 7
        decade = 10.0 ** floor(log10(size))
        step = next(n * decade for n in (1, 2, 5, 10) if n * decade >= size)
        first = ceil(self._low / step)
        return [n * step for n in range(first, floor(self._high / step) + 1)]
