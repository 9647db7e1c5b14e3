"""Which parts of the table are asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.injector_cost import CASES, slug

COST, TLS, ON_TIME, ACCURACY, WEBSOCKET = "cost", "tls", "open-loop", "accuracy", "websocket"
HTTP2 = "http2"
# Of the site and of its judgement; they start what they need themselves.
LIVE, LARGE_PAGES = "live", "large-pages"
WORDS, CHANGES, JUDGEMENT = "words", "changes", "judgement"
CAPACITY, CAPACITY_REAL, WORDS_REAL = "capacity", "capacity-real", "words-real"
TARGET_SIDE, WATCHED, COSTS = "target-side", "watched", "costs"
AGENT_COST, CHROMIUM = "agent-cost", "chromium"
CASE_NAMES = tuple(slug(case) for case in CASES)
PAGES = "pages"  # all that the goals for pages and processes are about
GROUPS = {COST: CASE_NAMES, PAGES: (LIVE, WATCHED, COSTS, LARGE_PAGES, CHROMIUM)}
_OF_THE_SITE = (
    PAGES, *GROUPS[PAGES], WORDS, CHANGES, JUDGEMENT, CAPACITY, CAPACITY_REAL, WORDS_REAL,
    TARGET_SIDE, AGENT_COST,
)  # fmt: skip
NAMES = (COST, HTTP2, TLS, WEBSOCKET, ON_TIME, ACCURACY, *_OF_THE_SITE, *CASE_NAMES)


@dataclass(frozen=True, slots=True)
class Selection:
    """Of `NAMES`; without any, everything. `trials`: runs in each cell of the judgement;
    None for as many as usual. `real_searches`, `real_words`: the arguments of `measure_all` of
    capacity_real and words_real."""

    names: frozenset[str]
    trials: int | None = None
    real_searches: tuple[Sequence[str], int | None, Path | None] = ((), None, None)
    real_words: tuple[Sequence[str], int | None, Path | None] = ((), None, None)

    def wants(self, name: str) -> bool:
        groups = self.names & GROUPS.keys()
        return not self.names or name in self.names or any(name in GROUPS[each] for each in groups)

    @property
    def wants_the_injector(self) -> bool:
        return not self.names or bool(self.names - {*_OF_THE_SITE})

    @property
    def wants_some_cost(self) -> bool:
        return any(map(self.wants, CASE_NAMES))
