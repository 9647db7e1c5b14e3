"""What a project has, as benchsite.yaml has it: each of its targets, plans, campaigns and schedules
without what is at its default, and without secrets. A name that begins with `_` is a fact about it,
which is compared and not exported."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet
from rest_framework import serializers

from campaigns.campaigns.queries.campaigns import archived_part
from campaigns.campaigns.queries.cells import sweep_of
from campaigns.campaigns.queries.references import reference_endpoint, reference_version
from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.fields import chosen_json
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.sweep import INJECTORS, Sweep
from campaigns.domain.plan.tls_options import TlsOptions
from campaigns.domain.timetable import read_daily
from campaigns.domain.yaml_text import written_yaml
from campaigns.manifest.schema import MOST_ITEMS, ManifestCampaign, ManifestSchedule
from campaigns.models import (
    Campaign,
    Endpoint,
    PlanVersion,
    Project,
    SavedPlan,
    Schedule,
    Target,
    Test,
)
from campaigns.plans.services import load_bodies

Content = dict[str, Any]
MOST_FILE_BYTES = 256 * 1024  # of a plan's bodies, beyond which the file has their digests
_OF_STEP = {"label", "headers", "body", "extract"}  # left out where empty


class ManifestSection(NamedTuple):
    """A project's rows of one section of the file, and what one of them is."""

    rows: QuerySet
    content_of: Callable[[Any], Content]


def _targets(project: Project) -> ManifestSection:
    """Without the installation's own, of which each project makes its copy by itself."""
    rows = Target.objects.filter(project=project, archived_at=None, is_kept=True)
    own = reference_endpoint(project)
    rows = rows.exclude(pk=own.target_id) if own else rows
    in_use = Prefetch("endpoints", Endpoint.objects.filter(archived_at=None), to_attr="in_use")
    return ManifestSection(rows.prefetch_related(in_use), _target)


def _plans(project: Project) -> ManifestSection:
    rows = SavedPlan.objects.filter(project=project, archived_at=None)
    own = reference_version(project)
    rows = rows.exclude(pk=own.plan_id) if own else rows
    latest = PlanVersion.objects.order_by("plan_id", "-number").distinct("plan_id")
    rows = rows.prefetch_related(Prefetch("versions", latest, to_attr="only_latest"))
    return ManifestSection(
        rows.select_related("project"),
        lambda plan: {**_name_and_tags(plan), "spec": chosen_spec(plan.only_latest[0].value())},
    )


def _campaigns(project: Project) -> ManifestSection:
    """What a file may mean by a campaign of a name is the first: what a schedule copies, a draft,
    the newest. Not what schedules have started."""
    rows = Campaign.objects.outside_trash().filter(project=project, search=None, firing=None)
    is_template = Exists(Schedule.objects.filter(template=OuterRef("pk")))
    rows = rows.alias(is_copied=is_template).filter(Q(archived_at=None) | Q(is_copied=True))
    tests = Test.objects.select_related("plan_version__plan", "endpoint__target")
    in_use = Endpoint.objects.filter(archived_at=None)
    rows = rows.select_related("project").prefetch_related(
        Prefetch("tests", tests.order_by("position"), to_attr="in_order"),
        Prefetch("in_order__endpoint__target__endpoints", in_use, to_attr="in_use"),
    )
    own = reference_version(project), reference_endpoint(project)
    return ManifestSection(
        rows.order_by("name", "-is_copied", "-started_at", "-pk"),
        lambda campaign: _campaign(campaign, own),
    )


# In this order a row needs only those before it.
SECTIONS: dict[str, Callable[[Project], ManifestSection]] = {
    "tls_profiles": lambda project: ManifestSection(
        project.tls_profiles.all(),
        lambda profile: {"name": profile.name, **TlsOptions(**profile.offers).chosen()},
    ),
    "targets": _targets,
    "plans": _plans,
    "campaigns": _campaigns,
    "schedules": lambda project: ManifestSection(
        project.schedules.select_related("template", "project"), _schedule
    ),
}


def _target(target: Target) -> Content:
    endpoints = [each.described().to_json() for each in target.in_use]
    for each in endpoints:
        if each.get("verify_tls"):
            del each["verify_tls"]
    facts = {"environment": target.environment} if target.environment else {}
    return {**_name_and_tags(target), **facts, "endpoints": endpoints}


def chosen_spec(plan: Plan) -> Content:
    """A plan's JSON without what is at its default: it is read as the same plan."""
    spec = chosen_json(plan)
    if "steps" in spec:
        spec["steps"] = [
            {name: value for name, value in step.items() if value or name not in _OF_STEP}
            for step in spec["steps"]
        ]
    try:
        is_same = Plan.from_json(spec) == plan
    except InvalidPlan:
        is_same = False
    return spec if is_same else plan.to_json()


def _campaign(campaign: Campaign, own: tuple[PlanVersion | None, Endpoint | None]) -> Content:
    """`own`: the project's reference. Raises ValueError with why a file can't have it."""
    all_tests = campaign.in_order
    tests = [each for each in all_tests if (each.plan_version, each.endpoint) != own]
    settings: Content = {}
    sweep = sweep_of(tests)
    counts = list(dict.fromkeys(test.injectors for test in tests))
    if sweep is not None:
        settings["sweep"] = {"field": sweep.field, "values": list(sweep.values)}
    elif len(counts) > 1:
        sweep = Sweep(INJECTORS, tuple(counts))
        settings["sweep"] = counts
    if len(counts) == 1:
        settings["injectors"] = counts[0]
    cells = {
        (test.plan_version_id, test.endpoint_id, test.connection_mode): _cell(test)
        for test in tests
    }
    if len(tests) != len(list(product(cells, sweep.values if sweep else [0]))):
        raise ValueError("its tests differ in more than a file says")
    for name in ("limit_s", "until_settled", "pause_s", "keeps_going", "perf", "profile"):
        settings[name] = getattr(campaign, name)
    settings["practical_threshold"] = campaign.practical_threshold
    settings["reference"] = len(tests) < len(all_tests)
    return {
        **_name_and_tags(campaign),
        "cells": list(cells.values()),
        "order": campaign.order,
        "repeats": campaign.repeats,
        **_settings(ManifestCampaign, settings),
    }


def _cell(test: Test) -> Content:
    plan, endpoint = test.plan_version.plan, test.endpoint
    if why := archived_part(plan, endpoint):
        raise ValueError(why.removesuffix("."))
    is_only = len(endpoint.target.in_use) == 1
    return {
        "plan": plan.name,
        "target": endpoint.target.name,
        **({} if is_only else {"endpoint": str(endpoint)}),
        "connection_mode": test.connection_mode,
        "_version": test.plan_version.number,
    }


def _schedule(schedule: Schedule) -> Content:
    """Raises ValueError with why a file can't have it."""
    template, daily = schedule.template, read_daily(schedule.cron)
    if template is None or template.deleted_at:
        raise ValueError("its campaign was deleted")
    times = dict(zip(("every", "at"), daily, strict=True)) if daily else {"cron": schedule.cron}
    settings = {name: getattr(schedule, name) for name in ("zone", "when_quiet", "result_within_h")}
    return {
        "name": schedule.name,
        "campaign": template.name,
        **times,
        **_settings(ManifestSchedule, settings),
        "_starts_from": "a draft" if template.started_at is None else "one that has run",
    }


def _name_and_tags(item: Target | SavedPlan | Campaign) -> Content:
    return {"name": item.name, **({"tags": item.tags} if item.tags else {})}


def _settings(kind: type[serializers.Serializer], values: Mapping[str, Any]) -> Content:
    usual = {name: field.default for name, field in kind().fields.items()}
    return {name: value for name, value in values.items() if value != usual[name]}


def exported(project: Project, schema_url: str) -> str:
    """A file that makes the same in an empty project. What it can't have is named at its top."""
    left_out: list[str] = []
    sections: dict[str, list[Content]] = {}
    for section, of_project in SECTIONS.items():
        rows, content_of = of_project(project)
        if section == "campaigns":
            rows = rows.filter(Q(started_at=None) | Q(is_copied=True))
        contents = list(_contents_of(rows, content_of, section, left_out))
        if section == "plans":
            # The bytes of stored bodies in place of their digests, while there is room.
            bodies = load_bodies(project.pk, [each["spec"] for each in contents]).get("bodies", {})
            n_bytes_left = MOST_FILE_BYTES
            for holder in _holders(contents):
                for name in ("body_file", "file"):
                    file = holder.get(name)
                    data = bodies.get(file.get("sha256")) if isinstance(file, dict) else None
                    if data is not None and len(data) <= n_bytes_left:
                        holder[name] = data
                        n_bytes_left -= len(data)
        if contents:
            sections[section] = contents
    head = [f"# yaml-language-server: $schema={schema_url}"]
    head += [f"# Left out: {each}." for each in left_out]
    return "\n".join([*head, written_yaml({"version": 1, **sections})])


def _contents_of(
    rows: QuerySet, content_of: Callable[[Any], Content], section: str, left_out: list[str]
) -> Iterator[Content]:
    names = set()
    noun = section.removesuffix("s").replace("_", " ")
    for row in rows:
        if row.name in names:
            left_out.append(f"another {noun} named {row.name}")
            continue
        try:
            content = content_of(row)
        except ValueError as why:
            left_out.append(f"{noun} {row.name}: {why}")
            continue
        if len(names) == MOST_ITEMS:
            left_out.append(f"{noun}s after the first {MOST_ITEMS}")
            return
        names.add(row.name)
        yield _public(content)


def _public(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _public(each) for name, each in value.items() if not name.startswith("_")}
    return [_public(each) for each in value] if isinstance(value, list) else value


def _holders(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from _holders(each)
