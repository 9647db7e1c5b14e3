"""Adds entries to the audit log, in the transaction of what they tell; and sign-ins, by axes."""

from collections.abc import Iterable
from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_failure_limit
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.db.models import Sum
from django.dispatch import receiver
from django.http import HttpRequest

from campaigns.core.permissions import Actor
from campaigns.core.transfer import client_address
from campaigns.models import AuditEntry, Campaign, Project
from campaigns.operations.models import AuditEvent


class SignInHandler(AxesDatabaseHandler):
    """Beside the limit of a name from an address, one of all names together from it."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Those of the name, which lock it at the failure limit; as many where the address has
        reached its own."""
        of_name = super().get_failures(request, credentials)
        lately = AccessAttempt.objects.filter(
            ip_address=request.axes_ip_address, attempt_time__gte=get_cool_off_threshold(request)
        )
        if (
            lately.aggregate(n=Sum("failures_since_start"))["n"] or 0
        ) < settings.WRONG_PASSWORDS_OF_AN_ADDRESS:
            return of_name
        return max(of_name, get_failure_limit(request, credentials))


_LONGEST = AuditEntry._meta.get_field("what").max_length


def note(by: Actor, deed: AuditEvent, what: str = "", *, project: Project | None = None) -> None:
    """`what` was it done to, in words that hold no secret; NOBODY acts from a shell."""
    note_each(by, deed, [what], project=project)


def note_each(by: Actor, deed: AuditEvent, each: Iterable[str], *, project: Project | None) -> None:
    """The same deed, done to each of these."""
    AuditEntry.objects.bulk_create(
        AuditEntry(
            project=project and project.pk,
            project_name=project.name if project else "",
            who=by.user.get_username() if by.user else "",
            token=by.token.name if by.token else "",
            deed=deed,
            what=what[:_LONGEST],
        )
        for what in each
    )


def label_of(campaign: Campaign) -> str:
    return f"campaign {campaign.pk}: {campaign.name}"


@receiver(user_logged_in)
def _note_sign_in(request, user, **_) -> None:
    address = client_address(request.META, settings.TRUSTED_PROXIES)
    AuditEntry.objects.create(
        who=user.get_username(), deed=AuditEvent.SIGNED_IN, address=address[:45]
    )
