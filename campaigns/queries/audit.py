"""Reads of the audit log, newest first."""

from django.db.models import F, QuerySet

from campaigns.models import AuditEntry, Project
from campaigns.permissions import Actor
from campaigns.queries.pages import sorted_by


def audit_entries(actor: Actor, project: Project | None = None) -> QuerySet[AuditEntry]:
    """Of one project, or of everything that the actor may see."""
    found = AuditEntry.objects.visible_to(actor)
    if project is not None:
        found = found.filter(project=project.pk)
    return sorted_by(found, F("pk"), falls=True)
