"""The exceptions of benchsite: each says what is wrong and what to do."""

from collections.abc import Sequence


class BenchsiteError(Exception):
    """An error that the user can understand and fix."""


class InvalidFields(BenchsiteError):
    """Invalid fields. `errors` maps a field's path ("load.rate_per_s") to a sentence."""

    def __init__(self, errors: dict[str, str]):
        self.errors = errors
        super().__init__("; ".join(f"{field}: {text}" for field, text in errors.items()))


class InvalidPlan(InvalidFields):
    """A plan that cannot be run."""


class InvalidTarget(InvalidFields):
    """A target with an invalid description."""


class Refused(BenchsiteError):
    """An action that is not possible now; the text says why and what to do."""


class ChangedMeanwhile(Refused):
    """An edit that would put back what others changed since it was begun. `paths`: the parts that
    it would put back; `now`: what the edit is to carry if it is wanted all the same."""

    def __init__(self, paths: Sequence[str], now: str):
        self.paths = paths
        self.now = now
        super().__init__("It was changed since you opened it. Open it again.")


class Removed(BenchsiteError):
    """Data that were there and are not kept any more; the text says since when and why."""


class Forbidden(BenchsiteError):
    """An action that this actor may not take on a row that it may see."""


class CorruptHistogram(BenchsiteError):
    """Bytes that are not an HdrHistogram V2 payload, or one larger than we accept."""
