"""A project with one of everything, and everybody who might ask for it.

OPEN stands in every name of the project, SECRET in what even a share link's visitor must not read:
headers, bodies, notes, and whatever belongs to another campaign. Neither reaches a stranger.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from http.cookies import SimpleCookie
from typing import Any

from django.test import Client
from django.utils import timezone

from campaigns.domain.plan.plan import Plan
from campaigns.models import (
    Agent,
    ApiToken,
    Probe,
    SavedView,
    Search,
    TimeMark,
    TriageChange,
    TriageEntry,
    TriageNote,
)
from campaigns.permissions import Actor, Role, Scope
from campaigns.services.baselines import make_baseline
from campaigns.services.kept_figures import keep_figures
from campaigns.services.shares import create_share
from campaigns.services.summaries import summarise_run
from campaigns.services.tokens import create_token
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_membership,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
    make_user,
    store_second,
)
from tests.values import make_second, plan_spec

OPEN, SECRET = "okapi", "zebrafish"
ROLES = {"alice": "owner", "bob": "editor", "oscar": "operator", "vera": "viewer"}


@dataclass
class World:
    """Rows by the noun under which addresses name them; sessions and tokens by who asks."""

    rows: dict[str, Any] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    share_tokens: dict[str, str] = field(default_factory=dict)
    # One for all: to load the middleware for every request would take most of the time.
    handler: Any = field(default_factory=lambda: Client().handler)

    def client(self, who: str) -> Client:
        """A fresh browser or program, so that no request changes how the next one asks."""
        token = self.tokens.get(who)
        client = Client(headers={"Authorization": f"Bearer {token}"} if token else None)
        client.handler = self.handler
        if who in self.sessions:
            client.cookies["sessionid"] = self.sessions[who]
        if who == "visitor":
            client.cookies = deepcopy(self._visitors_cookies)
        return client

    @cached_property
    def _visitors_cookies(self) -> SimpleCookie:
        """What the page behind the share link left in a browser: the page takes a while."""
        visitor = Client()
        visitor.get(f"/s/{self.share_tokens['campaign']}/")
        return visitor.cookies


def make_world() -> World:
    world = World()
    people = {name: make_user(name) for name in (*ROLES, "charlie")}
    people["adam"] = make_user("adam", is_superuser=True)
    project = make_project(f"{OPEN} team", owner=people["alice"])
    for name, role in ROLES.items():
        if name != "alice":
            make_membership(project, people[name], Role(role))
    make_project("Charlie's own", owner=people["charlie"])
    world.rows["project"] = project
    world.rows["membership"] = project.memberships.get(user=people["vera"])
    _describe(world, project)
    _measure(world, project)
    _change(world, project)
    _sign_in(world, people)
    _share(world, project, people)
    return world


def _describe(world: World, project) -> None:
    target = make_target(project, f"{OPEN} shop", environment=[["CPU", f"{OPEN} 9000"]])
    endpoint = make_endpoint(target, host=f"{OPEN}.internal")
    spec = plan_spec()
    spec["steps"][0]["headers"] = [["X-Api-Key", f"{SECRET}-header"]]
    spec["steps"][0]["body"] = f"<{SECRET}/>"
    world.rows |= {
        "target": target,
        "endpoint": endpoint,
        "https": make_endpoint(target, "https", host=f"{OPEN}.internal"),
        "version": make_plan(project, f"{OPEN} plan", Plan.from_json(spec).to_json()),
        "probe": Probe.objects.create(
            endpoint=endpoint,
            request=spec["steps"][0],
            finished_at=timezone.now(),
            result={"error": "refused", "detail": f"{SECRET}-detail"},
        ),
    }
    world.rows["plan"] = world.rows["version"].plan
    world.rows["agent"] = Agent.objects.create(
        target=target, lookup="0" * 16, token_hash="f" * 64, host=f"{OPEN}-1"
    )
    owner = project.memberships.get(role=Role.OWNER).user
    view = {"name": f"{SECRET} view", "query": "view=look"}
    world.rows["view"] = SavedView.objects.create(user=owner, project=project, **view)


def _measure(world: World, project) -> None:
    """A campaign that is done, a draft, and one that waits for an injector."""
    now = timezone.now()
    done = make_campaign(project, f"{OPEN} overhead", repeats=1, started_at=now, finished_at=now)
    rows, make = world.rows, make_test
    tests = [make(done, rows["version"], endpoint=rows[name]) for name in ("endpoint", "https")]
    world.rows |= {
        "campaign": done,
        "test": tests[0],
        "run": _done_run(tests[0]),
        "candidate": _done_run(tests[1]),
        "mark": TimeMark.objects.create(
            project=project, text=f"{OPEN} 1.4.2 deployed", at=now, key="1.4.2"
        ),
    }
    (world.rows["baseline"], *_) = make_baseline(
        by=Actor(user=project.memberships.get(role=Role.OWNER).user),
        project=project,
        name=f"{OPEN} 1.4",
        tests=tests,
    )
    draft = make_campaign(project, f"{SECRET} draft", repeats=1)
    make_test(draft, world.rows["version"], endpoint=world.rows["endpoint"])
    waiting = make_campaign(project, f"{SECRET} waiting", repeats=1, started_at=now)
    test = make_test(waiting, world.rows["version"], endpoint=world.rows["endpoint"])
    held = make_campaign(project, f"{SECRET} held", started_at=now, opened_at=None, held_at=now)
    make_run(make_test(held, world.rows["version"], endpoint=world.rows["endpoint"]))
    searched = make_campaign(project, f"{OPEN} search", repeats=1, started_at=now, finished_at=now)
    make_run(make_test(searched, world.rows["version"], endpoint=world.rows["endpoint"]))
    Search.objects.create(
        campaign=searched, start_per_s=1, limit_per_s=9, trial_s=5, deadline=now, ending="stopped"
    )
    world.rows |= {"draft": draft, "waiting": waiting, "held": held, "queued": make_run(test)}
    world.rows["search"] = searched


def _done_run(test):
    now = timezone.now()
    run = make_run(test, state="done", outcome="complete", t0=now, ended_at=now)
    for second in range(3):
        store_second(run, make_second(second, [1000 + 10 * n for n in range(40)]))
    summarise_run(run)
    keep_figures([test.pk])
    return run


def _change(world: World, project) -> None:
    """A change of level with a note."""
    rows, now = world.rows, timezone.now()
    entry = TriageEntry.objects.create(project=project, target=rows["target"])
    times = {"since_at": now, "after_at": now, "until_at": now}
    figures = {"before_us": 9.0, "after_us": 10.0, "ratio": 1.1, "low": 1.0, "high": 1.2}
    arm = {"endpoint": rows["endpoint"], "connection_mode": "new", "injectors": 1}
    TriageChange.objects.create(
        entry=entry,
        plan=rows["plan"],
        since=rows["campaign"],
        p_value=1e-4,
        **arm,
        **times,
        **figures,
    )
    TriageNote.objects.create(entry=entry, state="open", why=f"{SECRET} note")
    world.rows |= {"entry": entry, "triage": entry}


def _sign_in(world: World, people: dict) -> None:
    for name, user in people.items():
        client = Client()
        client.force_login(user)
        world.sessions[name] = client.cookies["sessionid"].value
    for owner, scope in [("alice", scope) for scope in Scope] + [
        ("charlie", Scope.WRITE),
        ("vera", Scope.WRITE),
    ]:
        by, name = Actor(user=people[owner]), SECRET if owner == "alice" else "job"
        _, text = create_token(by=by, name=name, scope=scope, days=1)
        world.tokens[f"{owner}'s {scope} token"] = text
    world.rows["token"] = ApiToken.objects.filter(user=people["alice"]).first()


def _share(world: World, project, people: dict) -> None:
    by = Actor(user=people["bob"])
    for noun in ("campaign", "run"):
        share, token = create_share(
            by=by, project=project, days=1, note=f"{SECRET} note", **{noun: world.rows[noun]}
        )
        world.share_tokens[noun] = token
        world.rows["share"] = share
