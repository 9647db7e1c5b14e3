"""What tools printed on the target's machine: add it to a run, delete it."""

from django.db import transaction

from campaigns.domain.deeds import Deed
from campaigns.domain.errors import Refused
from campaigns.domain.printed.reading import read_output
from campaigns.models import Run, ToolOutput
from campaigns.permissions import Action, Actor, require
from campaigns.services import audit
from campaigns.services.caps import require_room_for_bytes
from campaigns.services.use import measure_outputs

MOST_OUTPUTS = 10  # of a run


@transaction.atomic
def add_output(*, by: Actor, run: Run, text: str) -> ToolOutput:
    """Keep the text as it is, with what it says. Raises InvalidFields with the line that was not
    understood, and Refused where a run or its project has no room for it."""
    project = run.campaign.project
    require(by, Action.EDIT, project)
    printed = read_output(text)
    require_room_for_bytes(project, len(text.encode()))
    # Counted after the room, whose lock lets two at once not exceed the limit together.
    if run.tool_outputs.count() >= MOST_OUTPUTS:
        raise Refused(f"Run {run.label} has {MOST_OUTPUTS} outputs. Delete one of them first.")
    output = ToolOutput.objects.create(
        run=run, tool=printed.tool, text=text, read=printed.to_json(), added_by=by.user
    )
    measure_outputs(run)
    audit.note(by, Deed.OUTPUT_ADDED, _label(output), project=project)
    return output


@transaction.atomic
def delete_output(*, by: Actor, output: ToolOutput) -> None:
    """No other result depends on it."""
    project = output.run.campaign.project
    require(by, Action.EDIT, project)
    audit.note(by, Deed.DELETED, _label(output), project=project)
    output.delete()
    measure_outputs(output.run)


def _label(output: ToolOutput) -> str:
    return f"output {output.pk}: {output.tool} of run {output.run.label}"
