"""What tools printed on the target's machine during a run.

Checks no permissions: callers pass runs found with visible_to.
"""

from dataclasses import dataclass

from campaigns.domain.shown.printed_table import printed_table
from campaigns.domain.shown.tables import Table
from campaigns.models import Run, ToolOutput


@dataclass(frozen=True, slots=True)
class OutputOfRun:
    """`unknown`: lines that hold no figure that is known."""

    output: ToolOutput
    table: Table
    unknown: tuple[str, ...]


def outputs_of_run(run: Run) -> list[OutputOfRun]:
    """In the order in which they were added."""
    rows = run.tool_outputs.defer("text").select_related("added_by")
    return [_of_run(row) for row in rows]


def output_tables(run: Run) -> list[Table]:
    return [each.table for each in outputs_of_run(run)]


def _of_run(row: ToolOutput) -> OutputOfRun:
    printed = row.printed
    return OutputOfRun(row, printed_table(printed, f"output-{row.pk}"), printed.unknown)
