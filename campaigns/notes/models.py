"""What people wrote down about a campaign, a run, or a test in all of its campaigns."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from campaigns.campaigns.models import Campaign
from campaigns.plans.models import SavedPlan
from campaigns.projects.models import Project, SharedQuerySet
from campaigns.runs.models import Run
from campaigns.targets.models import Endpoint

_OF_TEST = models.Q(plan__isnull=False, endpoint__isnull=False)
_OF_NO_TEST = models.Q(plan=None, endpoint=None)


class Note(models.Model):
    """Of one of the three. Tests of different campaigns are the same one by plan, endpoint,
    connection mode and injectors."""

    project_path = "project"
    beside = ("campaign", "run__campaign", "plan", "endpoint__target")

    project = models.ForeignKey(Project, models.CASCADE, related_name="notes")
    campaign = models.ForeignKey(Campaign, models.CASCADE, null=True, related_name="notes")
    run = models.ForeignKey(Run, models.CASCADE, null=True, related_name="notes")
    plan = models.ForeignKey(SavedPlan, models.CASCADE, null=True, related_name="+")
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, null=True, related_name="+")
    connection_mode = models.CharField(max_length=10, blank=True, default="")
    injectors = models.PositiveIntegerField(default=1)
    text = models.TextField()  # Markdown
    is_shared = models.BooleanField(default=False)  # whether share links show it, too
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    edited_at = models.DateTimeField(null=True)

    objects = SharedQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(_OF_NO_TEST, campaign__isnull=False, run=None)
                | models.Q(_OF_NO_TEST, campaign=None, run__isnull=False)
                | models.Q(_OF_TEST, campaign=None, run=None),
                name="note_is_of_one_thing",
            )
        ]

    def __str__(self) -> str:
        if self.campaign_id:
            return f"note {self.pk} on campaign {self.campaign_id}"
        return f"note {self.pk} on {f'run {self.run_id}' if self.run_id else 'a test'}"

    @staticmethod
    def shared(link) -> models.Q:
        of = {"campaign": link.campaign_id} if link.campaign_id else {"run": link.run_id}
        return models.Q(is_shared=True, **of) if any(of.values()) else models.Q(pk__in=[])
