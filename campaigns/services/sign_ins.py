"""Locks out whoever tries one password for many names: django-axes counts them name by name."""

from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_failure_limit
from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest


class SignInHandler(AxesDatabaseHandler):
    """Beside the limit of a name from an address, one of all names together from it."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Those of the name, which lock it at the failure limit; as many where the address has
        reached its own."""
        of_name = super().get_failures(request, credentials)
        if _wrong_passwords_from(request) < settings.WRONG_PASSWORDS_OF_AN_ADDRESS:
            return of_name
        return max(of_name, get_failure_limit(request, credentials))


def _wrong_passwords_from(request: HttpRequest) -> int:
    lately = AccessAttempt.objects.filter(
        ip_address=request.axes_ip_address, attempt_time__gte=get_cool_off_threshold(request)
    )
    return lately.aggregate(n=Sum("failures_since_start"))["n"] or 0
