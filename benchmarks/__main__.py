"""The whole table, with one command: cost, punctuality, memory, accuracy, the target's side, pages,
what grows with runs and hosts, many viewers, pages in Chromium, words, changes, judgement,
capacity, real searches for it, words of real campaigns; or parts.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks import (
    accuracy,
    agent_cost,
    capacity,
    capacity_real,
    changes,
    costs,
    http2,
    in_chromium,
    injector_cost,
    judgement,
    live,
    open_loop,
    pages,
    target_side,
    tls,
    watched,
    websocket,
    words,
    words_real,
)
from benchmarks.awake import awake
from benchmarks.figures import GoalRow, show
from benchmarks.selection import (
    ACCURACY,
    AGENT_COST,
    CAPACITY,
    CAPACITY_REAL,
    CHANGES,
    CHROMIUM,
    COSTS,
    HTTP2,
    JUDGEMENT,
    LARGE_PAGES,
    LIVE,
    NAMES,
    ON_TIME,
    TARGET_SIDE,
    TLS,
    WATCHED,
    WEBSOCKET,
    WORDS,
    WORDS_REAL,
    Selection,
)
from benchmarks.servers import Server, pin, serving

Section = tuple[str, Iterable[GoalRow]]
_BEFORE_ACCURACY = {
    LIVE: live, WATCHED: watched, COSTS: costs, LARGE_PAGES: pages, CHROMIUM: in_chromium,
}  # fmt: skip
_AFTER_ACCURACY = {
    TARGET_SIDE: target_side, AGENT_COST: agent_cost, WORDS: words, CHANGES: changes,
    CAPACITY: capacity,
}  # fmt: skip


def main() -> int:
    selection = _read_selection()
    cores = os.sched_getaffinity(0)
    print(f"{len(cores)} cores, load average {_load()} before the first case")
    are_whole = [show(title, lines) for title, lines in _sections(selection, cores)]
    print(f"\nload average {_load()} after the last")
    return 0 if all(are_whole) else 1


def _sections(selection: Selection, cores: set[int]) -> Iterator[Section]:
    """What was asked for, in order; each is measured as its lines are read."""
    if selection.wants_the_injector:
        with serving(core=1) as server:
            pin(0)
            yield from _of_the_injector(selection, server)
        os.sched_setaffinity(0, cores)
    for name, module in _BEFORE_ACCURACY.items():
        if selection.wants(name):
            yield module.TITLE, module.measure()
    if selection.wants(ACCURACY):
        yield "Accuracy, against the demo target's own log", accuracy.measure()
        with awake():
            yield "Accuracy, with cores that are kept from sleeping", accuracy.measure()
    for name, module in _AFTER_ACCURACY.items():
        if selection.wants(name):
            yield module.TITLE, module.measure()
    if selection.wants(CAPACITY_REAL):
        yield capacity_real.TITLE, capacity_real.measure_all(*selection.real_searches)
    if selection.wants(JUDGEMENT):
        for title, lines in judgement.measure_all(selection.trials or judgement.TRIALS):
            yield f"{judgement.TITLE}. {title}", lines
    if selection.wants(WORDS_REAL):
        yield words_real.TITLE, words_real.measure_all(*selection.real_words)


def _read_selection() -> Selection:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parts = f"{', '.join(NAMES)} (everything)"
    parser.add_argument("names", nargs="*", metavar="PART", help=parts)
    trials = f"runs in each cell of the judgement ({judgement.TRIALS})"
    parser.add_argument("--trials", type=int, metavar="N", help=trials)
    searches = f"real searches of each server ({capacity_real.SEARCHES})"
    parser.add_argument("--searches", type=int, metavar="N", help=searches)
    part = "a part of words-real or capacity-real (all of them); may be given again"
    parts = [*words_real.PARTS, *capacity_real.PARTS]
    parser.add_argument("--part", action="append", default=[], choices=parts, help=part)
    usual = ", ".join(str(n) for _, n in words_real.PARTS.values())
    campaigns = f"real campaigns of each part of words-real ({usual})"
    parser.add_argument("--campaigns", type=int, metavar="N", help=campaigns)
    results = "to which they add what each campaign or search said; what is there counts as well"
    parser.add_argument("--results", type=Path, metavar="FILE", help=results)
    options = parser.parse_args()
    names = options.names
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"there is no {unknown[0]}; choose from {', '.join(NAMES)}")
    given = (options.trials, options.searches, options.campaigns)
    trials, searches, campaigns = (n and max(1, n) for n in given)
    of_words, of_searches = (
        [part for part in options.part if part in known.PARTS]
        for known in (words_real, capacity_real)
    )
    return Selection(
        frozenset(names),
        trials,
        (of_searches, searches, options.results),
        (of_words, campaigns, options.results),
    )


def _of_the_injector(selection: Selection, server: Server) -> Iterator[Section]:
    if selection.wants_some_cost:
        title = f"CPU time a request against {server.name}, {injector_cost.CONNECTIONS} connections"
        yield title, injector_cost.measure(server, selection.wants)
    if selection.wants(HTTP2):
        yield http2.TITLE, http2.measure()
    if selection.wants(TLS):
        yield tls.TITLE, tls.measure(server)
    if selection.wants(WEBSOCKET):
        yield websocket.TITLE, websocket.measure()
    if selection.wants(ON_TIME):
        yield f"On time, against {server.name}", open_loop.measure(server)


def _load() -> str:
    return " ".join(f"{each:.1f}" for each in os.getloadavg())


if __name__ == "__main__":
    sys.exit(main())
