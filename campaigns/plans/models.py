"""A plan defines the requests and the load. Each edit creates a version; versions never change.
Secrets of plans' credentials. Encrypted; never in a plan version, a frozen run or a page."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from campaigns.domain.plan.plan import Plan
from campaigns.projects.models import Item, Project, ProjectQuerySet, deleted_are_archived


class SavedPlan(Item):
    """A project's named plan; its content is in its versions."""

    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="plans")
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        db_table = "campaigns_plan"
        ordering = ["name", "pk"]
        constraints = [
            deleted_are_archived("plan"),
            models.UniqueConstraint(
                fields=["project", "name"],
                condition=models.Q(archived_at=None),
                name="one_plan_per_name",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def latest(self) -> "PlanVersion":
        """Raises DoesNotExist for a plan that was deleted meanwhile."""
        return self.versions.latest("number")


class PlanVersion(models.Model):
    project_path = "plan__project"

    plan = models.ForeignKey(SavedPlan, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    spec = models.JSONField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["plan", "number"]
        constraints = [
            models.UniqueConstraint(fields=["plan", "number"], name="one_version_per_number")
        ]

    def __str__(self) -> str:
        return f"{self.plan.name} v{self.number}"

    def value(self) -> Plan:
        return Plan.from_json(self.spec)


class StoredBody(models.Model):
    """The bytes of a large body, which plans and requests of the project know by their digest."""

    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="bodies")
    sha256 = models.CharField(max_length=64)
    data = models.BinaryField()
    used_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "sha256"], name="one_body_per_digest")
        ]

    def __str__(self) -> str:
        return self.sha256


class PlanSecret(models.Model):
    project_path = "plan__project"
    encrypted = ("ciphertext",)

    plan = models.OneToOneField(SavedPlan, models.CASCADE, related_name="secret")
    ciphertext = models.TextField()  # encrypted by projects.services
    # Where it may be sent, as https://shop.example:443. Only `changed_by` names new ones, by being
    # the first to send it there.
    origins = ArrayField(models.CharField(max_length=300), default=list)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"The secret of {self.plan}"
