"""What shows that a project may put a host under load that no listed network holds."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from campaigns.domain.plan.ownership import written_place
from campaigns.models.projects import Project
from campaigns.models.visibility import ProjectQuerySet


class HostClaim(models.Model):
    """A project says that a host is its own; the token belongs to both."""

    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="host_claims")
    host = models.CharField(max_length=253)  # by domain.plan.ownership.host_key
    token = models.CharField(max_length=43)
    # The latest check: asked for by whom, and what a worker saw then.
    asked_at = models.DateTimeField(null=True, blank=True)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    checked_at = models.DateTimeField(null=True, blank=True)
    places = models.JSONField(default=list)  # ["10.0.0.5/32:443"], all that would be dialled
    faults = models.JSONField(default=list)  # sentences
    # Whether an administrator is asked for an approval, and what the last one said.
    approval_asked_at = models.DateTimeField(null=True, blank=True)
    approval_asked_by = models.CharField(max_length=150, blank=True)
    approval_reason = models.CharField(max_length=300, blank=True)
    refused_at = models.DateTimeField(null=True, blank=True)
    refused_by = models.CharField(max_length=150, blank=True)
    refusal = models.CharField(max_length=300, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "host"], name="one_claim_per_host")
        ]

    def __str__(self) -> str:
        return self.host

    @property
    def written_places(self) -> list[str]:
        return list(map(written_place, self.places))


class HostPermit(models.Model):
    """A proof or an approval, with names as they were. It permits its places and nothing else."""

    class Kind(models.TextChoices):
        PROOF = "proof"
        APPROVAL = "approval"

    project_path = "claim__project"

    claim = models.ForeignKey(HostClaim, models.CASCADE, related_name="permits")
    kind = models.CharField(max_length=8, choices=Kind)
    places = models.JSONField()
    given_at = models.DateTimeField(db_default=Now())
    given_by = models.CharField(max_length=150, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.CharField(max_length=150, blank=True)
    withdrawal = models.CharField(max_length=300, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["claim", "kind"],
                condition=models.Q(withdrawn_at=None),
                name="one_current_permit_per_kind",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.claim.host}"

    @property
    def written_places(self) -> list[str]:
        return list(map(written_place, self.places))
