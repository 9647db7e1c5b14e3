"""Every way in which a search for a capacity ends, on the real product with its usual limits.

`python -m benchmarks.search_endings` starts an installation that it throws away, makes one search
over REST for each ending, and prints how it ended, its sentence and its trials. It takes some
minutes; `--only injector below` makes only these. The exit status is 1 if one ended otherwise.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

from benchmarks.servers import free_ports, program, serving
from benchmarks.staged_rest import rest_of
from local.console import LocalError, fail
from local.stage import staged
from tests.browser.rest import Rest

LONGEST_S = 1200.0
_ASK_EVERY_S = 1.0
_OBJECTIVE = ("p95 < 100 ms", "errors < 1 %")
_SLOW = 50  # requests/s: all that a target takes whose limit is to be found

Search = dict[str, Any]
Meanwhile = Callable[["Rest", int, ExitStack], None]


def _nothing(rest: Rest, campaign: int, target: ExitStack) -> None:
    """The search is left alone."""


def _stop(rest: Rest, campaign: int, target: ExitStack) -> None:
    _wait_for(rest, campaign, lambda found: len(found["trials"]) >= 2)
    rest.post(f"campaigns/{campaign}/stop/")


def _kill_target(rest: Rest, campaign: int, target: ExitStack) -> None:
    _wait_for(rest, campaign, lambda found: len(found["trials"]) >= 2)
    target.close()


@dataclass(frozen=True)
class EndingCase:
    """A search from `start_per_s` to at most `limit_per_s`, of a token bucket of `takes_per_s`, or
    with None of nginx, which takes more than one injector process sends."""

    ending: str
    start_per_s: float
    limit_per_s: float
    takes_per_s: float | None
    meanwhile: Meanwhile = _nothing
    longest_s: float = LONGEST_S


CASES = (
    EndingCase("found", 20, 2000, _SLOW),
    EndingCase("injector", 500, 20_000, None),
    EndingCase("limit", 10, 20, _SLOW),
    EndingCase("below", 200, 2000, _SLOW),
    EndingCase("stopped", 5, 2000, 1000, _stop),
    EndingCase("deadline", 5, 2000, 1000, longest_s=20),
    EndingCase("silent", 5, 2000, 1000, _kill_target),
)


def main() -> int:
    asked = _asked()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whatever ends it, it cleans up
    try:
        with staged() as site:
            rest = rest_of(site, "Endings of searches")
            plan = rest.make_plan("small", model="open", rate_per_s=10, duration_s=10)
            are_right = [
                _is_as_meant(case, plan, rest, asked.trial_s)
                for case in CASES
                if not asked.only or case.ending in asked.only
            ]
    except LocalError as error:
        return fail(str(error))
    return 0 if all(are_right) else 1


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_endings")
    endings = [case.ending for case in CASES]
    parser.add_argument("--only", nargs="+", choices=endings, default=[], metavar="ENDING")
    parser.add_argument("--trial-s", type=float, default=5.0, help="measured part of a trial")
    return parser.parse_args()


def _is_as_meant(case: EndingCase, plan: int, rest: Rest, trial_s: float) -> bool:
    (port,) = free_ports(1)
    with ExitStack() as target:
        target.enter_context(_target(case, port))
        (endpoint,) = rest.make_target(
            case.ending, {"scheme": "http", "host": "127.0.0.1", "port": port}
        )
        campaign = _started(case, plan, endpoint, rest, trial_s)
        case.meanwhile(rest, campaign, target)
        found = _wait_for(rest, campaign, lambda found: found["ending"])
    print("\n".join(report(case.ending, found)), flush=True)
    return found["ending"] == case.ending


def _target(case: EndingCase, port: int) -> AbstractContextManager[Any]:
    if case.takes_per_s is None:
        return serving(ports=(port, *free_ports(1)))
    return program("benchmarks.limited_target", str(case.takes_per_s), str(port), port=port)


def _started(case: EndingCase, plan: int, endpoint: int, rest: Rest, trial_s: float) -> int:
    asked = {
        "project": rest.project,
        "name": f"to end: {case.ending}",
        "cell": {"plan": plan, "endpoint": endpoint, "connection_mode": "keep-alive"},
        "objective": list(_OBJECTIVE),
        "start_per_s": case.start_per_s,
        "limit_per_s": case.limit_per_s,
        "trial_s": trial_s,
        "longest_s": case.longest_s,
    }
    return rest.post("searches/", asked)["campaign"]


def _wait_for(rest: Rest, campaign: int, is_so: Callable[[Search], Any]) -> Search:
    until = time.monotonic() + LONGEST_S
    while not is_so(found := rest.get(f"campaigns/{campaign}/search/")):
        if time.monotonic() > until:
            raise LocalError(f"The search did not come that far within {LONGEST_S:g} s.")
        time.sleep(_ASK_EVERY_S)
    return found


def report(meant: str, found: Search) -> Iterator[str]:
    """How it ended, in its own words, and what came of each trial."""
    yield f"{meant}: {'as meant' if found['ending'] == meant else found['ending']}"
    yield f"  {found['sentence']}"
    yield f"  limited by: {found['limited_by']['word']}"
    for trial in found["trials"]:
        yield f"  {_trial_words(trial)}"


def _trial_words(trial: Search) -> str:
    said = f"{trial['rate_per_s']:g}/s {trial['result']}"
    return f"{said}: {trial['reason']}" if trial["reason"] else said


if __name__ == "__main__":
    sys.exit(main())
