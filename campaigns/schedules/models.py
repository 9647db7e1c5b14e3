"""A schedule starts copies of a campaign by a timetable; each time that it was due has a row."""

from django.conf import settings
from django.db import models

from campaigns.campaigns.models import Campaign
from campaigns.domain.timetable import LONGEST_CRON, Timetable
from campaigns.projects.models import Project, ProjectQuerySet

LONGEST_RESULT_H = 24 * 14


class Schedule(models.Model):
    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="schedules")
    name = models.CharField(max_length=150)  # also of the campaigns that it starts
    # What is copied, as it is by then; null once it was deleted forever.
    template = models.ForeignKey(Campaign, models.SET_NULL, null=True, related_name="+")
    cron = models.CharField(max_length=LONGEST_CRON)
    zone = models.CharField(max_length=64)
    when_quiet = models.BooleanField(default=True)
    # So long after it was due a usable result must be there.
    result_within_h = models.PositiveIntegerField(default=6)
    # Whose rights it has, those of the moment: who saved it last.
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    on_since = models.DateTimeField()  # when it was made or resumed last
    next_at = models.DateTimeField(null=True)  # null while it is paused
    # The first time that brought no usable result in time; null while results come.
    silent_since = models.DateTimeField(null=True, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]
        indexes = [
            models.Index(
                fields=["next_at"],
                condition=models.Q(next_at__isnull=False),
                name="schedule_next_first",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def timetable(self) -> Timetable:
        return Timetable(self.cron, self.zone)


class Firing(models.Model):
    """What came of one time that a schedule was due: a campaign, or why there is none."""

    schedule = models.ForeignKey(Schedule, models.CASCADE, related_name="firings")
    due_at = models.DateTimeField()
    fired_at = models.DateTimeField()
    n_missed = models.PositiveIntegerField(default=0)  # times before, which this one makes up for
    campaign = models.OneToOneField(
        Campaign, models.SET_NULL, null=True, related_name="firing", blank=True
    )
    why_skipped = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["-due_at"]
        constraints = [
            models.UniqueConstraint(fields=["schedule", "due_at"], name="fires_once_when_due")
        ]

    def __str__(self) -> str:
        return f"{self.schedule_id} at {self.due_at}"
