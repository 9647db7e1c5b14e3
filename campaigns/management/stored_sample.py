"""The stored sample: a campaign that was measured once on a quiet machine, with all its raw rows.
Its summaries are made of these when it is loaded. Its plan and target are archived, so nobody
measures it again."""

import gzip
import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import models, transaction
from django.utils import timezone

from campaigns.core.permissions import Actor
from campaigns.items.queries.items import SAMPLE_PROJECT, STORED_SAMPLE, stored_sample
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
from campaigns.projects.services import create_project
from campaigns.runs.services import summarise_run

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
    pks = _inserted(rows, project=project.pk, user=by.user.pk)
    for run in Run.objects.filter(pk__in=pks["campaigns.run"]).order_by("position"):
        summarise_run(run)
    return Campaign.objects.get(pk__in=pks["campaigns.campaign"])


def _inserted(rows: Iterable[dict[str, Any]], *, project: int, user: int) -> dict[str, list[int]]:
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
        (added,) = model.objects.bulk_create([model(**values)])
        if old is not None:
            new[name, old] = added.pk
            pks.setdefault(name, []).append(added.pk)
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
