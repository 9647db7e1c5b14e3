"""A campaign is plans × arms × repeats in a fixed order; a test is one plan on one arm. A search is
a campaign that chooses its next rate. A probe ("try one request") is one attempt at one endpoint,
with every phase timed."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce, Now
from django.utils.timezone import localtime

from campaigns.domain.analysis.capacity import Ending
from campaigns.domain.metrics.profiles import PerfOf, perf_scope
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.sweep import point_words, swept_plan
from campaigns.domain.typed_text import is_digest
from campaigns.domain.units import duration
from campaigns.plans.models import PlanVersion
from campaigns.projects.models import (
    Item,
    Project,
    ProjectQuerySet,
    SharedQuerySet,
    deleted_are_archived,
)
from campaigns.targets.models import Endpoint

HELD_FOR = timedelta(hours=1)  # a campaign whose preflight requests failed
UNDER_WAY = models.Q(started_at__isnull=False, finished_at=None)  # of campaigns


class Campaign(Item):
    project_path = "project"

    class Order(models.TextChoices):
        SIDE_BY_SIDE = "side_by_side", "Side by side"
        BLOCKS = "blocks", "Counterbalanced blocks"
        LISTED = "listed", "As listed"

    project = models.ForeignKey(Project, models.CASCADE, related_name="campaigns")
    name = models.CharField(max_length=150)
    order = models.CharField(max_length=15, choices=Order, default=Order.BLOCKS)
    repeats = models.PositiveIntegerField(default=5)
    # Side by side: seconds of measuring for all arms of a plan together, and whether it ends before
    # where its answer is settled. Null: as long as plan.turns.turns_limit_s says.
    limit_s = models.FloatField(null=True, blank=True)
    until_settled = models.BooleanField(default=True)
    pause_s = models.FloatField(default=2.0)
    # The maximum per run; each test has its own number.
    injectors = models.PositiveIntegerField(default=1)
    seed = models.BigIntegerField()
    # The smallest relative difference that gets a verdict: 0.05 is 5 %.
    practical_threshold = models.FloatField(default=0.05)
    # Whether it makes all runs even if first requests, or everything in a run, fail.
    keeps_going = models.BooleanField(default=False)
    # What the agents of its targets count by perf stat during its runs.
    perf = models.CharField(
        max_length=10, choices=[(of, of.words) for of in PerfOf], blank=True, default=PerfOf.NONE
    )
    # Whether they also record the functions in which the CPU time goes.
    profile = models.BooleanField(default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    # From when its runs may begin: after the first requests, see probes/services/probes.py.
    opened_at = models.DateTimeField(null=True, blank=True)
    held_at = models.DateTimeField(null=True, blank=True)  # a first request went wrong
    # Until then its first run waits for quiet injector hosts; null: it does not.
    quiet_by = models.DateTimeField(null=True, blank=True)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    stop_requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    stop_reason = models.TextField(blank=True, default="")  # a sentence, if it stopped by itself
    # What is measured, as who created it says; `link` is to the job, or to what changed.
    commit = models.CharField(max_length=64, blank=True, default="")
    branch = models.CharField(max_length=250, blank=True, default="")
    link = models.CharField(max_length=500, blank=True, default="")
    finished_at = models.DateTimeField(null=True, blank=True)
    # Lists begin with what ended, started or was created last.
    active_at = models.GeneratedField(
        expression=Coalesce("finished_at", "started_at", "created_at"),
        output_field=models.DateTimeField(),
        db_persist=True,
    )
    # Who has looked at what went wrong, and when; runs that end later need a look of their own.
    looked_at = models.DateTimeField(null=True, blank=True)
    looked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    objects = SharedQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["project", "-id"], name="campaign_newest_first"),
            models.Index(
                fields=["project", "-active_at", "-id"], name="campaign_last_active_first"
            ),
            models.Index(
                fields=["opened_at"],
                condition=models.Q(finished_at=None),
                name="campaign_not_finished",
            ),
            models.Index(
                fields=["-finished_at", "-id"],
                condition=models.Q(finished_at__isnull=False),
                name="campaign_last_ended_first",
            ),
        ]
        constraints = [
            deleted_are_archived("campaign"),
            models.CheckConstraint(
                condition=models.Q(repeats__gte=1, repeats__lte=200), name="campaign_repeats_range"
            ),
            models.CheckConstraint(
                condition=models.Q(injectors__gte=1, injectors__lte=64),
                name="campaign_injectors_range",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def shared(link) -> models.Q:
        return models.Q(pk=link.campaign_id) if link.campaign_id else models.Q(pk__in=[])

    @property
    def perf_scope(self) -> PerfOf:
        """Whom perf looks at on the machines of its targets."""
        return perf_scope(self.perf, is_profiled=self.profile)

    @property
    def is_under_way(self) -> bool:
        return self.started_at is not None and self.finished_at is None

    @property
    def is_before_first_run(self) -> bool:
        """Whether it is started and waits for what comes back of its first requests."""
        return self.is_under_way and not (self.opened_at or self.stop_requested_at)

    @property
    def is_held(self) -> bool:
        """Whether it waits for somebody to decide what to do about them."""
        return self.is_before_first_run and self.held_at is not None

    @property
    def canceled_at(self) -> datetime:
        """Of a held one, unless somebody decides before."""
        return self.held_at + HELD_FOR

    @property
    def waits_for_quiet(self) -> bool:
        """Whether its first run waits for quiet injector hosts, should no first request fail."""
        return self.is_before_first_run and self.held_at is None and self.quiet_by is not None

    @property
    def short_commit(self) -> str:
        """As git shows it."""
        return self.commit[:7] if is_digest(self.commit) else self.commit

    @property
    def state(self) -> str:
        """draft, running, stopping or done; runs have more detailed states."""
        if self.finished_at:
            return "done"
        if self.started_at is None:
            return "draft"
        return "stopping" if self.stop_requested_at else "running"


class Test(models.Model):
    """One plan on one arm: a cell of the campaign's table."""

    __test__ = False  # pytest: not a test case
    project_path = "campaign__project"

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="tests")
    position = models.PositiveIntegerField()  # from 0: the order in which the tests are listed
    plan_version = models.ForeignKey(PlanVersion, models.PROTECT, related_name="tests")
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="tests")
    connection_mode = models.CharField(
        max_length=10, choices=[(mode, mode) for mode in ConnectionMode]
    )
    injectors = models.PositiveIntegerField(default=1)  # shards of each run
    # The number of the plan that a sweep varies (a key of domain.plan.sweep) and its value here; ""
    # and 0 for the plan as it is.
    swept = models.CharField(max_length=60, blank=True, default="")
    swept_value = models.FloatField(default=0)

    objects = SharedQuerySet.as_manager()

    class Meta:
        ordering = ["-campaign_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "position"], name="one_test_per_position"),
            models.UniqueConstraint(
                fields=[
                    *("campaign", "plan_version", "endpoint", "connection_mode", "injectors"),
                    *("swept", "swept_value"),
                ],
                name="one_test_per_plan_and_arm",
            ),
            models.CheckConstraint(
                condition=models.Q(injectors__gte=1, injectors__lte=64), name="test_injectors_range"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.plan_words} on {self.endpoint} {self.connection_mode}"

    @property
    def version_name(self) -> str:
        """checkout v3"""
        return str(self.plan_version)

    @property
    def target_name(self) -> str:
        return self.endpoint.target.name

    @property
    def plan_words(self) -> str:
        """checkout v3, rate of 200 requests/s"""
        return ", ".join(filter(None, [self.version_name, self.swept_words]))

    @property
    def swept_words(self) -> str:
        """rate of 200 requests/s; "" for the plan as it is."""
        return point_words(self.swept, self.swept_value) if self.swept else ""

    def plan(self) -> Plan:
        """What its runs send: the version's plan, in a sweep with one number replaced."""
        plan = self.plan_version.value()
        return swept_plan(plan, self.swept, self.swept_value) if self.swept else plan

    @property
    def is_of_reference(self) -> bool:
        return self.endpoint.target.is_reference

    @staticmethod
    def shared(link) -> models.Q:
        return models.Q(campaign=link.campaign_id) if link.campaign_id else models.Q(pk__in=[])


class NamedTest(Protocol):
    """A test, or what a list knows of one (`TestNames` in campaigns/queries/campaigns.py)."""

    @property
    def version_name(self) -> str: ...

    @property
    def target_name(self) -> str: ...

    @property
    def is_of_reference(self) -> bool: ...


_Test = TypeVar("_Test", bound=NamedTest)


def without_references(tests: Iterable[_Test]) -> tuple[list[_Test], list[_Test]]:
    """The tests that count, and those of a reference. Where there are no others, these count."""
    tests_that_count, references = [], []
    for test in tests:
        (references if test.is_of_reference else tests_that_count).append(test)
    return (tests_that_count, references) if tests_that_count else (references, [])


class Search(models.Model):
    project_path = "campaign__project"

    campaign = models.OneToOneField(
        Campaign, models.CASCADE, primary_key=True, related_name="search"
    )
    start_per_s = models.FloatField()
    limit_per_s = models.FloatField()  # no trial is above it
    trial_s = models.FloatField()  # the measured part of a trial
    longest_s = models.FloatField(default=3600.0)  # from the beginning of its first trial
    # No trial begins that would end after it; null until the first one has ended.
    deadline = models.DateTimeField(null=True, blank=True)
    # How it ended (domain.analysis.capacity.Ending); null while it goes on.
    ending = models.CharField(
        max_length=10, choices=[(str(each), str(each)) for each in Ending], null=True, blank=True
    )
    # Written once, with the ending: domain.analysis.capacity.CapacityAnswer with what came of each
    # trial and what limited it (search.queries.to_store). Null while it goes on.
    answer = models.JSONField(null=True, blank=True)
    # Against the baseline of searches when it ended (analysis.ratio.Against); null without.
    against = models.JSONField(null=True, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(start_per_s__gt=0, limit_per_s__gte=models.F("start_per_s")),
                name="search_starts_within_its_limit",
            ),
            models.CheckConstraint(
                condition=models.Q(answer__isnull=True) | models.Q(ending__isnull=False),
                name="search_has_its_answer_at_its_end",
            ),
        ]

    def __str__(self) -> str:
        return f"search of {self.campaign}"

    @property
    def latest_words(self) -> str:
        """When it ends at the latest, as the reader's clock has it: 12:30 UTC."""
        if self.deadline:
            return f"{localtime(self.deadline):%H:%M %Z}"
        return f"{duration(self.longest_s)} after its first trial begins"


class Probe(models.Model):
    project_path = "endpoint__target__project"
    beside = ("campaign",)

    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="probes")
    request = models.JSONField()  # a plan step, or an exchange's handshake and one message
    # Of a plan's first request; with the campaign before whose first run it is sent.
    plan_version = models.ForeignKey(
        PlanVersion, models.CASCADE, null=True, blank=True, related_name="probes"
    )
    campaign = models.ForeignKey(
        Campaign, models.CASCADE, null=True, blank=True, related_name="first_requests"
    )
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    requested_at = models.DateTimeField(db_default=Now())
    # When a worker claimed it; only one can, so the request is never sent twice.
    claimed_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # {"status", "headers", "body_bytes", "snippet", "parts_us", "error", "peer", "tls": …}
    result = models.JSONField(null=True, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "plan_version", "endpoint"],
                condition=models.Q(campaign__isnull=False),
                name="one_first_request_per_cell",
            )
        ]
        indexes = [
            models.Index(
                fields=["requested_at"],
                condition=models.Q(finished_at=None),
                name="probe_unanswered",
            )
        ]

    def __str__(self) -> str:
        return f"probe {self.pk} of {self.endpoint}"
