"""A file makes a project as it says, all of it or nothing, and as it was previewed."""

import base64
import json

import pytest

from campaigns.core.permissions import Actor
from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.domain.plan.presets import PRESETS
from campaigns.manifest.content import exported
from campaigns.manifest.services import apply_manifest
from campaigns.models import AuditEntry, Campaign, PlanVersion, SavedPlan, Schedule, Target
from tests.engine.scenes import owner_of
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_target,
    make_test,
)

pytestmark = pytest.mark.django_db

FILE = """\
version: 1
targets:
  - name: shop
    endpoints: [{scheme: https, host: shop.example, port: 443}]
plans:
  - name: Checkout
    spec:
      steps: [{path: /cart}]
      load: {model: open, rate_per_s: 200, duration_s: 60}
campaigns:
  - name: Nightly checkout
    cells:
      - {plan: Checkout, target: shop, connection_mode: [new, keep-alive]}
schedules:
  - {name: Nightly, campaign: Nightly checkout, every: day, at: 12:30, zone: Europe/Paris}
"""


def apply(project, text=FILE, by=None, **options):
    return apply_manifest(by=by or owner_of(project), project=project, text=text, **options)


def actions(changes) -> dict[str, str]:
    return {each.name: each.action for each in changes.changes}


def faults(project, text) -> dict[str, str]:
    with pytest.raises(InvalidFields) as invalid:
        apply(project, text)
    return invalid.value.errors


def test_a_file_makes_what_it_says_once(project):
    assert set(actions(apply(project)).values()) == {"create"}
    draft = Campaign.objects.get()
    assert {test.connection_mode for test in draft.tests.all()} == {"new", "keep-alive"}
    schedule = Schedule.objects.get()
    assert (schedule.template, schedule.cron) == (draft, "30 12 * * *")
    again = apply(project)
    assert set(actions(again).values()) == {"keep"}
    assert (again.sentence, PlanVersion.objects.count()) == ("", 1)
    assert AuditEntry.objects.get(deed="file_applied").what == "4 created"


def test_a_preview_says_each_change_and_makes_none(project):
    apply(project)
    text = FILE.replace("rate_per_s: 200", "rate_per_s: 250").replace("at: 12:30", "at: 02:00")
    preview = apply(project, text, dry_run=True)
    fields = {
        (each.name, one.field): (one.before, one.after)
        for each in preview.changes
        for one in each.fields
    }
    assert fields == {
        ("Checkout", "spec.load.rate_per_s"): (200, 250),
        ("Nightly checkout", "cells.0.version"): (1, 2),
        ("Nightly checkout", "cells.1.version"): (1, 2),
        ("Nightly", "at"): ("12:30", "02:00"),
    }
    assert PlanVersion.objects.get().value().load.rate_per_s == 200
    assert Schedule.objects.get().cron == "30 12 * * *"


def test_only_what_was_previewed_is_applied(project):
    version = apply(project, dry_run=True).version
    assert apply(project, dry_run=True).version == version
    make_plan(project, "Checkout")
    with pytest.raises(Refused, match="has changed since the preview"):
        apply(project, version=version)
    assert not Target.objects.exists()
    assert actions(apply(project, version=apply(project, dry_run=True).version))["shop"] == "create"


def test_a_schedule_that_stays_as_it_is_keeps_its_owner(project, bob):
    apply(project)
    before = Schedule.objects.get()
    apply(project, FILE.replace("/cart", "/basket"), by=Actor(user=bob))
    after = Schedule.objects.get()
    assert (after.owner, after.next_at) == (before.owner, before.next_at)


def test_a_campaign_that_was_started_stays_and_a_draft_has_the_change(project):
    apply(project)
    Campaign.objects.update(started_at="2026-01-01T00:00Z")
    assert set(actions(apply(project)).values()) == {"keep"}
    changes = apply(project, FILE.replace("[new, keep-alive]", "new"))
    assert {"Nightly checkout": "change", "Nightly": "change"}.items() <= actions(changes).items()
    assert "has been started and stays" in changes.changes[2].note
    old, new = Campaign.objects.order_by("pk")
    assert (old.tests.count(), new.tests.count()) == (2, 1)
    assert Schedule.objects.get().template == new


@pytest.mark.parametrize(
    ("old", "new", "path", "words"),
    [
        ("port: 443", "port: 99999", "targets.0.endpoints.0.port", "Line 4: Ensure"),
        ("rate_per_s: 200", "rate: 200", "plans.0.spec.load.rate", "Line 9: There is no field"),
        ("plan: Checkout", "plan: Chekout", "campaigns.0.cells.0.plan", "Line 13: Neither the"),
        ("campaign: N", "campaign: M", "schedules.0.campaign", "Line 15: Neither the"),
        ("at: 12:30", "at: 25:00", "schedules.0.at", "Line 15: "),
        ("every: day, at: 12:30", "zone: UTC", "file", "Line 15: zone is here twice"),
        ("every: day, ", "", "schedules.0.cron", "Line 15: Write cron, or every and at."),
        ("name: shop", "name: 7", "targets.0.name", "Line 3: Write it in quotes."),
        ("version: 1", "version: 2", "version", "Line 1: This benchsite reads version 1."),
        ("name: Checkout", "secret: x", "plans.0.secret", "Line 6: Unknown field."),
        ("[new", "[newer", "campaigns.0.cells.0.connection_mode", "newer is none of new"),
        ("targets:", "targets: [", "file", "Line 3: "),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_nothing_is_made(project, old, new, path, words):
    assert words in faults(project, FILE.replace(old, new))[path]
    assert not Target.objects.exists()
    assert not SavedPlan.objects.exists()


def test_all_faults_are_said_at_once(project):
    wrong = FILE.replace("host: shop.example", "host: a/b").replace("path: /cart", "path: cart")
    assert [*faults(project, wrong)] == ["targets.0.endpoints.0.host", "plans.0.spec.steps.0.path"]


def test_two_of_one_name_are_refused(project):
    twice = FILE.replace("plans:\n", "plans:\n  - {name: Checkout, spec: {load: {}}}\n")
    assert faults(project, twice) == {"plans.1.name": "Line 7: Another one has this name."}


def test_an_endpoint_is_named_where_a_target_has_several(project):
    two = FILE.replace("port: 443}]", "port: 443}, {scheme: http, host: shop.example, port: 80}]")
    errors = faults(project, two)
    assert "https://shop.example:443" in errors["campaigns.0.cells.0.endpoint"]
    apply(project, two.replace("target: shop", "target: shop, endpoint: https"))
    assert {test.endpoint.scheme for test in Campaign.objects.get().tests.all()} == {"https"}


def test_what_a_section_does_not_name_goes_only_if_asked(project):
    in_use, idle = make_target(project, "used"), make_target(project, "unused")
    make_test(
        make_campaign(project, started_at="2026-01-01T00:00Z"), endpoint=make_endpoint(in_use)
    )
    old = make_plan(project, "old").plan
    text = "version: 1\ntargets: []\n"
    assert not apply(project, text).changes
    assert apply(project, text, prune=True, dry_run=True).sentence == "1 archived, 1 deleted"
    assert actions(apply(project, text, prune=True)) == {"used": "archive", "unused": "delete"}
    for each in (in_use, idle, old):
        each.refresh_from_db()
    assert idle.deleted_at
    assert in_use.archived_at
    assert not in_use.deleted_at
    assert old.archived_at is None, "the file has no plans"


def test_what_is_in_no_project_of_an_editor_is_refused(project, vera, charlie):
    for each in (vera, charlie):
        with pytest.raises(Forbidden):
            apply(project, by=Actor(user=each), dry_run=True)


SPECS = {name: preset.spec for name, preset in PRESETS.items()}
SPECS["files"] = {
    "steps": [
        {"method": "PUT", "path": "/", "body_file": base64.b64encode(b"x" * 9000).decode()},
        {
            "method": "POST",
            "multipart": [
                {"name": "a", "value": "b"},
                {"name": "f", "file": base64.b64encode(bytes(5000)).decode(), "filename": "f"},
            ],
        },
    ],
    "load": {"model": "closed", "connections": 2, "duration_s": 5},
}
SPECS["a day's users"] = {
    "steps": [
        {"path": "/", "headers": [["X-Day", "12:30"], ["X-Empty", ""]]},
        {"path": "/${n}", "extract": [{"name": "t", "pattern": "v=(.*)"}], "body": "no\n1e3\n"},
        {"path": "/${t}", "checks": [{"kind": "json", "value": "$.a", "equals": None}]},
    ],
    "load": {"model": "closed", "connections": 5, "duration_s": 60, "ramp_up_s": 2.5},
    "session": {"cookies": True, "think_time": {"kind": "constant", "mean_s": 1}},
    "flows": [
        {"name": "browse", "share": 90, "steps": 1},
        {"name": "buy", "share": 10, "steps": 2},
    ],
    "variables": {"csv": "n\n1\n2\n", "generators": [{"name": "id", "kind": "uuid"}]},
    "auth": {"kind": "basic", "user": "no"},
    "thresholds": [{"metric": "p95", "limit": 200, "unit": "ms"}],
    "timeouts": {"total_s": 3},
    "expected_status": ["200"],
}


def test_every_kind_of_plan_makes_the_same_in_an_empty_project(project, alice):
    empty = make_project(owner=alice)
    specs = {"12:30": next(iter(SPECS.values())), **SPECS}
    plans = [{"name": name, "spec": spec} for name, spec in specs.items()]
    apply(project, json.dumps({"version": 1, "plans": plans}))
    file = exported(project, "https://bench.example/schema")
    assert actions(apply(empty, file)) == dict.fromkeys(specs, "create")
    assert actions(apply(empty, file)) == dict.fromkeys(specs, "keep")
    for name in specs:
        first, second = (
            each.value() for each in PlanVersion.objects.filter(plan__name=name).order_by("pk")
        )
        assert first == second, name
