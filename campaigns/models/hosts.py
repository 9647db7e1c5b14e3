"""A machine that runs injectors: it announces itself every few seconds."""

from django.db import models


class InjectorHost(models.Model):
    name = models.CharField(max_length=100, unique=True)
    slots = models.PositiveIntegerField()
    seen_at = models.DateTimeField()
    started_at = models.DateTimeField()
    facts = models.JSONField(default=dict)  # CPU, cores, memory, OS, versions, limits

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
