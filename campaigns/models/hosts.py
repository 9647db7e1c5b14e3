"""Machines that run injectors, each announces itself every few seconds; and whether load is on."""

from django.conf import settings
from django.db import models

THE_ROW = 1


class LoadControl(models.Model):
    is_on = models.BooleanField(default=True)
    reason = models.CharField(max_length=300, blank=True)  # a sentence: why load is off
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    changed_at = models.DateTimeField(null=True)
    # The dispatcher begins and ends all runs; every few seconds it says here that it works.
    dispatcher_seen_at = models.DateTimeField(null=True)
    # The table's own identity when a dispatcher last led: a restored table has another.
    identity = models.CharField(max_length=60, blank=True)

    def __str__(self) -> str:
        return "load is on" if self.is_on else "load is off"


class InjectorHost(models.Model):
    name = models.CharField(max_length=100, unique=True)
    slots = models.PositiveIntegerField()
    seen_at = models.DateTimeField()
    started_at = models.DateTimeField()
    facts = models.JSONField(default=dict)  # CPU, cores, memory, OS, versions, limits
    # What else used it lately (workers/host_use.py); null where it is not known. Names of programs
    # are only for those who may start a campaign.
    use = models.JSONField(null=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
