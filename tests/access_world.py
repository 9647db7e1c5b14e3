"""A project with one of everything, and everybody who might ask for it.

OPEN is in every name of the project, SECRET in what even a share link's visitor must not read:
headers, bodies, notes, and whatever belongs to another campaign. Neither reaches a stranger.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from http.cookies import SimpleCookie
from itertools import count
from types import SimpleNamespace
from typing import Any

from allauth.account.app_settings import PASSWORD_RESET_TOKEN_GENERATOR
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from campaigns.accounts.services import invite
from campaigns.accounts.tokens import create_share, create_token
from campaigns.core.permissions import Actor, Role, Scope
from campaigns.domain.plan.body import Blob
from campaigns.domain.plan.plan import Plan
from campaigns.machines.models import EXPORTER_PROBLEM
from campaigns.models import (
    ApiToken,
    Baseline,
    Campaign,
    Exporter,
    FailureExample,
    Firing,
    HostClaim,
    HostPermit,
    MachineSecond,
    Note,
    OwnTlsProfile,
    PlanVersion,
    Probe,
    Project,
    RunEvent,
    Schedule,
    Search,
    ShareLink,
    Test,
    TimeMark,
    ToolOutput,
    TriageChange,
    TriageEntry,
)
from campaigns.notifications.models import Event, NotificationDelivery
from campaigns.runs.services import keep_figures, summarise_run
from tests.accounts.scenes import add_passkey
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
from tests.notifications.scenes import make_channel
from tests.values import make_second, plan_spec

OPEN, SECRET = "okapi", "zebrafish"
# In every name of charlie's project, of which alice and her team are no members.
FOREIGN = "quokka"
ROLES = {"alice": "owner", "bob": "editor", "oscar": "operator", "vera": "viewer"}
DEAD_TOKENS = {"alice's revoked token", "alice's expired token", "dana's write token"}
Rows = dict[str, Any]


@dataclass
class World:
    """Rows by the noun under which addresses name them; sessions and tokens by who asks."""

    rows: Rows = field(default_factory=dict)
    foreign: Rows = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    share_tokens: dict[str, str] = field(default_factory=dict)
    _addresses: Iterator[int] = field(default_factory=count)
    # One for all: to load the middleware for every request would take most of the time.
    handler: Any = field(default_factory=lambda: Client().handler)

    def client(self, who: str) -> Client:
        """A fresh browser or program, so that no request changes how the next one asks."""
        token = self.tokens.get(who)
        headers = {"Authorization": f"Bearer {token}"} if token else None
        client = Client(headers=headers, REMOTE_ADDR=self._address_of(who))
        client.handler = self.handler
        if who in self.sessions:
            client.cookies["sessionid"] = self.sessions[who]
        if who == "visitor":
            client.cookies = deepcopy(self._visitors_cookies)
        return client

    def _address_of(self, who: str) -> str:
        """Wrong tokens come from everywhere: 30 a minute of one address are throttled."""
        if who not in DEAD_TOKENS:
            return "127.0.0.1"
        number = next(self._addresses)
        return f"127.9.{number // 250 % 250}.{number % 250}"

    @cached_property
    def _visitors_cookies(self) -> SimpleCookie:
        """What the page behind the share link left in a browser: the page takes a while."""
        visitor = Client()
        visitor.get(f"/s/{self.share_tokens['campaign']}/")
        return visitor.cookies


def make_world() -> World:
    world = World()
    people = {name: make_user(name) for name in (*ROLES, "charlie", "dana")}
    people["adam"] = make_user("adam", is_superuser=True)
    people["sam"] = make_user("sam", is_staff=True)
    people["ruth"] = make_user("ruth", is_staff=True, is_superuser=True)
    world.rows |= _project(people, OPEN, SECRET)
    make_membership(world.rows["project"], people["dana"], Role.EDITOR)
    make_project("Charlie's own", owner=people["charlie"])
    world.rows |= _accounts(people)
    _sign_in(world, people)
    _share(world, people)
    # Her sessions and tokens are there; her account is no more.
    User.objects.filter(username="dana").update(is_active=False)
    return world


def add_other_rows(world: World) -> None:
    """The same once more in a project that alice cannot see."""
    charlie = User.objects.get(username="charlie")
    world.foreign |= _project({"alice": charlie}, FOREIGN, FOREIGN)
    world.foreign |= _belongings(charlie, world.foreign)


def _project(people: dict[str, User], open_word: str, secret: str) -> Rows:
    """The rows of a project with one of everything, which alice owns."""
    project = make_project(f"{open_word} team", owner=people["alice"])
    for name, role in ROLES.items():
        if name in people and name != "alice":
            make_membership(project, people[name], Role(role))
    rows = {"project": project, "membership": project.memberships.latest("pk")}
    rows |= _targets_and_plans(project, open_word, secret)
    rows |= _campaigns(project, rows, open_word, secret)
    rows |= _notifications(project, rows, secret)
    by = Actor(user=people["alice"])
    rows["invitation"], link = invite(by=by, project=project, role="viewer")
    rows["secret"] = SimpleNamespace(pk=link)
    return rows | _triage(project, rows, secret)


def _accounts(people: dict[str, User]) -> Rows:
    """Links that people get by e-mail or from others, by what addresses name of them; a passkey of
    alice's; a user of the installation."""
    alice = people["alice"]
    new = EmailAddress.objects.create(user=alice, email="alice@shop.example")
    texts = {
        "uidb36": user_pk_to_url_str(alice),
        "key": PASSWORD_RESET_TOKEN_GENERATOR().make_token(alice),
        "email_key": EmailConfirmationHMAC(new).key,
    }
    links = {name: SimpleNamespace(pk=text) for name, text in texts.items()}
    return links | {"passkey": add_passkey(alice), "user": people["charlie"]}


def _notifications(project: Project, rows: Rows, secret: str) -> Rows:
    channel = make_channel(project, label=f"{secret} channel")
    event = Event.objects.create(
        key=f"{secret} event",
        kind="campaign.ended",
        project=project,
        campaign=rows["campaign"],
        message={"headline": f"{secret} ended.", "facts": []},
        announced_at=timezone.now(),
    )
    return {
        "channel": channel,
        "event": event,
        "delivery": NotificationDelivery.objects.create(event=event, channel=channel),
    }


def _belongings(owner: User, rows: Rows) -> Rows:
    """What belongs to the owner alone: a token, and a share link of the campaign."""
    by = Actor(user=owner)
    token, _ = create_token(by=by, name="job", scope=Scope.WRITE, days=1)
    share, _ = create_share(
        by=by, project=rows["project"], campaign=rows["campaign"], days=1, note="note"
    )
    return {"token": token, "share": share}


def _targets_and_plans(project: Project, open_word: str, secret: str) -> Rows:
    target = make_target(project, f"{open_word} shop", environment=[["CPU", f"{open_word} 9000"]])
    host = f"{open_word.replace(' ', '-')}.internal"
    endpoint = make_endpoint(target, host=host)
    spec = plan_spec()
    spec["steps"][0]["headers"] = [["X-Api-Key", f"{secret}-header"]]
    spec["steps"][0]["body"] = f"<{secret}/>"
    version = make_plan(project, f"{open_word} plan", Plan.from_json(spec).to_json())
    file = Blob.of(f"{secret}-file".encode())
    sent = {
        **version.spec,
        "steps": [{**spec["steps"][0], "body": "", "body_file": file.to_json()}],
    }
    PlanVersion.objects.create(plan=version.plan, number=1000, spec=sent)
    claim = HostClaim.objects.create(
        project=project,
        host=host,
        token="t" * 43,
        places=["192.168.0.9/32:8081"],
        approval_asked_at=timezone.now(),
        approval_reason=f"{open_word} agreed",
    )
    HostPermit.objects.create(claim=claim, kind="approval", places=claim.places)
    now = timezone.now()
    deletion = {"archived_at": now, "deleted_at": now}
    deleted_plan = make_plan(project, f"{secret} gone").plan
    type(deleted_plan).objects.filter(pk=deleted_plan.pk).update(**deletion)
    deleted_project = make_project(f"{secret} gone")
    for each in project.memberships.all():
        make_membership(deleted_project, each.user, each.role)
    type(project).objects.filter(pk=deleted_project.pk).update(**deletion)
    return {
        "deleted_project": deleted_project,
        "deleted_plan": deleted_plan,
        "deleted_target": make_target(project, f"{secret} gone", **deletion),
        "deleted_campaign": make_campaign(project, f"{secret} gone", **deletion),
        "target": target,
        "endpoint": endpoint,
        "https": make_endpoint(target, "https", host=host),
        "version": version,
        "plan": version.plan,
        "sha256": SimpleNamespace(pk=file.sha256),
        "claim": claim,
        "exporter": Exporter.objects.create(
            target=target, name=f"{open_word}-exporter", url=f"http://{host}:9100/metrics"
        ),
        "profile": OwnTlsProfile.objects.create(
            project=project, name=f"{open_word} clients", offers={"groups": "X25519"}
        ),
        "probe": Probe.objects.create(
            endpoint=endpoint,
            request=spec["steps"][0],
            finished_at=timezone.now(),
            result={"error": "refused", "detail": f"{secret}-detail"},
        ),
    }


def _campaigns(project: Project, rows: Rows, open_word: str, secret: str) -> Rows:
    """A campaign that is done, a draft, and one that waits for an injector."""
    now, version = timezone.now(), rows["version"]
    times = {"started_at": now, "finished_at": now}
    done = make_campaign(project, f"{open_word} overhead", repeats=1, **times)
    tests = [make_test(done, version, endpoint=rows[name]) for name in ("endpoint", "https")]
    results = {
        "campaign": done,
        "test": tests[0],
        "run": _done_run(tests[0]),
        "candidate": _done_run(tests[1]),
        "mark": TimeMark.objects.create(
            project=project, text=f"{open_word} 1.4.2 deployed", at=now, key="1.4.2"
        ),
    }
    for run in (results["run"], results["candidate"]):
        _watch_machine(run, secret)
    owner = project.memberships.get(role=Role.OWNER).user
    results["output"] = _kept_output(results["run"], secret)
    results["example"] = _failed_example(results["run"], secret)
    results["baseline"] = Baseline.objects.create(
        project=project,
        name=f"{open_word} 1.4",
        plan=version.plan,
        endpoint=rows["endpoint"],
        connection_mode=tests[0].connection_mode,
        injectors=tests[0].injectors,
        test=tests[0],
        created_by=owner,
    )
    results["baseline"].runs.set([results["run"]])

    def campaign_with_test(name: str, **fields: Any) -> tuple[Campaign, Test]:
        campaign = make_campaign(project, name, **fields)
        return campaign, make_test(campaign, version, endpoint=rows["endpoint"])

    draft, _ = campaign_with_test(f"{secret} draft", repeats=1)
    waiting, next_test = campaign_with_test(f"{secret} waiting", repeats=1, started_at=now)
    held_campaign, held_test = campaign_with_test(
        f"{secret} held", started_at=now, opened_at=None, held_at=now
    )
    make_run(held_test)
    capacity_search, trial = campaign_with_test(f"{open_word} search", repeats=1, **times)
    make_run(trial)
    Search.objects.create(
        campaign=capacity_search,
        start_per_s=1,
        limit_per_s=9,
        trial_s=5,
        deadline=now,
        ending="stopped",
    )
    results["schedule"] = Schedule.objects.create(
        project=project,
        name=f"{open_word} nightly",
        template=done,
        cron="0 2 * * *",
        zone="UTC",
        owner=owner,
        on_since=now,
        next_at=now + timedelta(hours=1),
    )
    Firing.objects.create(schedule=results["schedule"], due_at=now, fired_at=now, campaign=waiting)
    writer = project.memberships.filter(role__in=(Role.EDITOR, Role.OWNER)).order_by("role").first()
    results["note"] = Note.objects.create(
        project=project, campaign=done, text=f"{open_word} note", author=writer.user
    )
    states = {"draft": draft, "waiting": waiting, "held": held_campaign, "search": capacity_search}
    return results | states | {"queued": make_run(next_test)}


def _done_run(test):
    now = timezone.now()
    run = make_run(test, state="done", outcome="complete", t0=now, ended_at=now)
    for second in range(3):
        store_second(run, make_second(second, [1000 + 10 * n for n in range(40)]))
    summarise_run(run)
    keep_figures([test.pk])
    return run


def _watch_machine(run, secret: str) -> None:
    """What one exporter told of the run, and why another did not; a share link shows them only
    where it shows machines."""
    cpu = {"user_s": 0.3, "system_s": 0.1, "interrupts_s": 0.0, "stolen_s": 0, "idle_s": 1.6}
    did = {**cpu, "cores": [20, 20], "processes": {f"{secret}-server": {"cpu_s": 0.3}}}
    did |= {"memory_bytes": 8e9, "memory_used_bytes": 2e9, "sent_bytes": 9e5, "retransmitted": 2}
    counts = {"task-clock": [300, 100], "page-faults": [42, 83.2]}
    did["perf"] = {"of": "processes", "lasted_s": 1.0, "counts": counts, "lacks": {}}
    MachineSecond.objects.bulk_create(
        MachineSecond(run=run, source=f"{secret}-1", second=second, lasted_s=1, busy_s=0.4, did=did)
        for second in range(3)
    )
    problem = {"exporter": f"{secret}-exporter", "problem": f"{secret}.internal refuses."}
    RunEvent.objects.create(run=run, kind=EXPORTER_PROBLEM, data=problem)


def _kept_output(run, secret: str) -> ToolOutput:
    """What perf stat printed; a share link shows it only where it shows machines."""
    text = f" Performance counter stats for '{secret}-server':\n\n   1,204  page-faults\n"
    return ToolOutput.objects.create(run=run, tool="perf stat", text=text)


def _failed_example(run, secret: str) -> FailureExample:
    """No share link shows it."""
    place = {"shard": 0, "second": 0, "step": 0, "at_us": 1}
    texts = {"request": "GET /", "reply": f"404 Not Found\n\n{secret}", "detail": ""}
    return FailureExample.objects.create(
        run=run, kind="status_unexpected", status=404, **place, **texts
    )


def _triage(project: Project, rows: Rows, secret: str) -> Rows:
    """A change of level with a note."""
    now = timezone.now()
    entry = TriageEntry.objects.create(
        project=project, target=rows["target"], note=f"{secret} note"
    )
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
    return {"entry": entry, "triage": entry}


def _sign_in(world: World, people: dict[str, User]) -> None:
    for name, user in people.items():
        client = Client()
        client.force_login(user)
        world.sessions[name] = client.cookies["sessionid"].value
    for owner, scope in [("alice", scope) for scope in Scope] + [
        ("charlie", Scope.WRITE),
        ("dana", Scope.WRITE),
        ("vera", Scope.WRITE),
    ]:
        name = SECRET if owner == "alice" else "job"
        world.tokens[f"{owner}'s {scope} token"] = _token(people[owner], scope, name)
    world.rows["token"] = ApiToken.objects.filter(user=people["alice"]).first()
    for word, moment in (("revoked", "revoked_at"), ("expired", "expires_at")):
        text = _token(people["alice"], Scope.WRITE, f"{SECRET} {word}")
        world.tokens[f"alice's {word} token"] = text
        ApiToken.objects.filter(name=f"{SECRET} {word}").update(**{moment: timezone.now()})


def _token(owner: User, scope: Scope, name: str) -> str:
    _, text = create_token(by=Actor(user=owner), name=name, scope=scope, days=1)
    return text


def _share(world: World, people: dict[str, User]) -> None:
    """Links that open the campaign and a run, and three of the campaign that open nothing."""
    project = world.rows["project"]

    def link(by: str, **what: Any) -> tuple[ShareLink, str]:
        return create_share(
            by=Actor(user=people[by]), project=project, days=1, note=f"{SECRET} note", **what
        )

    campaign, now = world.rows["campaign"], timezone.now()
    for name, fields in (
        ("revoked", {"revoked_at": now}),
        ("expired", {"expires_at": now}),
        ("dana's", {"created_by": people["dana"]}),
    ):
        dead, world.share_tokens[name] = link("bob", campaign=campaign)
        ShareLink.objects.filter(pk=dead.pk).update(**fields)
    for noun in ("test", "campaign", "run"):
        world.rows["share"], world.share_tokens[noun] = link("bob", **{noun: world.rows[noun]})
