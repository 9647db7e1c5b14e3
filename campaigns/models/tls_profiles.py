"""A TLS profile that a project named, beside those that come with benchsite."""

from django.db import models

from campaigns.domain.plan.own_tls_profiles import MOST_NAME, own_profile
from campaigns.domain.plan.tls_profiles import TlsProfile
from campaigns.models.projects import Project
from campaigns.models.visibility import ProjectQuerySet


class OwnTlsProfile(models.Model):
    """Endpoints name it in their options (`tls["profile"]`), as they name one of PROFILES."""

    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="tls_profiles")
    name = models.CharField(max_length=MOST_NAME)
    # The fields of domain.plan.tls_options.TlsOptions that it sets.
    offers = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_tls_profile_per_name")
        ]

    def __str__(self) -> str:
        return self.name

    def value(self) -> TlsProfile:
        return own_profile(self.name, self.offers)
