"""A personal token for the REST API: its owner's current rights, narrowed by a scope."""

from django.conf import settings
from django.db import models

from campaigns.permissions import Scope


class ApiToken(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    scope = models.CharField(max_length=10, choices=[(scope, scope.title()) for scope in Scope])
    lookup = models.CharField(max_length=16, unique=True)  # the public part, used to find the row
    token_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"
