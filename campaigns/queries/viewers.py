"""Who may still watch: read anew while streams are open, for all viewers of a row at once."""

from dataclasses import dataclass
from typing import Self

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

from campaigns.models.visibility import ProjectQuerySet


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody signed in, as they were when their stream was opened; `password` is its hash."""

    session: str
    user: int
    password: str

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        return cls(request.session.session_key, request.user.pk, request.user.password)


def who_still_see(rows: ProjectQuerySet, viewers: set[Viewer]) -> set[Viewer]:
    """Those who are still signed in, with an active account that sees one of the rows, by two
    statements. A sign-out deletes the session, and an account with a new password no longer fits
    its sessions."""
    keys = {each.session for each in viewers}
    open_sessions = Session.objects.filter(pk__in=keys, expire_date__gt=timezone.now())
    signed_in = set(open_sessions.values_list("pk", flat=True))
    accounts = User.objects.filter(pk__in=rows.viewers(), is_active=True)
    passwords = dict(
        accounts.filter(pk__in={each.user for each in viewers}).values_list("pk", "password")
    )
    return {
        each
        for each in viewers
        if each.session in signed_in and passwords.get(each.user) == each.password
    }
