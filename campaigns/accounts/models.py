"""Invitations into projects, and when people were last here. What allauth stores of accounts
(addresses, passkeys, codes, identities of the provider) is in its own tables."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from campaigns.core.permissions import Role
from campaigns.models import Project
from campaigns.projects.models import ProjectQuerySet


class Invitation(models.Model):
    """Whoever has its link joins the project, once."""

    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=[(role, role.title()) for role in Role])
    email = models.EmailField(blank=True, default="")  # where it was sent; "" of a link
    token_hash = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    revoked_at = models.DateTimeField(null=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=[str(role) for role in Role]), name="role_of_invitation"
            )
        ]

    def __str__(self) -> str:
        return f"invitation of {self.email or 'whoever has the link'} as {self.role}"


class LastSeen(models.Model):
    """Of an account, to within minutes."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="last_seen"
    )
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.user} at {self.at}"
