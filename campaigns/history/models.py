"""What histories read: figures of each test, marks on the time axis, and baselines;
and what people said of its changes."""

from typing import NamedTuple, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from campaigns.campaigns.models import Campaign, Test
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.plans.models import SavedPlan
from campaigns.projects.models import Project, ProjectQuerySet
from campaigns.runs.models import Run
from campaigns.targets.models import Endpoint, Target


class TriageEntry(models.Model):
    """Changes of one target that may have begun at the same time, and what people say of them.

    See history/services/triage.py."""

    project_path = "project"
    beside = ("target",)

    project = models.ForeignKey(Project, models.CASCADE, related_name="triage")
    target = models.ForeignKey(Target, models.CASCADE, related_name="+")
    found_at = models.DateTimeField(auto_now_add=True)
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    acknowledged_at = models.DateTimeField(null=True)  # quiet from then on
    note = models.TextField(blank=True, default="")
    link = models.CharField(max_length=500, blank=True, default="")

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(
                fields=["project"],
                condition=models.Q(acknowledged_at=None),
                name="open_triage_of_project",
            )
        ]

    def __str__(self) -> str:
        return f"changes on {self.target}"


class TriageChange(models.Model):
    """A change of one test's level as it was last seen: p95, times in µs.

    The test is a plan on an arm, as in a history. `since` is the campaign with which the new level
    begins (None once it is deleted); it began after `after_at` and not later than `until_at`.
    """

    entry = models.ForeignKey(TriageEntry, models.CASCADE, related_name="changes")
    plan = models.ForeignKey(SavedPlan, models.CASCADE, related_name="+")
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="+")
    connection_mode = models.CharField(
        max_length=10, choices=[(mode, mode) for mode in ConnectionMode]
    )
    injectors = models.PositiveIntegerField()
    since = models.ForeignKey(Campaign, models.SET_NULL, null=True, related_name="+")
    since_at = models.DateTimeField()
    after_at = models.DateTimeField()
    until_at = models.DateTimeField()
    before_us = models.FloatField()
    after_us = models.FloatField()
    ratio = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    p_value = models.FloatField()
    # What was changed at the same time: [[name, before, after], …].
    causes = models.JSONField(default=list)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "endpoint", "connection_mode", "injectors", "since"],
                name="one_change_per_test_and_campaign",
            ),
            models.UniqueConstraint(
                fields=["entry", "plan", "endpoint", "connection_mode", "injectors"],
                name="one_change_of_a_test_per_entry",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.plan} since {self.since_at:%Y-%m-%d}: {self.ratio:.3f}"


def _values() -> ArrayField:
    return ArrayField(models.FloatField(), default=list)


class Baseline(models.Model):
    """The trusted runs that later campaigns of a test are compared with, or the trials of a search,
    by whose capacity later searches are. A replaced one is kept.

    Tests of different campaigns are the same one by plan, endpoint, connection mode and injectors.
    """

    project_path = "project"
    beside = ("test__campaign",)

    project = models.ForeignKey(Project, models.CASCADE, related_name="baselines")
    name = models.CharField(max_length=100)
    plan = models.ForeignKey(SavedPlan, models.CASCADE, related_name="+")
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="+")
    connection_mode = models.CharField(max_length=10)
    injectors = models.PositiveIntegerField()
    of_search = models.BooleanField(default=False)
    # The newest test that some of its runs belong to; None once a replaced one's is deleted.
    test = models.ForeignKey(Test, models.SET_NULL, null=True, related_name="+")
    runs = models.ManyToManyField(Run, related_name="baselines")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    replaced_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    replaced_at = models.DateTimeField(null=True, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "endpoint", "connection_mode", "injectors", "of_search"],
                condition=models.Q(replaced_at=None),
                name="one_current_baseline_per_test",
            )
        ]

    def __str__(self) -> str:
        return self.name


class TestFigures(models.Model):
    """What a test measured, written again whenever a run of it ends or gets another summary.

    Plan, arm and date repeat those of the test, so that a history reads one table.
    """

    __test__ = False  # pytest: not a test case
    project_path = "project"
    beside = ("campaign",)

    test = models.OneToOneField(Test, models.CASCADE, primary_key=True, related_name="figures")
    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="figures")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    plan = models.ForeignKey(SavedPlan, models.CASCADE, related_name="+", db_index=False)
    plan_number = models.PositiveIntegerField()
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="+")
    connection_mode = models.CharField(max_length=10)
    injectors = models.PositiveIntegerField()
    started_at = models.DateTimeField()  # the campaign
    n = models.PositiveBigIntegerField()  # of all its runs, as are the errors
    errors = models.PositiveBigIntegerField()
    trust = models.CharField(max_length=10, blank=True)
    target_state = models.CharField(max_length=10, blank=True)
    # Each of the runs that count, µs.
    mean_us = _values()
    typical_us = _values()  # those of a busy machine among them
    p50_us = _values()
    p95_us = _values()
    p99_us = _values()
    # {"p95": (lower end, as measured)}: means over these runs, of a busy machine's where all are.
    ends_us = models.JSONField(default=dict)
    facts = models.JSONField(default=dict)  # that may change from campaign to campaign, by name
    # When its campaign ended: the baseline then, and the verdict (domain.analysis.against.Against).
    baseline = models.ForeignKey(Baseline, models.SET_NULL, null=True, related_name="+")
    against = models.JSONField(null=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["project", "started_at"], name="figures_of_project"),
            models.Index(fields=["plan", "endpoint", "started_at"], name="figures_of_test"),
        ]

    def __str__(self) -> str:
        return f"figures of test {self.test_id}"


class TimeMark(models.Model):
    """An event on the time axis of histories, such as a deploy; of one target or of all."""

    project_path = "project"
    beside = ("target",)

    project = models.ForeignKey(Project, models.CASCADE, related_name="marks")
    target = models.ForeignKey(Target, models.CASCADE, null=True, blank=True, related_name="marks")
    at = models.DateTimeField()
    text = models.CharField(max_length=100)
    link = models.CharField(max_length=500, blank=True)
    # Who sends the same key for the same target again finds the mark that is there.
    key = models.CharField(max_length=150)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "target", "key"], nulls_distinct=False, name="one_mark_per_key"
            )
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def reference(self) -> str:
        """Its name in an address."""
        return f"mark-{self.pk}"


class HistoryKey(NamedTuple):
    """What makes tests of different campaigns the same one."""

    plan: int
    endpoint: int
    connection_mode: str
    injectors: int

    @property
    def columns(self) -> dict[str, int | str]:
        """What rows of this test have."""
        return {
            "plan_id": self.plan,
            "endpoint_id": self.endpoint,
            "connection_mode": self.connection_mode,
            "injectors": self.injectors,
        }

    @classmethod
    def read(cls, row: Baseline | TestFigures | TriageChange) -> Self:
        return cls(row.plan_id, row.endpoint_id, row.connection_mode, row.injectors)

    @classmethod
    def of(cls, test: Test) -> Self:
        plan = test.plan_version.plan_id
        return cls(plan, test.endpoint_id, test.connection_mode, test.injectors)
