"""Single-use items that every connection needs, made in batches.

Made one by one inside an attempt, with cold CPU caches, they would cost several times as much.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
_LOW = 32


class Stock(Generic[T]):
    """Hands out each item once."""

    __slots__ = ("_make", "_ready")

    def __init__(self, make: Callable[[], list[T]]):
        self._make = make
        self._ready: list[T] = []

    def take(self) -> T:
        if not self._ready:
            self._ready = self._make()
        return self._ready.pop()

    def fill_up(self) -> None:
        """Call it between two attempts, so that an attempt finds an item ready."""
        if len(self._ready) < _LOW:
            self._ready += self._make()
