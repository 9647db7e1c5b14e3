"""What a comparison compares: up to six campaigns, tests or runs, named in its address. Reads of
share links for the project's members, and who still sees what a stream shows."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from functools import cache
from typing import NamedTuple, Self
from urllib.parse import parse_qsl

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import localtime

from campaigns.compare.queries.arm_pairs import MeasuredTest, hide_hosts, measured_tests
from campaigns.core.permissions import Action, Actor, may
from campaigns.domain.analysis.likeness import PlanOnArm, partners
from campaigns.domain.errors import InvalidFields
from campaigns.domain.lifecycle import RunState
from campaigns.domain.metrics.profiles import Profile
from campaigns.domain.plan.sweep import number_of
from campaigns.domain.units import when_words
from campaigns.models import Campaign, Project, Run, RunProfile, ShareLink, Test, TimeMark
from campaigns.projects.models import ProjectQuerySet
from campaigns.runs.queries.measurements import MeasuredRun, measured_runs

LETTERS = "abcdef"  # of the columns; a is the baseline
_ROWS = {"campaign": Campaign, "test": Test, "run": Run}
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_REFERENCE = re.compile(
    rf"(campaign|test|run)-([1-9][0-9]{{0,17}})(?::({_DAY})\.\.({_DAY}))?", re.ASCII
)
_HOW = "Write campaign-12, test-34 or run-56. A test may have days: test-34:2026-11-01..2026-11-08."
_VERSION = r"[0-9]+(\.[0-9]+)+[0-9A-Za-z.+-]*"  # in Python and in PostgreSQL
_LONGEST_NAME = 30
_MOST_CAMPAIGNS = 100  # of the days of one column, the newest
_RELATED = {
    "campaign": ("project",),
    "test": ("campaign__project", "plan_version__plan", "endpoint__target"),
    "run": ("campaign__project", "test__plan_version__plan", "test__endpoint__target"),
}


class Reference(NamedTuple):
    """What a column names: a row by noun and number, and of a test perhaps days, first and last."""

    noun: str
    pk: int
    days: tuple[date, date] | None = None


@dataclass(frozen=True, slots=True)
class ComparisonSide:
    """One side of a comparison. `noun` is campaign, test or run, `row` that row. With `days`, first
    and last, it is a test over campaigns: `row` is the newest of `tests`. `label`: what tells a
    campaign apart better than its number."""

    letter: str
    noun: str
    row: Campaign | Test | Run
    days: tuple[date, date] | None = None
    tests: tuple[int, ...] = ()
    label: str = ""

    @property
    def reference(self) -> str:
        days = f":{self.days[0]}..{self.days[1]}" if self.days else ""
        return f"{self.noun}-{self.row.pk}{days}"

    @property
    def campaign(self) -> Campaign:
        return self.row if self.noun == "campaign" else self.row.campaign

    @property
    def started_at(self) -> datetime:
        campaign = self.campaign
        own = self.row.t0 if self.noun == "run" else None
        return own or campaign.started_at or campaign.created_at

    @property
    def name(self) -> str:
        """The shortest that tells it apart: "release 1.1", "“Nightly”", "campaign #12", "test #34",
        "run 12.3", its days."""
        if self.label:
            return self.label
        if self.days:
            return " to ".join(f"{day.day} {day:%b %Y}" for day in self.days)
        if self.noun == "run":
            return f"run {self.row.label}"
        number = f"#{self.row.pk}"
        return f"campaign {number}" if self.noun == "campaign" else f"test {number}"

    @property
    def url(self) -> str:
        """Of the page that shows it."""
        if self.days:
            first, last = self.days
            return f"{reverse('history-test', args=[self.row.pk])}?since={first}&until={last}"
        if self.noun == "run":
            return reverse("run-detail", args=[self.row.pk])
        return reverse("campaign-detail", args=[self.campaign.pk])

    @property
    def is_single(self) -> bool:
        """Whether it is one test or run, so that nothing has to be found to compare it with."""
        return self.noun != "campaign"


@dataclass(frozen=True, slots=True)
class Side:
    """A column with its tests."""

    column: ComparisonSide
    tests: list[MeasuredTest]

    @property
    def keys(self) -> list[PlanOnArm]:
        return [key_of(each.test) for each in self.tests]


def key_of(test: Test) -> PlanOnArm:
    version, endpoint = test.plan_version, test.endpoint

    @cache
    def number(field: str) -> float | None:
        """Of its plan, which is read only beside a sweep, and once."""
        is_swept = field == test.swept
        return test.swept_value if is_swept else number_of(test.plan_version.value(), field)

    return PlanOnArm(
        plan=version.plan_id,
        version=version.number,
        plan_name=version.plan.name,
        endpoint=endpoint.pk,
        target=endpoint.target_id,
        scheme=endpoint.scheme,
        connection_mode=test.connection_mode,
        injectors=test.injectors,
        tls_profile=endpoint.tls_profile,
        swept=test.swept,
        number=number,
    )


def columns_of(actor: Actor, query: Mapping[str, str]) -> list[ComparisonSide] | None:
    """The columns of an address such as a=campaign-7&b=campaign-12; None if the actor cannot see
    one of them, or it was deleted. Raises InvalidFields for what names no row, the same twice, or a
    seventh column."""
    references = references_of(query)
    rows = {
        noun: _ROWS[noun]
        .objects.visible_to(actor)
        .select_related(*_RELATED[noun])
        .in_bulk([pk for kind, pk, _ in references.values() if kind == noun])
        for noun in {kind for kind, _, _ in references.values()}
    }
    if any(pk not in rows[noun] for noun, pk, _ in references.values()):
        return None
    columns = [
        _of_days(actor, letter, rows[noun][pk], days)
        if days
        else ComparisonSide(letter, noun, rows[noun][pk])
        for letter, (noun, pk, days) in references.items()
    ]
    tests_so_far: set[int] = set()
    for column in columns:
        tests = set(column.tests) or ({column.row.pk} if column.noun == "test" else set())
        if tests_so_far & tests:
            raise InvalidFields({column.letter: "These days are part of another column."})
        tests_so_far |= tests
    # Campaigns are called by their releases or names where that tells all of them apart.
    if any(column.noun != "campaign" for column in columns):
        return columns
    names = [column.campaign.name for column in columns]
    quotes = [f"“{name}”" if len(name) <= _LONGEST_NAME else "" for name in names]
    for labels in ([_release_of(column) for column in columns], quotes):
        if all(labels) and len(set(labels)) == len(labels):
            return [
                replace(column, label=label) for column, label in zip(columns, labels, strict=True)
            ]
    return columns


def _release_of(column: ComparisonSide) -> str:
    """Of the newest mark with a version before it began: release 1.1; of several targets only
    marks of all targets count. "" without one."""
    campaign = column.campaign
    targets = set(campaign.tests.values_list("endpoint__target", flat=True))
    whose = Q(target=None) | Q(target__in=targets if len(targets) == 1 else ())
    marks = TimeMark.objects.filter(whose, project=campaign.project_id, at__lte=column.started_at)
    newest = marks.filter(text__regex=_VERSION).order_by("-at", "-pk").first()
    return f"release {re.search(_VERSION, newest.text).group()}" if newest else ""


def _of_days(actor: Actor, letter: str, test: Test, days: tuple[date, date]) -> ComparisonSide:
    """The test in the campaigns that began on these days, both included, and have ended."""
    same = (
        _related(Test.objects.visible_to(actor))
        .filter(same_test_on(test, days), campaign__finished_at__isnull=False)
        .select_related("campaign__project")
        .order_by("-campaign__started_at", "-pk")[:_MOST_CAMPAIGNS]
    )
    tests = list(same)
    if not tests:
        raise InvalidFields({letter: "No campaign of this test began on these days and has ended."})
    return ComparisonSide(letter, "test", tests[0], days, tuple(each.pk for each in tests))


def same_test_on(test: Test, days: tuple[date, date]) -> Q:
    """Its tests in the campaigns that began on these days of UTC, both included, ended or not."""
    first, last = days
    return Q(
        plan_version__plan=test.plan_version.plan_id,
        endpoint=test.endpoint_id,
        connection_mode=test.connection_mode,
        injectors=test.injectors,
        swept=test.swept,
        swept_value=test.swept_value,
        campaign__search=None,
        campaign__started_at__range=(
            datetime.combine(first, time.min, UTC),
            datetime.combine(last, time.max, UTC),
        ),
    )


def utc_day(at: datetime) -> date:
    """As addresses have it, which mean the same to readers everywhere."""
    return at.astimezone(UTC).date()


def references_of(query: Mapping[str, str]) -> dict[str, Reference]:
    """What the columns of an address name, by letter; nothing is read. Raises InvalidFields."""
    faults = {
        name: f"At most {len(LETTERS)} columns can be compared, a to {LETTERS[-1]}."
        for name in query
        if re.fullmatch("[g-z]", name)
    }
    references: dict[str, Reference] = {}
    for letter in LETTERS:
        if not query.get(letter):
            continue
        reference = _reference(query[letter])
        if reference is None:
            faults[letter] = _HOW
        elif reference in references.values():
            faults[letter] = "This is a column already. Choose another one."
        else:
            references[letter] = reference
    if faults:
        raise InvalidFields(faults)
    return references


def _reference(text: str) -> Reference | None:
    """None for what is none."""
    match = _REFERENCE.fullmatch(text)
    if match is None:
        return None
    noun, number, first, last = match.groups()
    if first is None:
        return Reference(noun, int(number))
    try:
        days = (date.fromisoformat(first), date.fromisoformat(last))
    except ValueError:
        return None
    is_one = noun == "test" and days[0] <= days[1]
    return Reference(noun, int(number), days) if is_one else None


def sides_of(columns: Sequence[ComparisonSide], *, shows_machines: bool = True) -> list[Side]:
    """The columns with their tests and runs, in a fixed number of queries. `shows_machines`:
    whether the reader may know what the targets' machines did."""
    pks = {noun: [c.row.pk for c in columns if c.noun == noun] for noun in _ROWS}
    runs = Run.objects.filter(
        Q(campaign__in=pks["campaign"])
        | Q(test__in=[*pks["test"], *(pk for column in columns for pk in column.tests)])
        | Q(pk__in=pks["run"])
    )
    rows = measured_runs(runs.order_by("-campaign_id", "position").prefetch_related("shards"))
    for each in rows:
        each.run.shows_machine = shows_machines
    tests = Test.objects.filter(
        Q(campaign__in=pks["campaign"])
        | Q(pk__in=pks["test"])
        | Q(pk__in=[c.row.test_id for c in columns if c.noun == "run"])
    )
    tests = _related(tests).select_related("campaign").order_by("-campaign_id", "position")
    tests = list(tests)
    if not shows_machines:
        hide_hosts(tests)
    return [
        Side(
            column,
            _tests_of_side(column, [test for test in tests if _has_test(column, test)], rows),
        )
        for column in columns
    ]


def _tests_of_side(
    column: ComparisonSide, tests: list[Test], rows: Sequence[MeasuredRun]
) -> list[MeasuredTest]:
    if not column.days:
        name = {"campaign": "campaign_id", "test": "test_id", "run": "pk"}[column.noun]
        own = [each for each in rows if getattr(each.run, name) == column.row.pk]
        return measured_tests(tests, own)
    (test,) = measured_tests(tests, [])
    runs = []
    # Counted through, because each campaign has a repeat 1.
    for number, each in enumerate((r for r in rows if r.run.test_id in column.tests), 1):
        run = copy(each.run)
        run.repeat = number
        runs.append(replace(each, run=run))
    return [replace(test, runs=tuple(runs), is_of_days=True)]


def profiles_of(column: ComparisonSide) -> list[Profile]:
    """What perf record found in its runs."""
    of = {
        "campaign": Q(run__campaign=column.row.pk),
        "test": Q(run__test__in=column.tests or [column.row.pk]),
        "run": Q(run=column.row.pk),
    }
    rows = RunProfile.objects.filter(of[column.noun], run__state=RunState.DONE)
    return [each.value() for each in rows.order_by("run__position", "source")]


def _has_test(column: ComparisonSide, test: Test) -> bool:
    if column.noun == "campaign":
        return test.campaign_id == column.row.pk
    return test.pk == (column.row.test_id if column.noun == "run" else column.row.pk)


@dataclass(frozen=True, slots=True)
class Choice:
    """A campaign that another can be compared with: how many of its tests it has."""

    campaign: Campaign
    n_common: int
    n_tests: int

    @property
    def when(self) -> str:
        return when_words(localtime(self.campaign.started_at), localtime())


_MOST_CHOICES = 50


def in_common_with(actor: Actor, campaign: Campaign) -> list[Choice]:
    """The project's other campaigns with some of the same tests that have begun, newest first; of a
    search, other searches. Looks at the newest that share a plan, by itself or by its name."""
    own = [key_of(test) for test in _related(campaign.tests.all())]
    plans = {key.plan for key in own}
    names = {key.plan_name for key in own}
    alike = Q(plan_version__plan__in=plans) | Q(plan_version__plan__name__in=names)
    others = (
        Campaign.objects.visible_to(actor)
        .filter(project=campaign.project_id, started_at__isnull=False)
        .filter(search__isnull=not hasattr(campaign, "search"))
        .filter(pk__in=Test.objects.filter(alike).values("campaign"))
        .exclude(pk=campaign.pk)
        .prefetch_related(Prefetch("tests", queryset=_related(Test.objects.all())))
        .order_by("-started_at", "-pk")[:_MOST_CHOICES]
    )
    choices = [
        Choice(each, len(partners([key_of(test) for test in each.tests.all()], own)), len(own))
        for each in others
    ]
    return [choice for choice in choices if choice.n_common]


def _related(tests: QuerySet[Test]) -> QuerySet[Test]:
    return tests.select_related("plan_version__plan", "endpoint__target")


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody signed in, as they were when their stream was opened; `password` is its hash."""

    session: str
    user: int
    password: str

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        return cls(request.session.session_key, request.user.pk, request.user.password)


def who_still_see(rows: ProjectQuerySet, viewers: set[Viewer]) -> set[Viewer]:
    """Those who are still signed in, with an active account that sees one of the rows, by two
    statements. A sign-out deletes the session, and an account with a new password no longer fits
    its sessions."""
    keys = {each.session for each in viewers}
    open_sessions = Session.objects.filter(pk__in=keys, expire_date__gt=timezone.now())
    signed_in = set(open_sessions.values_list("pk", flat=True))
    accounts = User.objects.filter(pk__in=rows.viewers(), is_active=True)
    passwords = dict(
        accounts.filter(pk__in={each.user for each in viewers}).values_list("pk", "password")
    )
    return {
        each
        for each in viewers
        if each.session in signed_in and passwords.get(each.user) == each.password
    }


def live_links(actor: Actor, project: Project) -> QuerySet[ShareLink]:
    """The project's, newest first."""
    return _live(ShareLink.objects.visible_to(actor).filter(project=project)).select_related(
        "campaign", "run__campaign", "test__plan_version__plan", "test__endpoint", "created_by"
    )


def _live(links: QuerySet[ShareLink]) -> QuerySet[ShareLink]:
    """Those that are neither expired nor revoked."""
    return links.filter(revoked_at=None, expires_at__gt=timezone.now())


def open_links(links: QuerySet[ShareLink]) -> Iterator[ShareLink]:
    """Those of the live ones whose creator may still share what they show."""
    relations = ("project", "campaign", "run__campaign", "test__plan_version__plan", "created_by")
    for link in _live(links).select_related(*relations):
        creator = Actor(user=link.created_by)
        is_allowed = may(creator, Action.SHARE, link.project)
        if is_allowed and not (
            link.comparison and shared_columns(creator, link.comparison) is None
        ):
            yield link


def references_in(comparison: str) -> Collection[Reference]:
    """What the columns of a shared comparison name, whoever may see it."""
    return references_of(dict(parse_qsl(comparison))).values()


def shared_columns(creator: Actor, comparison: str) -> list[ComparisonSide] | None:
    """The columns of a shared comparison; None unless its creator sees them all and may share in
    the projects of all, and while no campaign of a column's days has ended."""
    try:
        columns = columns_of(creator, dict(parse_qsl(comparison)))
    except InvalidFields:
        return None
    if not columns or len(columns) < 2:
        return None
    projects = {column.campaign.project for column in columns}
    return columns if all(may(creator, Action.SHARE, each) for each in projects) else None
