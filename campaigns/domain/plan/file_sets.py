"""The Uniserve study of several servers: one file, five in turn and five at random, near and far.

The requests of R1, R2 and R3 are those of L1, L2 and L3. L is measured on the server's own host,
R over the network, so the address of an endpoint decides which of them it gets.
"""

from typing import Any

from campaigns.domain.plan.load import Model
from campaigns.domain.plan.machines import LOOPBACK, written_addresses
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.presets import PRESETS

REPEATS = 5
_KINDS = ("1", "2", "3")
# What L1 to L3 took on average in the study, s: time enough to see what the machine does.
_LASTED_S = {"1": 5, "2": 25, "3": 5}


def is_local(host: str) -> bool:
    """Whether it is the injectors' own host, as far as its written form tells."""
    return written_addresses(host) == [LOOPBACK]


def file_sets(*, local: bool) -> dict[str, dict[str, Any]]:
    """The specs of L1 to L3, or of R1 to R3, by name."""
    letter = "L" if local else "R"
    return {f"{letter}{kind}": PRESETS[f"l{kind}"].spec for kind in _KINDS}


def lasting_file_sets(*, local: bool) -> dict[str, dict[str, Any]]:
    """The same requests for as long as they took in the study, however fast the server is."""
    return {
        f"{name} for {(lasts_s := _LASTED_S[name[-1]])} s": _lasting(spec, lasts_s)
        for name, spec in file_sets(local=local).items()
    }


def _lasting(spec: dict[str, Any], duration_s: int) -> dict[str, Any]:
    load = {"model": Model.SEQUENTIAL, "duration_s": duration_s}
    return Plan.from_json({**spec, "load": load}).to_json()
