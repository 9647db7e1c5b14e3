"""What `perf record` found on a target's machine in a run: the functions in which its CPU time
went."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

from campaigns.domain.errors import InvalidFields
from campaigns.domain.json_reader import JsonReader, is_number
from campaigns.domain.metrics.perf_counts import PerfOf
from campaigns.domain.typed_text import storable

MOST_FUNCTIONS = 30
_LONGEST_FAULT, _LONGEST_NAME = 400, 200
_MOST_SAMPLES, _LONGEST_S = 10**12, 1e6


@dataclass(frozen=True, slots=True)
class ProfiledFunction:
    """`object`: the program, library or kernel that it is in."""

    samples: int
    command: str
    object: str
    symbol: str

    @property
    def names(self) -> tuple[str, str, str]:
        return self.command, self.object, self.symbol


@dataclass(frozen=True, slots=True)
class Profile:
    """`began_s` and `ended_s`: by the site's clock, since the epoch. `samples`: of all functions,
    of which those with most are there. `fault`: why nothing was recorded."""

    of: PerfOf
    began_s: float
    ended_s: float
    samples: int = 0
    functions: tuple[ProfiledFunction, ...] = ()
    fault: str = ""

    @property
    def lasted_s(self) -> float:
        return max(0.0, self.ended_s - self.began_s)

    def share(self, function: ProfiledFunction) -> float:
        return function.samples / self.samples

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        functions = tuple(ProfiledFunction(**each) for each in data["functions"])
        return cls(**{**data, "of": PerfOf(data["of"]), "functions": functions})


def read_profile(data: Any, ended_s: float) -> Profile:
    """As an agent answers at `ended_s`: {"of", "lasted_s", "samples", "functions": [[samples,
    command, object, symbol], …]}, or {"of", "lasted_s", "fault"}. Raises InvalidFields."""
    reader = JsonReader(data, "profile")
    of = reader.choice("of", PerfOf, PerfOf.NONE)
    if not of:
        reader.fail("of", "Write processes or machine.")
    lasted_s = reader.number("lasted_s", 0.0, low=0, high=_LONGEST_S) or 0.0
    samples = round(reader.number("samples", 0, low=0, high=_MOST_SAMPLES) or 0)
    rows = reader.data.get("functions", [])
    is_right = isinstance(rows, list) and len(rows) <= MOST_FUNCTIONS and all(map(_is_row, rows))
    if not is_right or sum(row[0] for row in rows) > samples:
        reader.fail(
            "functions",
            f"Write at most {MOST_FUNCTIONS} lists of samples, command, object and symbol, and "
            "no more samples than all.",
        )
    fault = storable(reader.text("fault", limit=_LONGEST_FAULT)).strip()
    if reader.errors:
        raise InvalidFields(reader.errors)
    functions = tuple(
        ProfiledFunction(round(row[0]), *(storable(name) for name in row[1:])) for row in rows
    )
    return Profile(of, ended_s - lasted_s, ended_s, samples, functions, fault)


def _is_row(row: Any) -> bool:
    if not isinstance(row, list) or len(row) != 4:
        return False
    count, *names = row
    is_named = all(isinstance(name, str) and len(name) <= _LONGEST_NAME for name in names)
    return is_named and is_number(count) and 0 <= count <= _MOST_SAMPLES


def faults_of(profiles: Iterable[Profile]) -> list[str]:
    """Why some recorded nothing, each once."""
    return list(dict.fromkeys(each.fault for each in profiles if each.fault))
