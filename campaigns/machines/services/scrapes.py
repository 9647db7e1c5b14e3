"""What injector hosts need to scrape the exporters of targets, and what they tell of it. A machine
has one source in a run, whatever watches it: what several added up would count twice. Of the
exporters of one machine, that with chosen processes comes first, then the first by name; the
others' seconds count, under its name, only while it tells nothing."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Case, When
from django.db.models.functions import Coalesce, Now

from campaigns.core.dbtime import db_now
from campaigns.core.own_services import policy
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import RunState
from campaigns.domain.metrics.exporter import PROCESS
from campaigns.domain.metrics.machine import busy_s, machine_of, watched_s
from campaigns.domain.metrics.profiles import PerfOf, Profile
from campaigns.domain.plan.exporters import ExporterAddress
from campaigns.engine.services.shards import LATE_SECONDS
from campaigns.machines.models import EXPORTER_PROBLEM
from campaigns.models import Campaign, Exporter, MachineSecond, Run, RunEvent, RunProfile
from campaigns.operations.queries.load_control import LOAD_IS_OFF, why_load_is_off
from campaigns.projects.services.vault import decrypt
from campaigns.targets.queries import networks_for

_MOST_PROBLEM = 500
TELLING_S = 7  # an exporter that a run scrapes is stored every 2 s


@dataclass(frozen=True, slots=True)
class ScrapeOrder:
    """An exporter to scrape. `allowed` and `never` as in an order's policy; `fault`: why it cannot
    be scraped at all. `perf` and `profile`: what an agent is to count, and whom to record."""

    exporter: int
    name: str
    url: str
    verify_tls: bool
    is_server: bool
    allowed: tuple[str, ...]
    never: tuple[str, ...]
    ca_pem: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    fault: str = ""
    perf: PerfOf = PerfOf.NONE
    profile: PerfOf = PerfOf.NONE

    @property
    def address(self) -> ExporterAddress:
        return ExporterAddress.read(self.url)


_EXPORTERS = Exporter.objects.select_related("target")


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
    orders = [_order(each) for each in _EXPORTERS.filter(target__runs=run_id)]
    if not orders:
        return []
    campaign = Campaign.objects.get(runs=run_id)
    profile = campaign.perf_scope if campaign.profile else PerfOf.NONE
    return [replace(each, perf=PerfOf(campaign.perf), profile=profile) for each in orders]


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
        ca_pem=exporter.ca_pem,
        token=token,
        fault=fault,
    )


def what_to_scrape_once(*, exporter_id: int) -> tuple[ScrapeOrder, datetime] | None:
    """An exporter whose check is not answered yet, and when that was asked for."""
    exporter = _EXPORTERS.filter(pk=exporter_id).first()
    if exporter is None or exporter.asked_at is None:
        return None
    order = _order(exporter)
    return replace(order, fault=LOAD_IS_OFF) if why_load_is_off() else order, exporter.asked_at


def finish_exporter_check(
    *, order: ScrapeOrder, asked_at: datetime, offers: Iterable[str] = (), problem: str = ""
) -> bool:
    """Answer the check that was asked for then; False if it is answered already, or another
    address was entered meanwhile."""
    rows = Exporter.objects.filter(pk=order.exporter, url=order.url, asked_at=asked_at)
    return bool(
        rows.update(asked_at=None, **(_problem(problem) if problem else _success_columns(offers)))
    )


@transaction.atomic
def take_scraped(*, run_id: int, scraped: Sequence[Scraped]) -> None:
    """Store the seconds, and say on the pages of target and run what went wrong. The same seconds
    may be stored twice."""
    for order, last in {each.order: each for each in scraped}.items():
        state = _problem(last.problem) if last.problem else _success_columns(last.offers)
        if last.row:
            state["machine"] = machine_of(last.row.did)
        Exporter.objects.filter(pk=order.exporter, url=order.url).update(**state)
    rows = list(_rows(run_id, scraped))
    MachineSecond.objects.bulk_create(rows, ignore_conflicts=True)
    if rows:
        _note_late_seconds(run_id)
    RunEvent.objects.bulk_create(
        RunEvent(
            run_id=run_id,
            kind=EXPORTER_PROBLEM,
            data={"exporter": each.order.name, "problem": each.problem[:_MOST_PROBLEM]},
        )
        for each in scraped
        if each.problem
    )


def _note_late_seconds(run_id: int) -> None:
    """A run that has ended is judged again, by what its target's machine did as well. The run's
    lock orders the note before or after the summary's own read of notes."""
    ended = Run.objects.filter(pk=run_id, state__in=(RunState.FINALIZING, RunState.DONE))
    for late in ended.select_for_update(no_key=True):
        RunEvent.objects.create(run=late, kind=LATE_SECONDS, data={"from": "exporter"})


def take_profile(*, run_id: int, source: str, profile: Profile) -> None:
    """May be stored twice."""
    row = RunProfile(run_id=run_id, source=source, data=profile.to_json())
    RunProfile.objects.bulk_create([row], ignore_conflicts=True)


def _rows(run_id: int, scraped: Iterable[Scraped]) -> Iterator[MachineSecond]:
    """To store, each with the one source of its machine."""
    rows = [each.row for each in scraped if each.row]
    machines = {machine for row in rows if (machine := machine_of(row.did))}
    first: dict[str, Exporter] = {}
    telling = Case(When(told_at__gt=db_now(-TELLING_S), then=True), default=False)
    same = Exporter.objects.filter(target__runs=run_id, machine__in=machines).order_by("name")
    for each in sorted(same.annotate(is_telling=telling), key=_has_no_processes):
        first.setdefault(each.machine, each)
    for row in rows:
        exporter = first.get(machine_of(row.did))
        if exporter is None or exporter.name == row.source:
            yield row
        elif not exporter.is_telling:
            row.source = exporter.name
            yield row


def _has_no_processes(exporter: Exporter) -> bool:
    return not any(each.startswith(PROCESS) for each in exporter.offers)


def _success_columns(offers: Iterable[str]) -> dict[str, Any]:
    return {"told_at": Now(), "offers": list(offers), "problem": "", "problem_at": None}


def _problem(text: str) -> dict[str, Any]:
    """`problem_at` stays that of the first one since it told something."""
    return {"problem": text[:_MOST_PROBLEM], "problem_at": Coalesce("problem_at", Now())}


def machine_second(
    *, run: int, source: str, second: int, lasted_s: float, did: dict[str, Any]
) -> MachineSecond:
    """A row to store."""
    return MachineSecond(
        run_id=run,
        source=source,
        second=second,
        lasted_s=lasted_s,
        busy_s=busy_s(did),
        watched_s=watched_s(did),
        did=did,
    )
