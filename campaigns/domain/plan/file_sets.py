"""The Uniserve study of several servers: one file, five in turn and five at random, near and far.

The requests of R1, R2 and R3 are those of L1, L2 and L3. L is measured on the server's own host,
R over the network, so the address of an endpoint decides which of them it gets.
"""

from typing import Any

from campaigns.domain.plan.machines import LOOPBACK, written_addresses
from campaigns.domain.plan.presets import PRESETS

REPEATS = 5
_KINDS = ("1", "2", "3")


def is_local(host: str) -> bool:
    """Whether it is the injectors' own host, as far as its written form tells."""
    return written_addresses(host) == [LOOPBACK]


def file_sets(*, local: bool) -> dict[str, dict[str, Any]]:
    """The specs of L1 to L3, or of R1 to R3, by name."""
    letter = "L" if local else "R"
    return {f"{letter}{kind}": PRESETS[f"l{kind}"].spec for kind in _KINDS}
