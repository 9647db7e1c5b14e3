"""A view of the list of campaigns that a user has named: the address's query, of one project."""

from django.conf import settings
from django.db import models

from campaigns.models.projects import Project
from campaigns.models.visibility import ProjectQuerySet


class SavedView(models.Model):
    project_path = "project"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_views")
    project = models.ForeignKey(Project, models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=40)
    query = models.CharField(max_length=1000)  # state=done&sort=name

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "project", "name"], name="one_saved_view_per_name"
            )
        ]

    def __str__(self) -> str:
        return self.name
