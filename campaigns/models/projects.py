"""A project is a team's workspace; each member has a role."""

from django.conf import settings
from django.db import models

from campaigns.models.items import Item, ProjectQuerySet
from campaigns.permissions import Action, Role


class Project(Item):
    project_path = ""
    administered_by = Action.ADMINISTER

    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)
    # Caps that an administrator set, by domain.caps.Cap.name; the installation's hold for the rest.
    caps = models.JSONField(default=dict)
    admitted_at = models.DateTimeField(null=True)  # its latest run: projects take turns

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def home(self) -> "Project":
        return self


class Membership(models.Model):
    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=[(role, role.title()) for role in Role])

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["user__username"]
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="one_role_per_member"),
            models.CheckConstraint(
                condition=models.Q(role__in=[str(role) for role in Role]), name="known_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} as {self.role}"
