"""Stop runs: the request is stored beside the state, and the dispatcher acts on it. What tools
printed on the target's machine: add it to a run, delete it."""

from django.db import transaction
from django.db.models.functions import Now

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.lifecycle import ACTIVE_STATES, Outcome, RunState, ShardState
from campaigns.domain.stop_reasons import StopReason
from campaigns.domain.typed_text import clean_name
from campaigns.domain.units import size
from campaigns.live.notify import notify_viewers
from campaigns.models import Run, Shard, ToolOutput
from campaigns.permissions import Action, Actor, require, require_administrator
from campaigns.services import audit
from campaigns.services.caps import measure_outputs, require_room_for_bytes
from campaigns.stop_calls import StopCall, call

# Nothing is sent any more: a stop request would only change the outcome.
OVER = frozenset({RunState.FINALIZING, RunState.DONE})
STOPPED_BEFORE = "Stopped before it started."


def stop_run(*, by: Actor, run: Run) -> None:
    """Stop one run: a queued one ends at once, an active one stops sending within a second. A run
    that is already being stopped stays as it is. Raises Refused for one that is done."""
    require(by, Action.STOP, run.campaign.project)
    _stop(run, StopReason.USER, by)


def stop_any_run(*, by: Actor, run: Run) -> None:
    """As `stop_run`, for an administrator of the installation, whatever project the run is of."""
    require_administrator(by)
    _stop(run, StopReason.ADMINISTRATOR, by)


def _stop(run: Run, why: StopReason, by: Actor) -> None:
    call(StopCall(why, run=run.pk))
    with transaction.atomic():
        _store_stop(run, why, by)
        audit.note(by, AuditEvent.RUN_STOPPED, f"run {run.label}", project=run.campaign.project)


def _store_stop(run: Run, why: StopReason, by: Actor) -> None:
    lock_runs(Run.objects.filter(pk=run.pk))
    if end_queued(Run.objects.filter(pk=run.pk), Outcome.STOPPED, STOPPED_BEFORE):
        return
    request_stop(Run.objects.filter(pk=run.pk), why, by=by.user)
    if Run.objects.filter(pk=run.pk, state__in=OVER).exists():
        raise Refused(f"Run {run.label} has already ended; there is nothing to stop.")


def lock_runs(runs) -> None:
    """Keep the dispatcher from advancing these runs until the transaction ends. Otherwise a run
    could go from queued to active between the two queries and be missed by both. Not those that
    have stopped sending: there is nothing to stop, and a summary locks its run."""
    locked = runs.exclude(state__in=OVER).select_for_update(no_key=True, of=("self",))
    list(locked.order_by("pk").values_list("pk"))


def request_stop(runs, why: StopReason, by=None) -> int:
    """Store the stop request in the active ones among `runs`; the first request wins."""
    asked = runs.filter(state__in=ACTIVE_STATES - OVER, stop_requested=None)
    touched = list(asked.values_list("pk", "campaign_id"))
    n_asked = asked.update(stop_requested=why, stop_requested_by=by)
    for run_id, campaign_id in touched:
        notify_viewers(run_id=run_id, campaign_id=campaign_id)
    return n_asked


def end_queued(runs, outcome: Outcome, reason: str) -> int:
    """End the queued ones among `runs` without running them; returns their number."""
    waiting = list(runs.filter(state=RunState.QUEUED).values_list("pk", "campaign_id"))
    pks = [pk for pk, _ in waiting]
    n_ended = Run.objects.filter(pk__in=pks, state=RunState.QUEUED).update(
        state=RunState.DONE, outcome=outcome, reason=reason, ended_at=Now()
    )
    Shard.objects.filter(run__in=pks, run__state=RunState.DONE, state=ShardState.OPEN).update(
        state=ShardState.CANCELLED
    )
    for run_id, campaign_id in waiting:
        notify_viewers(run_id=run_id, campaign_id=campaign_id)
    return n_ended


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
