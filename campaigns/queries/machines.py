"""What the target's machines did in a run, as their agents told it. Checks no permissions: callers
pass runs found with visible_to."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db.models.functions import Left, Length

from campaigns.domain.judged.injector_vitals import observed_vitals
from campaigns.domain.judged.judgement import limits_with
from campaigns.domain.judged.limit import limit_of
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.measured.machine_use import (
    MachinePoint,
    MachineUse,
    machine_use,
    n_whole_seconds,
)
from campaigns.domain.measured.perf_counts import PerfOf
from campaigns.domain.shown.limit_table import limit_table
from campaigns.domain.shown.machine_points import machine_columns
from campaigns.domain.shown.machine_table import machine_table
from campaigns.domain.shown.perf_table import no_perf_table, perf_table
from campaigns.domain.shown.tables import Table
from campaigns.models import Run, ToolOutput
from campaigns.queries.measurements import machines_of_run, of_latest_summary, whole_seconds
from campaigns.queries.retention import kept_of

MOST_SHOWN = 20_000  # characters of a tool's output on the run's page


def measured_machines(run: Run, duration_s: float) -> dict[str, list[MachinePoint]]:
    """The stored seconds of a measurement of this duration, by machine."""
    end = n_whole_seconds(duration_s)
    measured = {name: _measured(told, end) for name, told in machines_of_run(run).items()}
    return {name: points for name, points in measured.items() if points}


def uses_of(run: Run, points: dict[str, list[MachinePoint]]) -> list[MachineUse]:
    """What each machine did in the measured seconds; from what is kept, if its seconds are gone."""
    if not points:
        kept = (run.is_done and kept_of(run)) or {}
        return [MachineUse.from_json(each) for each in kept.get("machines", ())]
    end = whole_seconds(run)
    found = (machine_use(source, _measured(told, end), end) for source, told in points.items())
    return [use for use in found if use]


def _measured(points: list[MachinePoint], end: int | None) -> list[MachinePoint]:
    return [each for each in points if each.second >= 0 and (end is None or each.second < end)]


def outputs_of_run(run: Run) -> list[ToolOutput]:
    """What people added, in that order, with the `beginning` of each text: ten may be 10 MB."""
    rows = run.tool_outputs.defer("text")
    return list(rows.annotate(beginning=Left("text", MOST_SHOWN), n_characters=Length("text")))


def machine_report(run: Run) -> dict[str, Any]:
    """{"limit": the table of who was the limit, None until it is judged, "tables": a table for each
    machine, "perf": one for each perf stat, "columns": what the charts draw of the first machine,
    "source": its name}; columns are None without seconds."""
    points = machines_of_run(run)
    source = next(iter(points), "")
    limit, machines, perfs = _tables(run, points)
    return {
        "source": source,
        "columns": machine_columns(points[source]) if points else None,
        "limit": limit,
        "tables": machines,
        "perf": perfs,
    }


def machine_columns_between(run: Run, first: int, until: int) -> dict[str, list[Any]] | None:
    """What the charts draw of the machine of `machine_report` from second `first` to the one before
    `until`."""
    told = next(iter(machines_of_run(run).values()), [])
    points = [each for each in told if first <= each.second < until]
    return machine_columns(points) if points else None


def machine_tables(run: Run) -> list[Table]:
    """Who was the limit, and the tables of each machine that told something of the measurement."""
    limit, machines, perfs = _tables(run, machines_of_run(run))
    return [*([limit] if limit else []), *machines, *perfs]


def _tables(
    run: Run, points: dict[str, list[MachinePoint]]
) -> tuple[Table | None, list[Table], list[Table]]:
    """Who was the limit, the tables of the machines, and those of their perf stat."""
    # Ok requests/s of a run that has ended.
    duration_s = of_latest_summary(run, "duration_s") if run.is_done else None
    rate = run.n / duration_s if duration_s and run.n else None
    uses, seconds = uses_of(run, points), whole_seconds(run)
    nouns = run.frozen.plan.nouns
    machines = [machine_table(use, rate, seconds, nouns) for use in uses]
    perfs = [perf_table(use, rate, seconds) for use in uses if use.perf]
    if run.is_done and not perfs and (asked := PerfOf(run.campaign.perf)):
        perfs = [no_perf_table(asked)]
    return _limit_of_run(run, uses, rate), machines, [each.said_of(nouns) for each in perfs]


def _limit_of_run(run: Run, uses: Sequence[MachineUse], ok_per_s: float | None) -> Table | None:
    """None until the run is judged. `uses`: what the agents of its target told."""
    if not run.is_done or run.judged is None:
        return None
    plan, judged = run.frozen.plan, run.judged
    vitals = of_latest_summary(run, "vitals")
    return limit_table(
        limit_of(judged, uses, plan, ended_early=run.outcome != Outcome.COMPLETE),
        judged,
        observed_vitals(vitals or []),
        uses,
        (ok_per_s, plan.planned_rate_per_s),
        limits_with(settings.JUDGEMENT_LIMITS),
        plan.nouns,
    )
