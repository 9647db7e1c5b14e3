"""Exporters of targets: our agent, node_exporter, or a server's own. Set, check and remove them. A
token is sent only to the origin that it was entered for: who enters another address enters it
again.

What injector hosts need to scrape the exporters of targets, and what they tell of it. A machine
has one source in a run, whatever watches it: what several added up would count twice. Of the
exporters of one machine, that with chosen processes comes first, then the first by name; the
others' seconds count, under its name, only while it tells nothing.

What tools printed on the target's machine: add it to a run, delete it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Case, Q, QuerySet, When
from django.db.models.functions import Coalesce, Now

from campaigns.core import audit, queue
from campaigns.core.database import ClockTimestamp, db_now
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.caps import STORED_GB
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.lifecycle import RunState
from campaigns.domain.metrics.machine import PROCESS, busy_s, machine_of, watched_s
from campaigns.domain.metrics.profiles import PerfOf, Profile
from campaigns.domain.plan.target import ExporterAddress, ExporterFields, check_exporter
from campaigns.domain.typed_text import Content, check_unchanged, clean_name
from campaigns.domain.units import size
from campaigns.engine.services.shards import LATE_SECONDS
from campaigns.machines.models import EXPORTER_PROBLEM
from campaigns.models import (
    Campaign,
    Exporter,
    MachineSecond,
    Run,
    RunEvent,
    RunProfile,
    Target,
    ToolOutput,
)
from campaigns.operations.models import AuditEvent
from campaigns.operations.queries import LOAD_IS_OFF, why_load_is_off
from campaigns.operations.services.caps import measure_outputs, require_room
from campaigns.operations.services.load_control import require_load_on
from campaigns.projects.services import decrypt, encrypt
from campaigns.targets.queries import networks_for, policy
from campaigns.targets.services import keep_target

MOST_EXPORTERS = 20  # of a target
CHECK_EVERY_S = 3
# One that hangs takes a worker a second.
ASK_AGAIN_EVERY_S, MOST_ASKED_AGAIN = 60.0, 20
_NAME_TAKEN = {"name": "The target already has a machine with this name. Choose another."}


@transaction.atomic
def add_exporter(*, by: Actor, target: Target, **fields: Any) -> Exporter:
    """`fields` as in domain.plan.target.check_exporter. Raises InvalidFields."""
    require(by, Action.EDIT, target.project)
    keep_target(target)  # which holds it, so that two at once do not exceed the limit together
    if target.archived_at:
        raise Refused(f"{target.name} is archived. Restore it first.")
    if target.exporters.count() >= MOST_EXPORTERS:
        raise Refused(f"{target.name} has {MOST_EXPORTERS} machines. Remove one of them first.")
    return _save(by, Exporter(target=target), check_exporter(**fields))


@transaction.atomic
def change_exporter(
    *, by: Actor, exporter: Exporter, opened: str | None = None, **fields: Any
) -> Exporter:
    """As `add_exporter`; without a token the stored one stays, "" removes it. `opened`: what the
    form was opened with. Raises ChangedMeanwhile."""
    require(by, Action.EDIT, exporter.target.project)
    values = check_exporter(**fields)
    # Read it anew: one that was removed since would come back with its token.
    try:
        exporter.refresh_from_db(from_queryset=Exporter.objects.select_for_update())
    except Exporter.DoesNotExist:
        raise Refused(f"{exporter.name} was removed meanwhile. Add it anew.") from None
    check_unchanged(opened, stored=content_of(exporter), wanted=content_of(values))
    if exporter.token and values.token is None:
        before, now = ((each.address.origin, each.ca_pem) for each in (exporter, values))
        if before != now or values.verify_tls < exporter.verify_tls:
            origin = f"{exporter.address.origin} as it is verified now"
            raise InvalidFields({"token": f"The stored token is for {origin}. Enter it again."})
    return _save(by, exporter, values)


def content_of(exporter: Exporter | ExporterFields) -> Content:
    """What `change_exporter` replaces, but for the token, which no form shows."""
    names = ("url", "name", "is_server", "verify_tls", "ca_pem")
    return {name: getattr(exporter, name) for name in names}


def _save(by: Actor, exporter: Exporter, fields: ExporterFields) -> Exporter:
    exporter.name, exporter.url = fields.name, fields.url
    exporter.verify_tls, exporter.ca_pem = fields.verify_tls, fields.ca_pem
    exporter.is_server = fields.is_server
    # What was told before was told by another address, or read otherwise.
    exporter.offers, exporter.told_at = [], None
    exporter.problem, exporter.problem_at = "", None
    deeds, token = [AuditEvent.EXPORTER_SET], fields.token
    # Without one the stored one stays; "" removes it.
    if token or (token == "" and exporter.token):
        exporter.token = encrypt(token) if token else ""
        deeds.append(AuditEvent.SECRET_STORED if token else AuditEvent.SECRET_DELETED)
    try:
        with transaction.atomic():
            exporter.save()
    except IntegrityError:
        raise InvalidFields(_NAME_TAKEN) from None
    for deed in deeds:
        audit.note(by, deed, _exporter_label(exporter), project=exporter.target.project)
    _ask_worker(Exporter.objects.filter(pk=exporter.pk), exporter.pk)
    return exporter


@transaction.atomic
def remove_exporter(*, by: Actor, exporter: Exporter) -> None:
    """It is not scraped by runs that begin from now on. What it told stays."""
    require(by, Action.EDIT, exporter.target.project)
    audit.note(by, AuditEvent.DELETED, _exporter_label(exporter), project=exporter.target.project)
    exporter.delete()


def _exporter_label(exporter: Exporter) -> str:
    return f"exporter {exporter.pk}: {exporter.name} of {exporter.target}, {exporter.url}"


@transaction.atomic
def ask_check(*, by: Actor, exporter: Exporter) -> None:
    """Have a worker scrape it once, to tell what it offers."""
    require(by, Action.EDIT, exporter.target.project)
    require_load_on()
    is_due = Q(asked_at=None) | Q(asked_at__lt=db_now(-CHECK_EVERY_S))
    if not _ask_worker(Exporter.objects.filter(is_due, pk=exporter.pk), exporter.pk):
        raise Refused(f"A check was asked for a moment ago. Try again in {CHECK_EVERY_S} s.")


def _ask_worker(rows: QuerySet[Exporter], pk: int) -> bool:
    n_asked = rows.update(asked_at=ClockTimestamp())
    if n_asked:
        queue.enqueue(queue.EXPORTER, [pk])
    return bool(n_asked)


def ask_again() -> int:
    """Have workers ask some of those in use, chosen by chance, so that pages and notifications say
    what is so now."""
    if why_load_is_off():
        return 0
    rows = Exporter.objects.outside_trash().filter(target__archived_at=None).order_by("?")
    pks = list(rows.values_list("pk", flat=True)[:MOST_ASKED_AGAIN])
    Exporter.objects.filter(pk__in=pks).update(asked_at=ClockTimestamp())
    for pk in pks:
        queue.send(queue.EXPORTER, [pk], expires_s=ASK_AGAIN_EVERY_S)
    return len(pks)


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
        # A run that has ended is judged again, by what its target's machine did as well. The
        # run's lock orders the note before or after the summary's own read of notes.
        is_over = Run.objects.filter(pk=run_id, state__in=(RunState.FINALIZING, RunState.DONE))
        for late in is_over.select_for_update(no_key=True):
            RunEvent.objects.create(run=late, kind=LATE_SECONDS, data={"from": "exporter"})
    RunEvent.objects.bulk_create(
        RunEvent(
            run_id=run_id,
            kind=EXPORTER_PROBLEM,
            data={"exporter": each.order.name, "problem": each.problem[:_MOST_PROBLEM]},
        )
        for each in scraped
        if each.problem
    )


def take_profile(*, run_id: int, source: str, profile: Profile) -> None:
    """May be stored twice."""
    row = RunProfile(run_id=run_id, source=source, data=profile.to_json())
    RunProfile.objects.bulk_create([row], ignore_conflicts=True)


def _rows(run_id: int, answers: Iterable[Scraped]) -> Iterator[MachineSecond]:
    """To store, each with the one source of its machine."""
    rows = [each.row for each in answers if each.row]
    machines = {machine for row in rows if (machine := machine_of(row.did))}
    first: dict[str, Exporter] = {}
    telling = Case(When(told_at__gt=db_now(-TELLING_S), then=True), default=False)
    same = Exporter.objects.filter(target__runs=run_id, machine__in=machines).order_by("name")
    # Those that watch processes come first.
    for each in sorted(
        same.annotate(is_telling=telling),
        key=lambda each: not any(offer.startswith(PROCESS) for offer in each.offers),
    ):
        first.setdefault(each.machine, each)
    for row in rows:
        exporter = first.get(machine_of(row.did))
        if exporter is None or exporter.name == row.source:
            yield row
        elif not exporter.is_telling:
            row.source = exporter.name
            yield row


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
    require_room(project, {STORED_GB: len(text.encode())})
    # Counted after the room, whose lock lets two at once not exceed the limit together.
    if run.tool_outputs.count() >= MOST_OUTPUTS:
        raise Refused(f"Run {run.label} has {MOST_OUTPUTS} outputs. Delete one of them first.")
    output = ToolOutput.objects.create(run=run, tool=tool, text=text, added_by=by.user)
    measure_outputs(run)
    audit.note(by, AuditEvent.OUTPUT_ADDED, _output_label(output), project=project)
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
    audit.note(by, AuditEvent.DELETED, _output_label(output), project=project)
    output.delete()
    measure_outputs(output.run)


def _output_label(output: ToolOutput) -> str:
    return f"output {output.pk}: {output.tool} of run {output.run.label}"
