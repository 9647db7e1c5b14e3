"""What a campaign sends to the installation's own target, to see whether the environment moved."""

import re
from collections.abc import Collection
from itertools import count

from campaigns.domain.plan.plan import ConnectionMode, Plan

LONGEST_NAME = 150
_NUMBERED = re.compile(r" \((\d{1,6})\)$")


def next_name(name: str, taken: Collection[str]) -> str:
    """Nightly → Nightly (2) → Nightly (3): the first number that no other campaign has."""
    numbered = _NUMBERED.search(name)
    base = _NUMBERED.sub("", name)
    first = int(numbered[1]) + 1 if numbered else 2
    suffixes = (f" ({number})" for number in count(first))
    names = (base[: LONGEST_NAME - len(suffix)] + suffix for suffix in suffixes)
    return next(each for each in names if each not in taken)


REFERENCE_NAME = "benchsite's own target"
REFERENCE_MODE = ConnectionMode.KEEP_ALIVE
# Enough requests for a p95, at a rate that leaves any machine idle.
REFERENCE_PLAN = Plan.from_json(
    {
        "steps": [{"method": "GET", "path": "/"}],
        "load": {"model": "open", "rate_per_s": 200, "duration_s": 3},
        "connection_mode": str(REFERENCE_MODE),
        "warm_up_s": 1,
    }
)
