"""Secrets of plans' credentials. Encrypted; never in a plan version, a frozen run or a page."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from campaigns.models.plans import SavedPlan


class PlanSecret(models.Model):
    project_path = "plan__project"

    plan = models.OneToOneField(SavedPlan, models.CASCADE, related_name="secret")
    ciphertext = models.TextField()  # encrypted by services.vault
    # Where it may be sent, as https://shop.example:443. Only `changed_by` names new ones, by being
    # the first to send it there.
    origins = ArrayField(models.CharField(max_length=300), default=list)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"The secret of {self.plan}"
