"""Break a private installation on purpose, with several faults at once, and check that no stored
second is lost, no run is stuck, and every reason on a page is true.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from benchmarks.faults import network
from benchmarks.faults.kinds import KINDS, FaultKind
from benchmarks.faults.report import Struck, markdown
from benchmarks.faults.results import Results, RoundResult, now_text, summary
from benchmarks.faults.rounds import Round, rounds
from benchmarks.faults.world import World, start_world
from local.console import LocalError, fail

FAULTS = 1000


def main() -> int:
    options = _read_options()
    if options.sum:
        return _say_sum(options.results)
    try:
        if not network.is_inside():
            network.enter(sys.argv[1:])
        return _serve(options)
    except LocalError as error:
        return fail(str(error))


def _serve(options: argparse.Namespace) -> int:
    """The exit status: 1 where something did not hold."""
    world = start_world()
    played = _play_all(world, options)
    _say_all(played)
    return 1 if any(each.broken for each in played) else 0


def _say_sum(results: Results) -> int:
    """What all labs of a folder have found."""
    _say_all(results.all())
    return 0


def _say_all(results: list[RoundResult]) -> None:
    struck: list[Struck] = [each for result in results for each in result.struck]
    print(f"\n{summary(results)}\n")
    print("\n".join(markdown(struck)))
    for result in results:
        for sentence in result.broken:
            print(f"BROKEN seed {result.seed}, round {result.number}: {sentence}")


def _play_all(world: World, options: argparse.Namespace) -> list[RoundResult]:
    from benchmarks.faults.lab import Lab  # it needs Django with the database's address

    lab, results, n_struck = Lab(world), [], 0
    until = time.monotonic() + 60 * options.minutes
    print(f"seed {options.seed}, {os.cpu_count()} cores, load average {_load()}", flush=True)
    try:
        for round_ in rounds(options.seed, options.kinds, _first_round(options)):
            print(f"round {round_.number}: {'; '.join(map(str, round_.faults))}", flush=True)
            result = _play(lab, round_, options)
            results.append(result)
            n_struck += len(result.struck)
            if options.results:
                options.results.add(result)
            if n_struck >= options.faults or time.monotonic() > until:
                break
    except (KeyboardInterrupt, LocalError) as error:
        print(f"Stopped. {error}")
    print(f"load average {_load()} at the end")
    return results


def _first_round(options: argparse.Namespace) -> int:
    if options.round is not None:
        return options.round
    return options.results.next_round(options.seed) if options.results else 1


def _play(lab, round_: Round, options: argparse.Namespace) -> RoundResult:
    began, began_at = time.monotonic(), now_text()
    played = lab.play(round_)
    took_s = time.monotonic() - began
    print(f"  {took_s:.0f} s: {', '.join(played.took)}", flush=True)
    for sentence in played.broken:
        print(f"  BROKEN {sentence}", flush=True)
    if options.verbose or played.broken:
        print("".join(f"  {each}\n" for each in played.outcomes), end="", flush=True)
    return RoundResult(
        seed=options.seed,
        number=round_.number,
        began_at=began_at,
        took_s=round(took_s, 1),
        load=round(os.getloadavg()[0], 1),
        struck=tuple(played.struck),
        broken=tuple(played.broken),
    )


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="what is drawn from (1)")
    parser.add_argument(
        "--round", type=int, metavar="R", help="begin with this round: repeats a failure"
    )
    parser.add_argument(
        "--faults", type=int, default=FAULTS, metavar="N", help=f"end after so many ({FAULTS:,})"
    )
    parser.add_argument(
        "--minutes", type=float, default=600, metavar="M", help="end after so long (600)"
    )
    kinds = "only these, by a part of their name, such as Redis,frozen; the same seed then differs"
    parser.add_argument("--kinds", type=_kinds, default=_kinds(""), metavar="K", help=kinds)
    parser.add_argument(
        "--results",
        type=lambda folder: Results(Path(folder)),
        metavar="FOLDER",
        help="keep each round's result there, and go on after the last round of this seed",
    )
    parser.add_argument("--sum", action="store_true", help="only say what is in that folder")
    parser.add_argument("--verbose", action="store_true", help="how each run has ended")
    options = parser.parse_args()
    if options.sum and not options.results:
        parser.error("--sum needs --results FOLDER")
    return options


def _kinds(text: str) -> list[FaultKind]:
    words = text.split(",")
    found = [kind for name, kind in KINDS.items() if any(word in name for word in words)]
    if not found:
        raise argparse.ArgumentTypeError(f"choose from: {', '.join(KINDS)}")
    return found


def _load() -> str:
    return " ".join(f"{each:.1f}" for each in os.getloadavg())


if __name__ == "__main__":
    sys.exit(main())
