"""The world of the access tests with 200 of everything, made by copies in a few statements."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import Model
from django.utils import timezone

from campaigns.accounts.models import LastSeen
from campaigns.core.permissions import Role
from campaigns.domain.lifecycle import RunState
from campaigns.models import (
    ApiToken,
    AuditEntry,
    Baseline,
    Campaign,
    FailureExample,
    InjectorHost,
    KeptMinute,
    LoadControl,
    Membership,
    OwnTlsProfile,
    PlanSecret,
    Run,
    RunSummary,
    RunUse,
    Search,
    ShareLink,
    Test,
)
from tests.access_world import Rows, World
from tests.queues import make_queue

MANY = 200
# One row for the installation; one for a plan, which only its own page reads.
ALONE = {LoadControl, PlanSecret}

_M = TypeVar("_M", bound=Model)
_Change = Any | Callable[[int], Any]


def add_what_is_missing(world: World) -> None:
    """One of what the access tests need no row of, and a run that is being prepared."""
    run = world.rows["run"]
    texts = {"request": "GET /", "reply": "", "detail": ""}
    FailureExample.objects.create(
        run=run, shard=0, second=0, step=0, kind="status", status=500, at_us=1, **texts
    )
    KeptMinute.objects.create(run=run, minute=0, step=0, packed=bytes(run.seconds.first().packed))
    RunUse.objects.get_or_create(run=run, defaults={"project": world.rows["project"]})
    now = timezone.now()
    InjectorHost.objects.create(name="host", slots=1, started_at=now, seen_at=now, facts={})
    make_queue(world.rows["project"], 1, state=RunState.PREPARING)


def grow(world: World) -> None:
    """Then there are MANY of everything that was there, beside what is ALONE."""
    rows, n = world.rows, MANY - 1
    make_queue(rows["project"], n, state=RunState.PREPARING)
    _grow_people(rows, n)
    targets = _copies(rows["target"], n, name=_names("target"))
    _copies(rows["endpoint"], n, target_id=_of(targets))
    _copies(rows["exporter"], n, name=_names("exporter"))
    _grow_channels(rows, n)
    _copies(rows["probe"], n)
    _copies(OwnTlsProfile.objects.get(project=rows["project"]), n, name=_names("profile"))
    claims = _copies(rows["claim"], n, host=lambda number: f"host{number}.internal")
    _copies(rows["claim"].permits.get(), n, claim_id=_of(claims))
    versions = _grow_plans(rows, n)
    _grow_campaign(rows, n)
    _grow_campaigns(rows, versions)
    _grow_results(rows["run"], n)
    _grow_histories(rows, n)


def too_few() -> dict[str, int]:
    """The tables of which there are some rows, but not MANY."""
    models = set(apps.get_app_config("campaigns").get_models()) - ALONE
    counts = {each.__name__: each.objects.count() for each in models}
    return {name: count for name, count in counts.items() if 0 < count < MANY}


def _copies(row: _M, n: int, **changes: _Change) -> list[_M]:
    """So many rows as this one. What is changed may depend on the number of the copy, from 0."""
    kind = type(row)
    row = kind.objects.get(pk=row.pk)
    own = {each.attname for each in kind._meta.concrete_fields if each.primary_key}
    names = {each.attname for each in kind._meta.concrete_fields} - own
    values = {name: getattr(row, name) for name in names}
    return kind.objects.bulk_create(
        kind(**values | {name: _value(each, number) for name, each in changes.items()})
        for number in range(n)
    )


def _value(change: _Change, number: int) -> Any:
    return change(number) if callable(change) else change


def _names(word: str) -> Callable[[int], str]:
    return lambda number: f"copied {word} {number}"


def _of(rows: Sequence[Model]) -> Callable[[int], Any]:
    return lambda number: rows[number].pk


def _grow_channels(rows: Rows, n: int) -> None:
    """Each with a delivery; the first has one of each event."""
    channels = _copies(rows["channel"], n)
    events = _copies(rows["event"], n, key=_names("event"))
    _copies(rows["delivery"], n, channel_id=_of(channels))
    _copies(rows["delivery"], n, event_id=_of(events))


def _grow_people(rows: Rows, n: int) -> None:
    project = rows["project"]
    alice = project.memberships.get(role=Role.OWNER).user
    users = User.objects.bulk_create(User(username=f"user {number}") for number in range(n))
    _copies(rows["membership"], n, user_id=_of(users))
    _copies(rows["invitation"], n, token_hash=lambda number: f"{number:064}")
    _copies(rows["passkey"], n, user_id=_of(users))
    LastSeen.objects.bulk_create([LastSeen(user=each) for each in users])
    projects = _copies(project, n, name=_names("project"))
    Membership.objects.bulk_create(
        Membership(project=each, user=alice, role=Role.OWNER) for each in projects
    )
    token = ApiToken.objects.filter(user=alice).first()
    _copies(token, n, lookup=lambda number: f"{number:016}")
    share = ShareLink.objects.filter(project=project, revoked_at=None).first()
    _copies(share, n, token_hash=lambda number: f"{number:064}")
    _copies(rows["mark"], n, key=_names("key"))
    _copies(rows["note"], n, text=_names("note"))
    _copies(AuditEntry.objects.filter(project=project.pk).first(), n)
    _copies(InjectorHost.objects.get(), n, name=_names("host"))


def _grow_plans(rows: Rows, n: int) -> list[Model]:
    """The first versions of so many plans; the plan itself has more versions as well."""
    plans = _copies(rows["plan"], n, name=_names("plan"))
    _copies(rows["version"], n, number=lambda number: number + 2)
    return _copies(rows["version"], n, plan_id=_of(plans))


def _grow_campaign(rows: Rows, n: int) -> None:
    """More tests of the campaign, each with a run; more trials, and more runs that wait."""
    first = rows["run"]
    ends = _copies(rows["endpoint"], n, port=lambda number: 20_000 + number)
    tests = _copies(rows["test"], n, endpoint_id=_of(ends), position=lambda number: number + 2)
    runs = _copies(first, n, test_id=_of(tests), position=lambda number: number + 3)
    _copy_figures(rows, tests)
    _copy_results(first, runs)
    for name in ("search", "waiting", "held"):
        run = rows[name].runs.get()
        more = _copies(run, n, position=lambda number: number + 2, repeat=lambda number: number + 2)
        _copies(run.shards.get(), n, run_id=_of(more))
    _copies(rows["draft"].tests.get(), n, position=lambda number: number + 1, endpoint_id=_of(ends))
    rows["ends"], rows["tests"], rows["runs"] = ends, tests, runs


def _copy_figures(rows: Rows, tests: Sequence[Test], **changes: _Change) -> None:
    figures, n = rows["test"].figures, len(tests)
    ends = [each.endpoint_id for each in tests]
    changes |= {"endpoint_id": lambda number: ends[number]}
    values = {
        each.attname: getattr(figures, each.attname) for each in figures._meta.concrete_fields
    }
    type(figures).objects.bulk_create(
        type(figures)(
            **values
            | {"test_id": tests[number].pk, "campaign_id": tests[number].campaign_id}
            | {name: _value(each, number) for name, each in changes.items()}
        )
        for number in range(n)
    )


def _copy_results(run: Run, runs: Sequence[Run]) -> None:
    """What the run has, for each of these."""
    n = len(runs)
    had = (run.shards, run.events, run.machine_seconds, run.tool_outputs)
    summary = RunSummary.objects.get(run=run)
    for row in [summary, *(row for rows in (*had, run.failure_examples) for row in rows.all())]:
        _copies(row, n, run_id=_of(runs))
    RunUse.objects.bulk_create(
        RunUse(run=each, project_id=run.campaign.project_id) for each in runs
    )


def _grow_campaigns(rows: Rows, versions: Sequence[Model]) -> None:
    """More campaigns in each state, the ended ones with a run; each with a plan of its own."""
    n, ago = len(versions), timezone.now()
    for name in ("search", "draft", "waiting"):
        campaigns = _copies(rows[name], n, name=_names(name))
        of_them = _copies(
            rows[name].tests.first(), n, campaign_id=_of(campaigns), plan_version_id=_of(versions)
        )
        if name == "search":
            _copy_search(rows["search"], campaigns)
        if name != "draft":
            run = rows[name].runs.first()
            more = _copies(run, n, campaign_id=_of(campaigns), test_id=_of(of_them))
            _copies(run.shards.get(), n, run_id=_of(more))
    # Last, so that lists begin with them. A search of an earlier release is read trial by trial.
    past_campaigns = _copies(
        rows["campaign"],
        n,
        name=_names("campaign"),
        started_at=lambda number: ago - timedelta(days=number + 1),
        finished_at=lambda number: ago - timedelta(days=number + 1),
    )
    _grow_schedules(rows, past_campaigns)
    # The same test in all of them: a history of it.
    tests = _copies(rows["test"], n, campaign_id=_of(past_campaigns))
    runs = _copies(rows["run"], n, campaign_id=_of(past_campaigns), test_id=_of(tests))
    _copy_results(rows["run"], runs)
    _copy_figures(rows, tests, started_at=lambda number: past_campaigns[number].started_at)


def _grow_schedules(rows: Rows, campaigns: Sequence[Campaign]) -> None:
    """Each has started one of these; and the one of the world many."""
    n = len(campaigns)
    schedules = _copies(rows["schedule"], n, name=_names("schedule"))
    last = rows["schedule"].firings.get()
    _copies(last, n, schedule_id=_of(schedules), campaign_id=_of(campaigns))
    earlier = {"due_at": lambda number: last.due_at - timedelta(days=number + 1)}
    _copies(last, n, campaign_id=None, why_skipped="Load was off.", **earlier)


def _copy_search(campaign: Campaign, campaigns: Sequence[Campaign]) -> None:
    search = campaign.search
    values = {each.attname: getattr(search, each.attname) for each in search._meta.concrete_fields}
    Search.objects.bulk_create(Search(**values | {"campaign_id": each.pk}) for each in campaigns)


def _grow_results(run: Run, n: int) -> None:
    """More of what one run has."""
    _copies(run.shards.get(), n, number=lambda number: number + 1)
    _copies(run.events.first(), n)
    _copies(run.machine_seconds.first(), n, second=lambda number: number + 3)
    _copies(run.tool_outputs.first(), n)
    _copies(run.failure_examples.first(), n, second=lambda number: number + 1)
    for rows, place in ((run.seconds, "second"), (run.minutes, "minute")):
        first = rows.order_by("pk").first()
        fields = [each for each in first._meta.concrete_fields if each.attname != place]
        values = {each.attname: getattr(first, each.attname) for each in fields}
        type(first).objects.bulk_create(
            type(first)(**values | {place: number + 3}) for number in range(n)
        )


def _grow_histories(rows: Rows, n: int) -> None:
    tests, runs = rows["tests"], rows["runs"]
    baselines = _copies(rows["baseline"], n, endpoint_id=_of(rows["ends"]), test_id=_of(tests))
    through = Baseline.runs.through
    through.objects.bulk_create(
        through(baseline_id=baseline.pk, run_id=run.pk)
        for baseline, run in zip(baselines, runs, strict=True)
    )
    entry = rows["entry"]
    entries = _copies(entry, n)
    _copies(entry.changes.get(), n, entry_id=_of(entries), endpoint_id=_of(rows["ends"]))
