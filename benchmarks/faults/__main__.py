"""Break a private installation on purpose, with several faults at once, and check that no stored
second is lost, no run is stuck, and every reason on a page is true.
"""

import argparse
import os
import sys
import time

from benchmarks.faults import network
from benchmarks.faults.kinds import KINDS, FaultKind
from benchmarks.faults.report import markdown
from benchmarks.faults.rounds import rounds
from benchmarks.faults.world import World, start_world
from benchmarks.figures import load_average
from local.base import LocalError, fail

FAULTS = 1000


def main() -> int:
    """The exit status: 1 where something did not hold."""
    options = _read_options()
    try:
        if not network.is_inside():
            network.enter(sys.argv[1:])
        return 1 if _play_all(start_world(), options) else 0
    except LocalError as error:
        return fail(str(error))


def _play_all(world: World, options: argparse.Namespace) -> list[str]:
    """What did not hold, in sentences."""
    from benchmarks.faults.lab import Lab  # it needs Django with the database's address

    lab, struck, broken = Lab(world), [], []
    until = time.monotonic() + 60 * options.minutes
    print(f"seed {options.seed}, {os.cpu_count()} cores, load average {load_average()}", flush=True)
    try:
        for round_ in rounds(options.seed, options.kinds, options.round):
            print(f"round {round_.number}: {'; '.join(map(str, round_.faults))}", flush=True)
            played = lab.play(round_)
            for sentence in played.broken:
                print(f"  BROKEN {sentence}", flush=True)
            if options.verbose or played.broken:
                print("".join(f"  {each}\n" for each in played.outcomes), end="", flush=True)
            struck += played.struck
            broken += [f"round {round_.number}: {each}" for each in played.broken]
            if len(struck) >= options.faults or time.monotonic() > until:
                break
    except (KeyboardInterrupt, LocalError) as error:
        print(f"Stopped. {error}")
    print(f"load average {load_average()} at the end\n")
    print("\n".join(markdown(struck)))
    for sentence in broken:
        print(f"BROKEN seed {options.seed}, {sentence}")
    return broken


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="what is drawn from (1)")
    parser.add_argument(
        "--round", type=int, default=1, metavar="R", help="begin with this round: repeats a failure"
    )
    parser.add_argument(
        "--faults", type=int, default=FAULTS, metavar="N", help=f"end after so many ({FAULTS:,})"
    )
    parser.add_argument(
        "--minutes", type=float, default=600, metavar="M", help="end after so long (600)"
    )
    kinds = "only these, by a part of their name, such as Redis,frozen; the same seed then differs"
    parser.add_argument("--kinds", type=_kinds, default=_kinds(""), metavar="K", help=kinds)
    parser.add_argument("--verbose", action="store_true", help="how each run has ended")
    return parser.parse_args()


def _kinds(text: str) -> list[FaultKind]:
    words = text.split(",")
    found = [kind for name, kind in KINDS.items() if any(word in name for word in words)]
    if not found:
        raise argparse.ArgumentTypeError(f"choose from: {', '.join(KINDS)}")
    return found


if __name__ == "__main__":
    sys.exit(main())
