"""What each connection needs fresh, made many at a time.

In the midst of an attempt the processor's caches have forgotten how: one by one it would cost
several times as much.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
_LOW = 32


class Stock(Generic[T]):
    """Gives each thing once."""

    __slots__ = ("_make", "_ready")

    def __init__(self, make: Callable[[], list[T]]):
        self._make = make
        self._ready: list[T] = []

    def take(self) -> T:
        if not self._ready:
            self._ready = self._make()
        return self._ready.pop()

    def fill_up(self) -> None:
        """Between two attempts, so that within one there is something left."""
        if len(self._ready) < _LOW:
            self._ready += self._make()
