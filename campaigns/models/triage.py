"""Triage: changes of level in histories that belong together, and what people say about them."""

from django.conf import settings
from django.db import models

from campaigns.domain.judged.triage import TriageState
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.models.campaigns import Campaign
from campaigns.models.plans import SavedPlan
from campaigns.models.projects import Project
from campaigns.models.targets import Endpoint, Target
from campaigns.models.visibility import ProjectQuerySet

_STATES = [(str(state), str(state)) for state in TriageState]


class TriageEntry(models.Model):
    """Changes of one target that may have begun at the same time. See services/triage.py."""

    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="triage")
    target = models.ForeignKey(Target, models.CASCADE, related_name="+")
    state = models.CharField(max_length=20, choices=_STATES, default=TriageState.OPEN)
    found_at = models.DateTimeField(auto_now_add=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["project", "state"], name="triage_by_state")]

    def __str__(self) -> str:
        return f"changes on {self.target}, {self.state}"


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


class TriageNote(models.Model):
    """What somebody said about an entry, and the state that it had from then on. Never changed."""

    entry = models.ForeignKey(TriageEntry, models.CASCADE, related_name="notes")
    state = models.CharField(max_length=20, choices=_STATES)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    why = models.TextField(blank=True, default="")
    link = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.state}: {self.why}"
