"""A probe ("try one request") is one attempt at one endpoint, with every phase timed."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from campaigns.models.campaigns import Campaign
from campaigns.models.items import ProjectQuerySet
from campaigns.models.plans import PlanVersion
from campaigns.models.targets import Endpoint


class Probe(models.Model):
    project_path = "endpoint__target__project"

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
