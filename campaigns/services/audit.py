"""Adds entries to the audit log, in the transaction of what they tell."""

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.client_address import client_address
from campaigns.models import AuditEntry, Campaign, Project
from campaigns.permissions import NOBODY, Actor

_LONGEST = AuditEntry._meta.get_field("what").max_length


def note(by: Actor, deed: AuditEvent, what: str = "", *, project: Project | None = None) -> None:
    """`what` was it done to, in words that hold no secret; NOBODY acts from a shell."""
    AuditEntry.objects.create(
        project=project and project.pk,
        project_name=project.name if project else "",
        who=by.user.get_username() if by.user else "",
        token=by.token.name if by.token else "",
        deed=deed,
        what=what[:_LONGEST],
    )


def label_of(campaign: Campaign) -> str:
    return f"campaign {campaign.pk}: {campaign.name}"


def note_from_shell(deed: AuditEvent, what: str = "") -> None:
    note(NOBODY, deed, what)


@receiver(user_logged_in)
def _note_sign_in(request, user, **_) -> None:
    address = client_address(request.META, settings.TRUSTED_PROXIES)
    AuditEntry.objects.create(
        who=user.get_username(), deed=AuditEvent.SIGNED_IN, address=address[:45]
    )
