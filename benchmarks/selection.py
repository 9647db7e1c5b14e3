"""Which parts of the table are asked for."""

from dataclasses import dataclass

from benchmarks.injector_cost import CASES, slug

COST, TLS, ON_TIME, ACCURACY, WEBSOCKET = "cost", "tls", "open-loop", "accuracy", "websocket"
LIVE, WORDS = "live", "words"  # of the site and of its judgement, not of the injector
CASE_NAMES = tuple(slug(case) for case in CASES)
NAMES = (COST, TLS, WEBSOCKET, ON_TIME, ACCURACY, LIVE, WORDS, *CASE_NAMES)


@dataclass(frozen=True, slots=True)
class Selection:
    """Of `NAMES`; without any, everything."""

    names: frozenset[str]

    def wants(self, name: str) -> bool:
        if not self.names or name in self.names:
            return True
        return name in CASE_NAMES and COST in self.names

    @property
    def wants_the_injector(self) -> bool:
        return not self.names or bool(self.names - {LIVE, WORDS})

    @property
    def wants_some_cost(self) -> bool:
        return any(map(self.wants, CASE_NAMES))
