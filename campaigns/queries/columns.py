"""What a comparison compares: up to six campaigns, tests or runs, named in its address."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Prefetch, Q, QuerySet
from django.urls import reverse
from django.utils.timezone import localtime

from campaigns.domain.errors import InvalidFields
from campaigns.domain.judged.pairing import PlanOnArm, partners
from campaigns.domain.shown.when_words import when_words
from campaigns.models import Campaign, Run, Test
from campaigns.permissions import Actor
from campaigns.queries.arms import measured_tests
from campaigns.queries.measured import measured_runs
from campaigns.queries.overheads import MeasuredTest

LETTERS = "abcdef"  # of the columns; a is the baseline
_ROWS = {"campaign": Campaign, "test": Test, "run": Run}
_REFERENCE = re.compile(r"(campaign|test|run)-([1-9][0-9]{0,17})", re.ASCII)
_HOW = "Write campaign-12, test-34 or run-56."
_RELATED = {
    "campaign": ("project",),
    "test": ("campaign__project", "plan_version__plan", "endpoint__target"),
    "run": ("campaign__project", "test__plan_version__plan", "test__endpoint__target"),
}


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """One side of a comparison. `noun` is campaign, test or run, `row` that row."""

    letter: str
    noun: str
    row: Campaign | Test | Run

    @property
    def reference(self) -> str:
        return f"{self.noun}-{self.row.pk}"

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
        """The shortest that tells it apart: "campaign #12", "test #34 of #12", "run 12.3"."""
        if self.noun == "run":
            return f"run {self.row.label}"
        number = f"#{self.row.pk}"
        return f"campaign {number}" if self.noun == "campaign" else f"test {number}"

    @property
    def url(self) -> str:
        """Of the page that shows it."""
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

    column: ComparedColumn
    tests: list[MeasuredTest]

    @property
    def keys(self) -> list[PlanOnArm]:
        return [key_of(each.test) for each in self.tests]


def key_of(test: Test) -> PlanOnArm:
    version, endpoint = test.plan_version, test.endpoint
    return PlanOnArm(
        plan=version.plan_id,
        version=version.number,
        plan_name=version.plan.name,
        endpoint=endpoint.pk,
        target=endpoint.target_id,
        scheme=endpoint.scheme,
        connection_mode=test.connection_mode,
        injectors=test.injectors,
    )


def columns_of(actor: Actor, asked: Mapping[str, str]) -> list[ComparedColumn] | None:
    """The columns of an address such as a=campaign-7&b=campaign-12; None if the actor cannot see
    one of them, or it was deleted.

    Raises InvalidFields for what names no row, the same twice, or a seventh column.
    """
    references = _references(asked)
    rows = {
        noun: _ROWS[noun]
        .objects.visible_to(actor)
        .select_related(*_RELATED[noun])
        .in_bulk([pk for kind, pk in references.values() if kind == noun])
        for noun in {kind for kind, _ in references.values()}
    }
    if any(pk not in rows[noun] for noun, pk in references.values()):
        return None
    return [
        ComparedColumn(letter, noun, rows[noun][pk]) for letter, (noun, pk) in references.items()
    ]


def _references(asked: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    faults = {
        name: f"At most {len(LETTERS)} columns can be compared, a to {LETTERS[-1]}."
        for name in asked
        if re.fullmatch("[g-z]", name)
    }
    found: dict[str, tuple[str, int]] = {}
    for letter in LETTERS:
        if not asked.get(letter):
            continue
        match = _REFERENCE.fullmatch(asked[letter])
        if match is None:
            faults[letter] = _HOW
        elif (reference := (match[1], int(match[2]))) in found.values():
            faults[letter] = "This is a column already. Choose another one."
        else:
            found[letter] = reference
    if faults:
        raise InvalidFields(faults)
    return found


def sides_of(columns: Sequence[ComparedColumn]) -> list[Side]:
    """The columns with their tests and runs, in a fixed number of queries."""
    pks = {noun: [c.row.pk for c in columns if c.noun == noun] for noun in _ROWS}
    runs = Run.objects.filter(
        Q(campaign__in=pks["campaign"]) | Q(test__in=pks["test"]) | Q(pk__in=pks["run"])
    )
    measured = measured_runs(runs.order_by("campaign", "position").prefetch_related("shards"))
    tests = Test.objects.filter(
        Q(campaign__in=pks["campaign"])
        | Q(pk__in=pks["test"])
        | Q(pk__in=[c.row.test_id for c in columns if c.noun == "run"])
    )
    tests = _related(tests).select_related("campaign").order_by("campaign", "position")
    tests = list(tests)
    return [
        Side(
            column,
            measured_tests(
                [test for test in tests if _has_test(column, test)],
                [each for each in measured if _has_run(column, each.run)],
            ),
        )
        for column in columns
    ]


def _has_test(column: ComparedColumn, test: Test) -> bool:
    if column.noun == "campaign":
        return test.campaign_id == column.row.pk
    return test.pk == (column.row.test_id if column.noun == "run" else column.row.pk)


def _has_run(column: ComparedColumn, run: Run) -> bool:
    if column.noun == "run":
        return run.pk == column.row.pk
    return column.row.pk == (run.test_id if column.noun == "test" else run.campaign_id)


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
    """The project's other campaigns with some of the same tests that have begun, newest first.

    Looks at the newest that share a plan, by itself or by its name.
    """
    own = [key_of(test) for test in _related(campaign.tests.all())]
    plans = {key.plan for key in own}
    names = {key.plan_name for key in own}
    alike = Q(plan_version__plan__in=plans) | Q(plan_version__plan__name__in=names)
    others = (
        Campaign.objects.visible_to(actor)
        .filter(project=campaign.project_id, started_at__isnull=False)
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
