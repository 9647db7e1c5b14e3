"""What allauth, axes and Django ask of us where somebody signs in: who may, what is counted, said,
sent and kept in the audit log. allauth does the rest."""

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.userkit import filter_users_by_email
from allauth.account.models import EmailAddress
from allauth.account.signals import email_changed, password_changed, password_reset, password_set
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authentication_failed, authenticator_removed
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, _build_apps_from_settings
from allauth.socialaccount.signals import social_account_added, social_account_removed
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.core.cache import cache
from django.db.models.functions import Now
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

from campaigns.accounts.models import LastSeen
from campaigns.core import audit
from campaigns.core.access import client_address_of
from campaigns.core.permissions import Actor
from campaigns.domain.errors import Refused
from campaigns.operations.models import AuditEvent
from campaigns.projects.services import decrypt, encrypt

logger = logging.getLogger(__name__)

SEEN_IS_NOTED_EVERY_S = 300
# allauth names a message by its template; what is not here is not worth one.
_MESSAGES = {
    "account/messages/password_changed.txt": "Password changed.",
    "account/messages/password_set.txt": "Password set.",
    "account/messages/email_confirmed.txt": "Your e-mail address is confirmed.",
    "mfa/messages/totp_activated.txt": "Your authenticator app is set up.",
    "mfa/messages/totp_deactivated.txt": "Your authenticator app is removed.",
    "mfa/messages/webauthn_added.txt": "Your passkey is added.",
    "mfa/messages/webauthn_removed.txt": "Your passkey is removed.",
    "mfa/messages/recovery_codes_generated.txt": "Keep these recovery codes in a safe place.",
    "socialaccount/messages/account_connected.txt": "Your account is connected.",
    "socialaccount/messages/account_disconnected.txt": "Your account is disconnected.",
    "socialaccount/messages/account_connected_other.txt": (
        "Another account of this site is connected with it. Disconnect it there first."
    ),
}


class AccountAdapter(DefaultAccountAdapter):
    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": "Wrong user name or password. Both are case-sensitive.",
        "enter_current_password": "This is not your current password.",
        "incorrect_password": "This is not your password.",
        "too_many_login_attempts": "Too many wrong codes. Try again in some minutes.",
        "username_taken": "This user name is taken. Choose another one.",
        "email_taken": "Another account has this address.",
    }

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """axes counts wrong passwords, in the database and so for all web processes."""

    def is_safe_url(self, url: str) -> bool:
        try:
            return super().is_safe_url(url)
        except ValueError:  # such as http://[
            return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address_of(request)

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        *args: Any,
        message: str | None = None,
        **options: Any,
    ) -> None:
        if text := message or _MESSAGES.get(message_template or ""):
            messages.add_message(request, level, text)

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        messages.error(request, "This account is disabled. Ask an administrator.")
        return redirect("account_login")

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("profile")

    def get_email_verification_redirect_url(self, email_address: EmailAddress) -> str:
        return reverse("profile")

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Raises Refused where the mail server takes nothing."""
        try:
            super().send_mail(template_prefix.replace("account/", "accounts/", 1), email, context)
        except OSError as error:
            logger.error("No e-mail was sent: %s", error)
            raise Refused("The mail server did not take the message. Try again later.") from None


class FactorAdapter(DefaultMFAAdapter):
    """Secrets of authenticator apps and seeds of recovery codes are stored encrypted."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code is wrong, or was used before."
    }

    def encrypt(self, text: str) -> str:
        return encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt(encrypted_text)

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        n = Authenticator.objects.filter(user=user, type=type).count()
        return f"Key {n + 1}"

    def _get_site_name(self) -> str:
        return "benchsite"


class ProviderAdapter(DefaultSocialAccountAdapter):
    """The OpenID Connect provider of the settings, and whom it may bring."""

    error_messages = DefaultSocialAccountAdapter.error_messages | {
        "no_password": "Set a password first. Otherwise nothing would sign you in."
    }

    def list_apps(self, request: HttpRequest, provider=None, client_id=None) -> list:
        """Those of the settings; allauth's table stays empty."""
        apps_of_settings = _build_apps_from_settings(provider=provider, client_id=client_id)
        return [app for apps in apps_of_settings.values() for app in apps]

    def authenticate_by_email(self, sociallogin) -> tuple[User, str] | None:
        """Only where the account has confirmed the address, too: anybody can enter another's."""
        account = super().authenticate_by_email(sociallogin)
        if account and EmailAddress.objects.filter(
            user=account[0], email=account[1].lower(), verified=True
        ):
            return account
        return None

    def is_open_for_signup(self, request: HttpRequest, sociallogin) -> bool:
        """For a verified address in one of OIDC_DOMAINS that no account has."""
        name = sociallogin.provider.name
        email = next((each.email for each in sociallogin.email_addresses if each.verified), "")
        domain = email.rpartition("@")[2].lower()
        if any(filter_users_by_email(each.email) for each in sociallogin.email_addresses):
            why = (
                "An account has your e-mail address already. Sign in to it as before, then connect "
                f"{name} on your profile."
            )
        elif domain not in settings.OIDC_DOMAINS:
            why = (
                f"{name} knows you, but you have no account here. Ask the owner of a project to "
                "invite you, or an administrator."
            )
        else:
            return True
        raise ImmediateHttpResponse(_failed(request, why, 403))

    def populate_user(self, request: HttpRequest, sociallogin, data: dict[str, Any]) -> User:
        """The display name is in one field: its parts have different orders in the world."""
        user = super().populate_user(request, sociallogin, data)
        whole = data.get("name") or user.get_full_name()
        user.first_name, user.last_name = whole[:150].strip(), ""
        return user

    def save_user(self, request: HttpRequest, sociallogin, form=None) -> User:
        user = super().save_user(request, sociallogin, form)
        name = sociallogin.provider.name
        audit.note(Actor(user=user), AuditEvent.ACCOUNT_CREATED, f"{user.username}, by {name}")
        return user

    def on_authentication_error(self, request: HttpRequest, provider, *args, **options) -> None:
        logger.warning("%s: %s", provider.name, options.get("exception") or options.get("error"))
        raise ImmediateHttpResponse(provider_failed(request, provider.name))

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount) -> str:
        return reverse("profile")


def provider_failed(request: HttpRequest, name: str) -> HttpResponse:
    return _failed(request, f"{name} did not sign you in. Try again, or use your password.")


def _failed(request: HttpRequest, why: str, status: int = 200) -> HttpResponse:
    return render(request, "accounts/provider_failed.html", {"why": why}, status=status)


# --- what is counted, and what is kept in the audit log ------------------------------------------
@receiver(authentication_failed)
def _count_wrong_code(request: HttpRequest, user: User, **_: Any) -> None:
    """As a wrong password, by axes; beside allauth's own limit for the account."""
    user_login_failed.send(
        sender=__name__, credentials={"username": user.get_username()}, request=request
    )


@receiver(password_changed)
@receiver(password_set)
def _note_password(user: User, **_: Any) -> None:
    audit.note(Actor(user=user), AuditEvent.PASSWORD_CHANGED)


@receiver(password_reset)
def _note_reset(user: User, **_: Any) -> None:
    audit.note(Actor(user=user), AuditEvent.PASSWORD_RESET)


@receiver(email_changed)
def _note_email(user: User, to_email_address: EmailAddress, **_: Any) -> None:
    audit.note(Actor(user=user), AuditEvent.EMAIL_CHANGED, to_email_address.email)


@receiver(post_save, sender=Authenticator)
def _note_factor(instance: Authenticator, created: bool, **_: Any) -> None:
    """In the transaction that adds it; allauth's own signal comes after it."""
    if created:
        audit.note(Actor(user=instance.user), AuditEvent.SIGN_IN_ADDED, str(instance))


@receiver(authenticator_removed)
def _note_removed_factor(user: User, authenticator: Authenticator, **_: Any) -> None:
    audit.note(Actor(user=user), AuditEvent.SIGN_IN_REMOVED, str(authenticator))


@receiver(social_account_added)
def _note_identity(sociallogin, **_: Any) -> None:
    by = Actor(user=sociallogin.user)
    audit.note(by, AuditEvent.SIGN_IN_ADDED, sociallogin.provider.name)


@receiver(social_account_removed)
def _note_removed_identity(socialaccount, **_: Any) -> None:
    by = Actor(user=socialaccount.user)
    audit.note(by, AuditEvent.SIGN_IN_REMOVED, socialaccount.get_provider().name)


class LastSeenMiddleware(MiddlewareMixin):
    """Notes when a signed-in person was here, at most once in some minutes of each process."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        user = getattr(request, "_cached_user", None)  # who was not asked for is not read
        # A stream has given its connection back, and would keep another one while it lasts.
        if user is not None and user.is_authenticated and not response.streaming:
            note_seen(user)
        return response


def note_seen(user: User) -> None:
    if cache.add(f"seen-{user.pk}", True, SEEN_IS_NOTED_EVERY_S):
        LastSeen.objects.bulk_create(
            [LastSeen(user=user, at=Now())],
            update_conflicts=True,
            unique_fields=["user"],
            update_fields=["at"],
        )
