"""What tools printed on the target's machine: add it to a run, delete it."""

from django.db import transaction

from campaigns.core import audit
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.typed_text import clean_name
from campaigns.domain.units import size
from campaigns.models import Run, ToolOutput
from campaigns.operations.services.caps import measure_outputs, require_room_for_bytes

MOST_OUTPUTS = 10  # of a run
MOST_BYTES = 1_000_000


@transaction.atomic
def add_output(*, by: Actor, run: Run, tool: str, text: str) -> ToolOutput:
    """Keep the text as it is. Raises InvalidFields, and Refused where a run or its project has no
    room for it."""
    project = run.campaign.project
    require(by, Action.EDIT, project)
    tool = clean_name(tool)
    if errors := _faults(tool, text):
        raise InvalidFields(errors)
    require_room_for_bytes(project, len(text.encode()))
    # Counted after the room, whose lock lets two at once not exceed the limit together.
    if run.tool_outputs.count() >= MOST_OUTPUTS:
        raise Refused(f"Run {run.label} has {MOST_OUTPUTS} outputs. Delete one of them first.")
    output = ToolOutput.objects.create(run=run, tool=tool, text=text, added_by=by.user)
    measure_outputs(run)
    audit.note(by, AuditEvent.OUTPUT_ADDED, _label(output), project=project)
    return output


def _faults(tool: str, text: str) -> dict[str, str]:
    errors = {}
    if not 0 < len(tool) <= ToolOutput.MOST_TOOL:
        errors["tool"] = (
            f"Name the tool, such as vmstat, in at most {ToolOutput.MOST_TOOL} characters."
        )
    n_bytes = len(text.encode(errors="replace"))
    if n_bytes > MOST_BYTES:
        most = size(MOST_BYTES)
        errors["text"] = f"This is {size(n_bytes, MOST_BYTES)}. Add at most {most}."
    elif not text.strip():
        errors["text"] = "This is empty. Paste what the tool printed."
    elif "\x00" in text or any("\ud800" <= each <= "\udfff" for each in text):
        # PostgreSQL stores neither.
        errors["text"] = "This has NUL or half a surrogate pair. Paste text."
    return errors


@transaction.atomic
def delete_output(*, by: Actor, output: ToolOutput) -> None:
    """No other result depends on it."""
    project = output.run.campaign.project
    require(by, Action.EDIT, project)
    audit.note(by, AuditEvent.DELETED, _label(output), project=project)
    output.delete()
    measure_outputs(output.run)


def _label(output: ToolOutput) -> str:
    return f"output {output.pk}: {output.tool} of run {output.run.label}"
