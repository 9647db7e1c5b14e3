"""Seconds of a target's machine from what its exporter answers, one answer after another."""

from typing import Any, NamedTuple

from campaigns.domain.measured.exporter import (
    METRICS,
    ExporterReading,
    did_between,
    offers,
    read_exporter,
)
from campaigns.domain.measured.exposition import check_exposition, samples_of

# An interval shorter than this is too coarse a reading; a longer one is a gap, not a second.
SHORTEST_S, LONGEST_S = 0.25, 2.5
# So many answers in a row of which none makes a second are no accident.
_PATIENCE = 5
_NS = 1_000_000_000
_OLD = (
    "Its values stay the same for several seconds, so no second can be told apart. Enter the "
    "address of the exporter itself, not of a cache or a proxy."
)
_ANOTHER = (
    "Its answers come from another machine or process each time. Enter the address of one of them, "
    "not of a load balancer."
)


class NothingKnown(ValueError):
    """There is no metric that we know in the answer; the text says what to do."""


class ScrapedSecond(NamedTuple):
    """What the machine did in an interval around `middle_ns`; `did` as in AgentSecond."""

    middle_ns: int
    lasted_s: float
    did: dict[str, Any]


def reading_of(text: str, *, counts_process: bool) -> ExporterReading:
    """Raises NotExposition, NothingKnown."""
    reading = read_exporter(samples_of(text, METRICS), counts_process=counts_process)
    if reading.is_empty:
        check_exposition(text)
        raise NothingKnown(_missing(reading))
    return reading


def _missing(reading: ExporterReading) -> str:
    if reading.has_own_process:
        return (
            "It tells only of its own process. If that is the server that you measure, tick "
            "“This is the server itself”; else enter the address of a node_exporter."
        )
    return (
        "It has no metric that benchsite knows, such as node_cpu_seconds_total. Enter the address "
        "of a node_exporter on the target's machine."
    )


class ExporterSeconds:
    """What the answers of an exporter named `name` tell. `trouble`: why they tell nothing for some
    time; "" while they do. `offers`: what the last one has, in words."""

    def __init__(self, name: str, *, counts_process: bool):
        self._name, self._counts_process = name, counts_process
        self._before: tuple[int, ExporterReading] | None = None
        self._text_hash: int | None = None
        self._why = ""
        self._n_without = 0
        self.offers: list[str] = []

    @property
    def trouble(self) -> str:
        return self._why if self._n_without >= _PATIENCE else ""

    def take(self, at_ns: int, text: str) -> ScrapedSecond | None:
        """The second that ends with this answer; None for the first, after a gap, and where the
        values are those of the answer before. Raises NotExposition, NothingKnown."""
        second = self._second(at_ns, text)
        self._n_without = 0 if second else self._n_without + 1
        return second

    def _second(self, at_ns: int, text: str) -> ScrapedSecond | None:
        if hash(text) == self._text_hash:
            self._why = _OLD
            return None
        now = reading_of(text, counts_process=self._counts_process)
        self._text_hash, self.offers = hash(text), offers(now)
        if self._before and now.is_as_old_as(self._before[1]):
            # The next interval begins where these values were first seen.
            self._why = _OLD
            return None
        before, self._before = self._before, (at_ns, now)
        return self._between(before, at_ns, now) if before else None

    def _between(
        self, before: tuple[int, ExporterReading], at_ns: int, now: ExporterReading
    ) -> ScrapedSecond | None:
        lasted_s = (at_ns - before[0]) / _NS
        if not SHORTEST_S <= lasted_s <= LONGEST_S:
            return None
        did = did_between(before[1], now, lasted_s, self._name)
        if did is None:
            self._why = _OLD if before[1].start == now.start else _ANOTHER
            return None
        return ScrapedSecond((before[0] + at_ns) // 2, lasted_s, did)
