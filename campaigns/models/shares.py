"""A share link gives read access to a campaign, run or comparison without an account."""

from django.conf import settings
from django.db import models

from campaigns.models.campaigns import Campaign
from campaigns.models.items import ProjectQuerySet
from campaigns.models.projects import Project
from campaigns.models.runs import Run


class ShareLink(models.Model):
    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="share_links")
    campaign = models.ForeignKey(Campaign, models.CASCADE, null=True, blank=True)
    run = models.ForeignKey(Run, models.CASCADE, null=True, blank=True)
    # The columns of a comparison, as in its address: a=campaign-7&b=campaign-12.
    comparison = models.CharField(max_length=300, blank=True, default="")
    # HMAC of the token; the token itself is shown once and never stored.
    token_hash = models.CharField(max_length=64, unique=True)
    # Whether visitors see addresses, and facts about the machines of target and injectors.
    shows_machines = models.BooleanField(default=False)
    note = models.CharField(max_length=100, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    n_views = models.PositiveIntegerField(default=0)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(comparison="")
                & (models.Q(campaign__isnull=True) ^ models.Q(run__isnull=True))
                | ~models.Q(comparison="") & models.Q(campaign__isnull=True, run__isnull=True),
                name="share_link_shows_one_thing",
            )
        ]

    def __str__(self) -> str:
        return f"link to {self.campaign or self.run or self.comparison}"
