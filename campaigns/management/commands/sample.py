"""`manage.py sample`: load the stored sample, run another here, wait for its end and print its
tables.

The sample: HTTP against HTTPS with a SOAP request, on the bundled demo target. It is created
through the services, as a user would; existing rows are reused, so that a second sample is in the
same project as the first.

The stored sample: a campaign that was measured once on a quiet machine, with all its raw rows.
Its summaries are made of these when it is loaded. Its plan and target are archived, so nobody
measures it again."""

import gzip
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import models, transaction
from django.db.models import Count, Q
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import create_campaign, start_campaign
from campaigns.core.permissions import Actor
from campaigns.core.tables import text_of_tables
from campaigns.domain.errors import BenchsiteError
from campaigns.domain.lifecycle import Outcome, RunState
from campaigns.domain.plan.presets import PRESETS
from campaigns.domain.presentation.sentences import plain_text
from campaigns.items.queries.items import (
    SAMPLE_CAMPAIGN,
    SAMPLE_PROJECT,
    STORED_SAMPLE,
    samples,
    stored_sample,
)
from campaigns.models import (
    Campaign,
    Endpoint,
    PlanVersion,
    Probe,
    Project,
    RequestsOfShard,
    Round,
    Run,
    SavedPlan,
    Shard,
    ShardSecond,
    Target,
)
from campaigns.operations.queries import why_load_is_off
from campaigns.plans.services import create_plan, edit_plan
from campaigns.probes.queries.first_requests import first_requests_of
from campaigns.probes.services.probes import try_again
from campaigns.projects.services import create_project
from campaigns.runs.queries.measurements import summary_of
from campaigns.runs.services import summarise_run
from campaigns.targets.services import create_target, edit_target

TARGET_NAME = "demo"
PRESET = PRESETS["https"]
HOST = "127.0.0.1"
# HTTP has no session to resume.
MODES = {"http": ("new", "keep-alive"), "https": ("new", "resumed", "keep-alive")}


def make_sample(by: Actor, http_port: int, https_port: int) -> Campaign:
    """A draft of the sample campaign: new, resumed and kept connections side by side."""
    project = Project.objects.visible_to(by).filter(name=SAMPLE_PROJECT).first()
    project = project or create_project(by=by, name=SAMPLE_PROJECT)
    # HTTP first. The demo target signs its certificate itself, so nobody can verify it.
    ports = {"http": http_port, "https": https_port}
    endpoint_values = [
        {"scheme": scheme, "host": HOST, "port": port, "verify_tls": False}
        for scheme, port in ports.items()
    ]
    target = project.targets.filter(name=TARGET_NAME, archived_at=None).first()
    if target is None:
        target = create_target(
            by=by, project=project, name=TARGET_NAME, environment=[], endpoints=endpoint_values
        )
    elif {(each.scheme, each.port) for each in _live(target)} != set(ports.items()):
        edit_target(
            by=by,
            target=target,
            name=target.name,
            environment=target.environment,
            endpoints=endpoint_values,
        )
    endpoints = sorted(_live(target), key=lambda endpoint: endpoint.scheme)
    name = PRESET.name
    plan = SavedPlan.objects.filter(project=project, name=name, archived_at=None).first()
    content = {"name": name, "spec": PRESET.spec}
    if plan is None:
        version = create_plan(by=by, project=project, **content)
    else:
        version = edit_plan(by=by, plan=plan, **content)
    return create_campaign(
        by=by,
        project=project,
        name=SAMPLE_CAMPAIGN,
        cells=[
            CampaignCell(version, endpoint, mode)
            for endpoint in endpoints
            for mode in MODES[endpoint.scheme]
        ],
    )


def latest_sample(by: Actor) -> Campaign | None:
    """The sample that was started last, whether it has ended or not."""
    return samples(by).filter(started_at__isnull=False).first()


def _live(target: Target) -> list[Endpoint]:
    return list(target.endpoints.filter(archived_at=None))


FILE = Path(__file__).with_name("stored_sample.jsonl.gz")
PROJECT, USER = "campaigns.project", "auth.user"
_ARCHIVED = {"campaigns.target", "campaigns.savedplan"}
# What is made again from the rows, or is of this installation.
_LEFT_OUT = {"judgement", "trust", "target_state", "precision", "machines", "archived_at"}


@transaction.atomic
def load_sample(by: Actor) -> Campaign:
    """The stored sample, in its project if nobody has loaded it there."""
    if sample := stored_sample(by):
        return sample
    project = Project.objects.visible_to(by).filter(name=SAMPLE_PROJECT).first()
    project = project or create_project(by=by, name=SAMPLE_PROJECT)
    with gzip.open(FILE, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    pks = _insert(rows, project=project.pk, user=by.user.pk)
    for run in Run.objects.filter(pk__in=pks["campaigns.run"]).order_by("position"):
        summarise_run(run)
    return Campaign.objects.get(pk__in=pks["campaigns.campaign"])


def _insert(rows: Iterable[dict[str, Any]], *, project: int, user: int) -> dict[str, list[int]]:
    """The new keys of the rows by model. A row refers to rows before it by their old keys."""
    new: dict[tuple[str, int], int] = {}
    pks: dict[str, list[int]] = {}
    for row in rows:
        name, values = row["model"], row["values"]
        model = apps.get_model(name)
        for field in model._meta.concrete_fields:
            value = values.get(field.attname)
            if field.is_relation and value is not None:
                of = field.related_model._meta.label_lower
                replacements = {PROJECT: project, USER: user}
                values[field.attname] = replacements[of] if of in replacements else new[of, value]
            elif isinstance(field, models.BinaryField):
                values[field.attname] = b64decode(value)
            elif isinstance(field, models.DateTimeField):
                values[field.attname] = value and datetime.fromisoformat(value)
        old = values.pop("id", None)
        if name in _ARCHIVED:
            values["archived_at"] = timezone.now()
        (new_row,) = model.objects.bulk_create([model(**values)])
        if old is not None:
            new[name, old] = new_row.pk
            pks.setdefault(name, []).append(new_row.pk)
    return pks


def freeze_sample(campaign: Campaign) -> None:
    """Write the rows of a campaign that has ended into the file that comes with benchsite."""
    tests, runs = campaign.tests.order_by("pk"), campaign.runs.order_by("position")
    endpoints = Endpoint.objects.filter(tests__in=tests).distinct()
    versions = PlanVersion.objects.filter(tests__in=tests).distinct()
    of_runs = {"run__in": runs}
    tables = [
        Target.objects.filter(endpoints__in=endpoints).distinct(),
        endpoints,
        SavedPlan.objects.filter(versions__in=versions).distinct(),
        versions,
        [campaign],
        tests,
        runs,
        Probe.objects.filter(campaign=campaign).order_by("pk"),
        Shard.objects.filter(**of_runs).order_by("pk"),
        ShardSecond.objects.filter(**of_runs).order_by("run", "shard", "second", "step"),
        Round.objects.filter(**of_runs).order_by("run", "number", "shard"),
        RequestsOfShard.objects.filter(**of_runs).order_by("run"),
    ]
    campaign.name = STORED_SAMPLE
    lines = [json.dumps(_plain(row)) for rows in tables for row in rows]
    with gzip.GzipFile(FILE, "wb", mtime=0) as file:
        file.write("\n".join(lines).encode())


def _plain(row: models.Model) -> dict[str, Any]:
    """Keys of people are those of who loads it."""
    values = {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if field.name not in _LEFT_OUT
    }
    for name, value in values.items():
        if isinstance(value, bytes | memoryview):
            values[name] = b64encode(bytes(value)).decode()
        elif isinstance(value, datetime):
            values[name] = value.isoformat()
    return {"model": row._meta.label_lower, "values": values}


POLL_S = 0.5
NEWS_S = 10.0


class Command(BaseCommand):
    help = "Runs the sample campaign on the bundled demo target."

    def add_arguments(self, parser):
        parser.add_argument("--wait", action="store_true", help="wait, then print the tables")
        parser.add_argument(
            "--unless-done", action="store_true", help="do nothing if a sample has already finished"
        )
        parser.add_argument(
            "--freeze", type=int, metavar="CAMPAIGN", help="make this campaign the stored sample"
        )
        parser.add_argument("--by", default="", help="the account that owns it")
        parser.add_argument("--http-port", type=int, default=8081)
        parser.add_argument("--https-port", type=int, default=8444)
        parser.add_argument(
            "--timeout",
            type=float,
            default=300.0,
            help="longest time to wait for the next run's end, seconds",
        )

    def handle(self, *args, **options):
        try:
            self._run(_owner(options["by"]), options)
        except BenchsiteError as error:
            raise CommandError(str(error)) from None

    def _run(self, by: Actor, options: dict) -> None:
        if number := options["freeze"]:
            latest = Campaign.objects.visible_to(by).filter(finished_at__isnull=False, pk=number)
            if not latest:
                raise CommandError(f"No campaign {number} has ended. Name one of yours that has.")
            freeze_sample(latest[0])
            return
        if latest_sample(by) is None:  # who deleted it does not get it again
            load_sample(by)
        campaign = latest_sample(by) if options["unless_done"] else None
        if campaign and campaign.finished_at:
            return
        if campaign is None:
            campaign = make_sample(by, options["http_port"], options["https_port"])
            start_campaign(by=by, campaign=campaign)
        elif campaign.is_held:
            try_again(by=by, campaign=campaign)
            campaign.refresh_from_db()
        self.stdout.write(f"Sample campaign, live at {_address(campaign)}")
        if options["wait"]:
            self._wait(campaign, options["timeout"])
            self._print_answer(campaign)
            # Raises CommandError with the reasons of the runs that did not end as planned.
            bad = campaign.runs.exclude(Q(state=RunState.DONE) & Q(outcome=Outcome.COMPLETE))
            sentences = [
                f"Run {run.label} ended {run.outcome}: {run.reason or 'no reason'}" for run in bad
            ]
            sentences += [sentence for run in campaign.runs.all() if (sentence := _errors_of(run))]
            if sentences:
                raise CommandError("The sample failed.\n  " + "\n  ".join(sentences))

    def _wait(self, campaign: Campaign, longest_s: float) -> None:
        """On a crowded machine the whole takes long, but each of its runs comes to an end."""
        news_at, until, n_done = time.monotonic(), time.monotonic() + longest_s, 0
        while campaign.finished_at is None:
            if campaign.is_held:
                back = first_requests_of(campaign)
                to_do = next((each.what_to_do for each in back.wrong), "")
                raise CommandError(f"The sample is on hold: {back.failure}. {to_do}")
            if why := why_load_is_off():
                place = settings.SITE_URL + reverse("load")
                raise CommandError(
                    f"The sample waits, because load is off. {why} Allow load at {place}"
                )
            if time.monotonic() >= news_at:
                # Also how many runs are done.
                n_ended = campaign.runs.filter(state=RunState.DONE).count()
                self.stdout.write(f"  {n_ended} of {campaign.runs.count()} runs done")
                if n_ended > n_done:
                    n_done, until = n_ended, time.monotonic() + longest_s
                news_at += NEWS_S
            if time.monotonic() > until:
                states = (
                    campaign.runs.values_list("state").annotate(n=Count("pk")).order_by("state")
                )
                words = ", ".join(f"{n} {state}" for state, n in states)
                raise CommandError(
                    f"No run of the sample has ended for {longest_s:g} s (runs: {words}). "
                    "Check that a launcher and a dispatcher are running; their logs say what is "
                    "wrong."
                )
            time.sleep(POLL_S)
            campaign.refresh_from_db()

    def _print_answer(self, campaign: Campaign) -> None:
        answer = campaign_answer(campaign)
        tables = [each.table for each in (*answer.tests, *answer.overheads)]
        self.stdout.write("\n" + plain_text(answer.sentence))
        answers = [f"{each.question} {each.word}. {each.reason}" for each in answer.answers]
        self.stdout.write("\n".join([*answer.grounds, *answer.caveats, *answers]) + "\n")
        self.stdout.write(text_of_tables(tables))
        self.stdout.write(f"Results with charts: {_address(campaign)}")


def _owner(name: str) -> Actor:
    """The named account, or the first administrator."""
    users = User.objects.filter(is_active=True)
    users = users.filter(username=name) if name else users.filter(is_superuser=True)
    user = users.order_by("pk").first()
    if user is None:
        raise CommandError("There is no such account. Create one with `manage.py ensure_admin`.")
    return Actor(user=user)


def _address(campaign: Campaign) -> str:
    return settings.SITE_URL + reverse("campaign-detail", args=[campaign.pk])


def _errors_of(run: Run) -> str:
    summary = summary_of(run)
    errors = summary.figures["errors"] if summary else {}
    if not errors:
        return ""
    words = ", ".join(f"{n} {kind}" for kind, n in errors.items())
    return f"Run {run.label} has failed requests: {words}."
