"""Tables of what `perf record` found: the functions of a run, and what changed between two
campaigns."""

from collections.abc import Sequence

from campaigns.domain.metrics.perf_counts import PerfOf
from campaigns.domain.metrics.profiles import Profile, faults_of, share_changes, together
from campaigns.domain.presentation.tables import (
    Column,
    Figure,
    Row,
    Table,
    column_cells,
    count_cell,
    text_cell,
)
from campaigns.domain.units import counted, duration

_SHARE = Column("share", "share", "% of CPU time", "Samples in this function / all samples.")
_OBJECT = Column("object", "object", "", "The program, library or kernel.", is_text=True)
_COMMAND = Column("command", "process", is_text=True)
_SAMPLES = Column("samples", "samples")
_UNASKED = (
    "No agent reported a profile. Start one of this release on the target's machine, or renew its "
    "agent.pyz."
)


def profile_table(source: str, profile: Profile, measured_s: float | None) -> Table:
    """A row for each function; without any, the note says why."""
    shares = column_cells(
        [Figure(100 * profile.share(each)) for each in profile.functions], decimals=1
    )
    rows = tuple(
        Row(
            each.symbol,
            (share, text_cell(each.command), text_cell(each.object), count_cell(each.samples)),
            "function",
        )
        for each, share in zip(profile.functions, shares, strict=True)
    )
    return _table(f"profile-{source}", f"Profile of {source}", rows, _note(profile, measured_s))


def no_profile_table(of: PerfOf) -> Table:
    """Of a run whose campaign asked for a profile, and nobody told one."""
    return _table("profile", f"Profile of {of.words}", (), _UNASKED)


def _table(key: str, title: str, rows: tuple[Row, ...], note: str) -> Table:
    columns = (_SHARE, _COMMAND, _OBJECT, _SAMPLES)
    return Table(key, title, columns, rows, label_title="function", note=note)


def _note(profile: Profile, measured_s: float | None) -> str:
    if profile.fault:
        return profile.fault
    whole, lasted = counted(profile.samples, "samples"), duration(profile.lasted_s)
    of = f"; the measurement took {duration(measured_s)}" if measured_s else ""
    return f"perf record of {profile.of.words}: {whole} in {lasted}{of}."


def compared_profiles_table(
    before: Sequence[Profile], after: Sequence[Profile], names: tuple[str, str], column: str
) -> Table | None:
    """`column`: of the candidate. None where neither side was asked for a profile."""
    if not before and not after:
        return None
    sides = together(before), together(after)
    lacking = [name for name, side in zip(names, sides, strict=True) if side is None]
    rows: tuple[Row, ...] = ()
    if not lacking:
        changes = share_changes(*sides)
        cells = [
            column_cells([Figure(100 * value) for value in values], decimals=1, signed=signed)
            for values, signed in (
                ([each.before for each in changes], False),
                ([each.after for each in changes], False),
                ([each.growth for each in changes], True),
            )
        ]
        rows = tuple(
            Row(each.symbol, (text_cell(each.object), *of_row), "function")
            for each, *of_row in zip(changes, *cells, strict=True)
        )
    columns = (
        _OBJECT,
        Column("baseline", names[0], "% of CPU time"),
        Column("candidate", names[1], "% of CPU time"),
        Column("difference", "difference", "points"),
    )
    title = "Functions whose share of the CPU time changed most"
    return Table(
        f"profile-{column}", title, columns, rows, "function", _why(lacking, before, after)
    )


def _why(lacking: Sequence[str], before: Sequence[Profile], after: Sequence[Profile]) -> str:
    if not lacking:
        return "Those that grew most, then those that fell most. 0: not among the 30 of a run."
    faults = faults_of([*before, *after])
    return " ".join([f"Nothing was recorded of {' and '.join(lacking)}.", *faults])
