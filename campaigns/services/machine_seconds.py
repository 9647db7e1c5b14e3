"""Stores what was told of targets' machines, whoever told it: agents, or exporters.

A machine has one source in a run, whatever watches it: what several added up would count twice. The
source is the name by which an agent of the target calls it; an exporter of the same machine tells
under that name, and only what the agent does not tell.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from django.db.models import QuerySet

from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import RunState
from campaigns.domain.measured.machine import busy_s, machine_of, watched_s
from campaigns.models import MachineSecond, Run, RunEvent
from campaigns.services.shards import LATE_SECONDS

MOST_SOURCES = 20  # of a run


def machine_second(
    *, run: int, source: str, second: int, lasted_s: float, did, is_scraped: bool = False
) -> MachineSecond:
    """A row to store; `did` as in AgentSecond."""
    return MachineSecond(
        run_id=run,
        source=source,
        second=second,
        lasted_s=lasted_s,
        busy_s=busy_s(did),
        watched_s=watched_s(did),
        did=did,
        is_scraped=is_scraped,
    )


def require_sources(rows: Collection[MachineSecond]) -> None:
    """Raise Refused if one of them is of a machine more than its run may have. Call it in a
    transaction."""
    if _sources(rows) - _allowed(rows):
        raise Refused(f"This run has seconds of {MOST_SOURCES} machines; no more are taken.")


def with_sources(rows: Iterable[MachineSecond]) -> list[MachineSecond]:
    """Without those of a machine more than a run may have. Call it in a transaction."""
    rows = list(rows)
    known = _allowed(rows)
    return [row for row in rows if (row.run_id, row.source) in known]


def store_machine_seconds(*, rows: Collection[MachineSecond], told_by: str) -> None:
    """Store them; those that are stored already stay as they are. `told_by`: agent or exporter.
    Call it in a transaction."""
    seconds = defaultdict(list)
    for row in rows:
        if not row.is_scraped:
            seconds[row.run_id, row.source].append(row.second)
    for run, source in _sources(rows):
        scraped = MachineSecond.objects.filter(run=run, source=source, is_scraped=True)
        scraped.filter(second__in=seconds[run, source]).delete()
    MachineSecond.objects.bulk_create(rows, ignore_conflicts=True)
    _note_late({row.run_id for row in rows}, told_by)


def join_exporter(*, runs: Collection[int], machine: str, host: str) -> None:
    """An agent tells for the first time that it is on this machine: what an exporter told of it in
    these runs has its name from now on. Call it in a transaction."""
    told = MachineSecond.objects.filter(run__in=runs)
    taken = set(told.filter(source=host).values_list("run", "second"))
    others = told.filter(is_scraped=True).exclude(source=host).order_by("source", "second")
    same = {
        pk: second
        for pk, did, *second in others.values_list("pk", "did", "run", "second")
        if machine_of(did) == machine
    }
    twice = {pk for pk, (run, second) in same.items() if (run, second) in taken}
    told.filter(pk__in=twice).delete()
    told.filter(pk__in=same.keys() - twice).update(source=host)


def _sources(rows: Iterable[MachineSecond]) -> set[tuple[int, str]]:
    return {(row.run_id, row.source) for row in rows}


def _allowed(rows: Iterable[MachineSecond]) -> set[tuple[int, str]]:
    """Those of the rows' machines that their runs may have: one that always has another name must
    not fill the disk."""
    wanted = _sources(rows)
    allowed = {(run, source) for run, source in wanted if _told(run).filter(source=source).exists()}
    for run in sorted({run for run, _ in wanted - allowed}):
        # Held, so that two who bring a machine at once do not both bring the last one.
        Run.objects.select_for_update(no_key=True).filter(pk=run).first()
        told = set(_told(run).order_by().values_list("source", flat=True).distinct())
        new = sorted({source for each, source in wanted if each == run} - told)
        allowed |= {(run, source) for source in [*told, *new][:MOST_SOURCES]}
    return allowed


def _told(run: int) -> QuerySet[MachineSecond]:
    return MachineSecond.objects.filter(run=run)


def _note_late(runs: set[int], told_by: str) -> None:
    """Those that have ended are judged again, by what their target's machine did as well.

    The run's lock orders the note before or after the summary's own read of notes.
    """
    ended = Run.objects.filter(pk__in=runs, state__in=(RunState.FINALIZING, RunState.DONE))
    for run in ended.order_by("pk").select_for_update(no_key=True):
        RunEvent.objects.create(run=run, kind=LATE_SECONDS, data={"from": told_by})
