"""Are the words right in real campaigns? `python -m benchmarks.real_campaigns 4` makes four of
equal arms under each noise, and one of each added share, until they are settled.
"""

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterator
from math import inf
from statistics import median

from benchmarks.figures import GoalRow, show
from benchmarks.noises import NOISES, Noise
from benchmarks.turns import REPLY_MS, InTurns, demo_target, measure_in_turns
from benchmarks.words_side_by_side import GOALS, Judged, line_of
from campaigns.domain.analysis.side_by_side import LOOK_CONFIDENCE, compare

TITLE = "Words of real campaigns of two arms, until settled"
_EQUAL_FOR_EACH_PLANTED = 4


def measure(n_equal: int) -> Iterator[GoalRow]:
    """A line for each noise and share, then those of all noises together."""
    way_ms = 0.0  # what a reply takes beside the target's waiting, where nothing is added
    seeds = itertools.count()
    everything: dict[float, list[Judged]] = {}
    for noise in NOISES:
        if not noise.is_possible:
            yield GoalRow(noise.name, "not measured: only root may take cores from others")
            continue
        for effect in GOALS[noise.group]:
            n = max(1, n_equal // _EQUAL_FOR_EACH_PLANTED) if effect else n_equal
            seen = [_campaign(noise, effect, next(seeds)) for _ in range(n)]
            way_ms = way_ms or _way_ms(seen)
            truth = 1 + effect * REPLY_MS / (REPLY_MS + way_ms)
            judged = [
                Judged(compare(each.rounds, 1, confidence=LOOK_CONFIDENCE), took_s, truth)
                for each, took_s in seen
            ]
            everything.setdefault(effect, []).extend(judged)
            yield line_of(noise, effect, judged)
    for effect, judged in everything.items():
        words = Counter(str(each.word) for each in judged).most_common()
        below = sum(each.is_below for each in judged)
        measured = ", ".join(f"{word} {n}" for word, n in words)
        measured += f"; lower end true in {below} of {len(judged)}"
        yield GoalRow(f"all of {effect:+.0%}", measured)


def _campaign(noise: Noise, effect: float, seed: int) -> tuple[InTurns, float]:
    """(what was seen, how long all of it took)."""
    began = time.monotonic()
    with demo_target() as (port, pid), noise.around(pid) as beside:
        replies_ms = REPLY_MS, (1 + effect) * REPLY_MS
        turns = {"limit_s": noise.limit_s, "seed": seed}
        seen = measure_in_turns(port, replies_ms, beside, **turns)
    return seen, time.monotonic() - began


def _way_ms(campaigns: list[tuple[InTurns, float]]) -> float:
    """Of the calmest one: the others would make the planted share seem smaller."""
    medians = (
        median(each.arms[0].p50_undelayed_us or inf for each in seen.rounds)
        for seen, _ in campaigns
    )
    return min(medians) / 1000 - REPLY_MS


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real_campaigns", description=__doc__
    )
    parser.add_argument("campaigns", type=int, metavar="N", help="of equal arms under each noise")
    return int(not show(TITLE, measure(parser.parse_args().campaigns)))


if __name__ == "__main__":
    sys.exit(main())
