"""What injector hosts need to scrape the exporters of targets, and what they tell of it. Stores
what was told of targets' machines, whoever told it: agents, or exporters. A machine has one source
in a run, whatever watches it: what several added up would count twice. The source is the name by
which an agent of the target calls it; an exporter of the same machine tells under that name, and
only what the agent does not tell."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Case, QuerySet, When
from django.db.models.functions import Now

from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import RunState
from campaigns.domain.metrics.machine import busy_s, machine_of, watched_s
from campaigns.domain.plan.exporters import ExporterAddress
from campaigns.models import Agent, Exporter, MachineSecond, Run, RunEvent
from campaigns.models.dbtime import db_now
from campaigns.models.machines import EXPORTER_PROBLEM
from campaigns.queries.load_control import LOAD_IS_OFF, why_load_is_off
from campaigns.queries.ownership import networks_for
from campaigns.services.own_services import policy
from campaigns.services.shards import LATE_SECONDS
from campaigns.services.vault import decrypt

_MOST_PROBLEM = 500
# An agent that the site answers reports every 2 s.
TELLING_S = 7


@dataclass(frozen=True, slots=True)
class ScrapeOrder:
    """An exporter to scrape. `allowed` and `never` as in an order's policy; `fault`: why it cannot
    be scraped at all."""

    exporter: int
    name: str
    url: str
    verify_tls: bool
    is_server: bool
    allowed: tuple[str, ...]
    never: tuple[str, ...]
    token: str = field(default="", repr=False)
    fault: str = ""

    @property
    def address(self) -> ExporterAddress:
        return ExporterAddress.read(self.url)


@dataclass(frozen=True, slots=True)
class Scraped:
    """What came of asking an exporter in a run: what it offers, in words, with a second of the run
    if there is one; or why it tells nothing, and what to do."""

    order: ScrapeOrder
    row: MachineSecond | None = None
    offers: tuple[str, ...] = ()
    problem: str = ""


def exporters_to_scrape(*, run_id: int) -> list[ScrapeOrder]:
    """Those of the run's target, as they are now."""
    found = Exporter.objects.filter(target__runs=run_id).select_related("target")
    return [_order(each) for each in found]


def _order(exporter: Exporter) -> ScrapeOrder:
    """As this host has it: its own list may be narrower than the site's."""
    where = policy(networks_for(exporter.target.project_id, exporter.address.origin.host))
    token, fault = "", ""
    try:
        token = decrypt(exporter.token) if exporter.token else ""
    except Refused as refusal:
        fault = str(refusal)
    return ScrapeOrder(
        exporter=exporter.pk,
        name=exporter.name,
        url=exporter.url,
        verify_tls=exporter.verify_tls,
        is_server=exporter.is_server,
        allowed=tuple(where["allow"]),
        never=tuple(where["never"]),
        token=token,
        fault=fault,
    )


def what_to_scrape_once(*, exporter_id: int) -> tuple[ScrapeOrder, datetime] | None:
    """An exporter whose check is not answered yet, and when that was asked for."""
    found = Exporter.objects.select_related("target").filter(pk=exporter_id).first()
    if found is None or found.asked_at is None:
        return None
    order = _order(found)
    return replace(order, fault=LOAD_IS_OFF) if why_load_is_off() else order, found.asked_at


def finish_exporter_check(
    *, order: ScrapeOrder, asked_at: datetime, offers: Iterable[str] = (), problem: str = ""
) -> bool:
    """Answer the check that was asked for then; False if it is answered already, or another
    address was entered meanwhile."""
    asked = Exporter.objects.filter(pk=order.exporter, url=order.url, asked_at=asked_at)
    return bool(
        asked.update(asked_at=None, **(_problem(problem) if problem else _success_columns(offers)))
    )


@transaction.atomic
def take_scraped(*, run_id: int, scraped: Sequence[Scraped]) -> None:
    """Store the seconds, and say on the pages of target and run what went wrong. The same seconds
    may be stored twice. Those of a machine that an agent of the target watches as well count only
    while the agent is not heard, and those of a machine more than a run may have not at all."""
    for order, last in {each.order: each for each in scraped}.items():
        state = _problem(last.problem) if last.problem else _success_columns(last.offers)
        if last.row:
            state["machine"] = machine_of(last.row.did)
        Exporter.objects.filter(pk=order.exporter, url=order.url).update(**state)
    # Without those of a machine more than a run may have. Call it in a transaction.
    rows = list(_rows(run_id, scraped))
    known = _allowed(rows)
    store_machine_seconds(
        rows=[row for row in rows if (row.run_id, row.source) in known], told_by="exporter"
    )
    RunEvent.objects.bulk_create(
        RunEvent(
            run_id=run_id,
            kind=EXPORTER_PROBLEM,
            data={"exporter": each.order.name, "problem": each.problem[:_MOST_PROBLEM]},
        )
        for each in scraped
        if each.problem
    )


def _rows(run_id: int, scraped: Iterable[Scraped]) -> Iterator[MachineSecond]:
    """To store, each with the one source of its machine."""
    told = [each.row for each in scraped if each.row]
    machines = {machine for row in told if (machine := machine_of(row.did))}
    agents = _agents(run_id, machines)
    exporters = Exporter.objects.filter(target__runs=run_id, machine__in=machines).order_by("-name")
    first = dict(exporters.values_list("machine", "name"))
    for row in told:
        machine = machine_of(row.did)
        agent = agents.get(machine)
        if agent is None or not agent.is_telling:
            row.source = agent.host if agent else first.get(machine, row.source)
            yield row


def _agents(run_id: int, machines: Collection[str]) -> dict[str, Agent]:
    """Of the target, by machine: the one heard last, with whether it `is_telling`."""
    telling = Case(When(heard_at__gt=db_now(-TELLING_S), then=True), default=False)
    agents = Agent.objects.filter(target__runs=run_id, revoked_at=None, machine__in=machines)
    return {each.machine: each for each in agents.annotate(is_telling=telling).order_by("heard_at")}


def _success_columns(offers: Iterable[str]) -> dict[str, Any]:
    return {"told_at": Now(), "offers": list(offers), "problem": "", "problem_at": None}


def _problem(text: str) -> dict[str, Any]:
    return {"problem": text[:_MOST_PROBLEM], "problem_at": Now()}


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
    # Those that have ended are judged again, by what their target's machine did as well. The run's
    # lock orders the note before or after the summary's own read of notes.
    ended = Run.objects.filter(
        pk__in={row.run_id for row in rows}, state__in=(RunState.FINALIZING, RunState.DONE)
    )
    for late in ended.order_by("pk").select_for_update(no_key=True):
        RunEvent.objects.create(run=late, kind=LATE_SECONDS, data={"from": told_by})


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
    allowed = {
        (run, source)
        for run, source in wanted
        if _stored_seconds(run).filter(source=source).exists()
    }
    for run in sorted({run for run, _ in wanted - allowed}):
        # Held, so that two who bring a machine at once do not both bring the last one.
        Run.objects.select_for_update(no_key=True).filter(pk=run).first()
        told = set(_stored_seconds(run).order_by().values_list("source", flat=True).distinct())
        new = sorted({source for each, source in wanted if each == run} - told)
        allowed |= {(run, source) for source in [*told, *new][:MOST_SOURCES]}
    return allowed


def _stored_seconds(run: int) -> QuerySet[MachineSecond]:
    return MachineSecond.objects.filter(run=run)
