"""Signing in and out, the second factor, a forgotten password: allauth's views with our templates.
One's own profile and API tokens."""

from contextlib import suppress
from typing import Any

from allauth.account import views as allauth_views
from allauth.account.internal.flows.reauthentication import get_reauthentication_flows
from allauth.account.models import EmailAddress
from allauth.mfa.base import views as factor_views
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes import views as recovery_views
from allauth.mfa.totp import views as app_views
from allauth.mfa.webauthn import views as passkey_views
from allauth.socialaccount.adapter import get_adapter as get_provider_adapter
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.openid_connect import views as provider_views
from allauth.socialaccount.views import ConnectionsView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from requests import RequestException

from campaigns.accounts import services, tokens
from campaigns.accounts.adapter import provider_failed
from campaigns.accounts.forms import ProfileForm, TokenForm
from campaigns.core.access import (
    actor_of,
    answers_refusals,
    render_page,
    saved_by,
    signed_in_form,
    signed_in_post,
    signed_in_safe,
    takes_a_form,
)
from campaigns.core.permissions import Actor
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.typed_text import clean_name
from campaigns.domain.units import counted

_PROFILE = reverse_lazy("profile")


class _SignIn(allauth_views.LoginView):
    template_name = "accounts/sign_in.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        ways = {
            "providers": _providers(self.request),
            "takes_passkeys": _takes_passkeys(self.request),
        }
        return super().get_context_data(**kwargs) | ways


class _ForgottenPassword(allauth_views.PasswordResetView):
    template_name = "accounts/forgotten.html"
    success_url = reverse_lazy("account_login")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any):
        if request.method == "POST" and not settings.HAS_EMAIL:
            raise Refused("This site sends no e-mail. Ask an administrator for a link.")
        self.extra_context = {"has_email": settings.HAS_EMAIL}
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form):
        response = super().form_valid(form)
        messages.success(
            self.request, "If an account has this address, a link is on its way to it."
        )
        return response


class _SetPassword(allauth_views.PasswordResetFromKeyView):
    """The page of a link that sets a password once: by e-mail, or from an administrator."""

    template_name = "accounts/set_password.html"
    success_url = reverse_lazy("account_login")

    def render_to_response(self, context: dict[str, Any], **options: Any) -> HttpResponse:
        status = 404 if context.get("token_fail") else 200
        return super().render_to_response(context, status=status, **options)


class _PasswordChange(allauth_views.PasswordChangeView):
    template_name = "accounts/password.html"

    def form_valid(self, form):
        response = super().form_valid(form)
        if form.cleaned_data.get("revokes_tokens"):
            n = tokens.revoke_all_tokens(by=actor_of(self.request))
            messages.success(self.request, f"{counted(n, 'API tokens')} revoked.")
        return response


class _RecoveryCodes(recovery_views.ViewRecoveryCodesView):
    def get(self, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().get(*args, **kwargs)
        except Http404:  # there are none
            return redirect("profile")


class _Disconnect(ConnectionsView):
    def form_invalid(self, form):
        for sentence in form.errors.get("__all__", ["Choose what to disconnect."]):
            messages.error(self.request, sentence)
        return redirect("profile")


class _ConfirmEmail(allauth_views.ConfirmEmailView):
    template_name = "accounts/confirm_email.html"

    def render_to_response(self, context: dict[str, Any], **options: Any) -> HttpResponse:
        status = 200 if context["can_confirm"] else 404
        return super().render_to_response(context, status=status, **options)


def _button(view: Any):
    """What a button of the profile does. Who comes otherwise goes back there."""

    @signed_in_form
    def acting(request: HttpRequest) -> HttpResponse:
        if request.method == "POST":
            with suppress(Http404):  # what it removes is gone already
                return view(request)
        return redirect("profile")

    return acting


def _page(view: Any, template: str = "", **options: Any):
    """An allauth view that takes forms, with our template."""
    if template:
        options["template_name"] = f"accounts/{template}.html"
    return never_cache(takes_a_form(view.as_view(**options)))


login = never_cache(takes_a_form(_SignIn.as_view()))
logout = require_POST(allauth_views.LogoutView.as_view())
forgotten_password = _page(_ForgottenPassword)
set_password = _page(_SetPassword)
code = _page(factor_views.AuthenticateView, "code")
passkey_login = _page(passkey_views.LoginWebAuthnView)

password_change = _page(_PasswordChange)
password_set = _page(allauth_views.PasswordSetView, "password", success_url=_PROFILE)
confirm = _page(allauth_views.ReauthenticateView, "confirm")
confirm_code = _page(factor_views.ReauthenticateView, "confirm")
confirm_passkey = _page(passkey_views.ReauthenticateWebAuthnView, "confirm")
confirm_email = _page(_ConfirmEmail)
app_new = _page(app_views.ActivateTOTPView, "app_new")
app_remove = _button(app_views.DeactivateTOTPView.as_view(success_url=_PROFILE))
passkey_new = _page(passkey_views.AddWebAuthnView, "passkey_new")
to_profile = signed_in_safe(lambda request: redirect("profile"))
provider_callback = require_GET(provider_views.callback)
recovery_codes = _page(_RecoveryCodes, "recovery_codes")
recovery_codes_new = _button(recovery_views.GenerateRecoveryCodesView.as_view())
provider_disconnect = _button(_Disconnect.as_view(success_url=_PROFILE))
_remove_passkey = passkey_views.RemoveWebAuthnView.as_view(success_url=_PROFILE)


@signed_in_post
def passkey_remove(request: HttpRequest, passkey: int) -> HttpResponse:
    mine = Authenticator.objects.filter(user=request.user, type=Authenticator.Type.WEBAUTHN)
    get_object_or_404(mine, pk=passkey)
    return _remove_passkey(request, pk=passkey)


def _providers(request: HttpRequest) -> list:
    return get_provider_adapter().list_providers(request)


@require_POST
@never_cache
def provider_login(request: HttpRequest) -> HttpResponse:
    """To the provider by a page of its own: browsers refuse a form that redirects to another site
    (form-action). `process` is connect where somebody adds it to their account."""
    providers = _providers(request)
    if not providers:
        raise Http404
    try:
        response = provider_views.login(request, settings.OIDC_KEY)
    except RequestException:
        return provider_failed(request, providers[0].name)
    if response.status_code != 302 or response.url.startswith("/"):
        return response
    context = {"provider": providers[0], "address": response.url}
    return render(request, "accounts/to_provider.html", context)


def admin_login(request: HttpRequest, extra_context: Any = None) -> HttpResponse:
    """In place of the form of Django's site for staff, which knows no second step."""
    if request.user.is_authenticated:
        return redirect("admin:index" if request.user.is_staff else "project-list")
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


# --- one's own account ---------------------------------------------------------------------------
@never_cache
@signed_in_form
def profile(request: HttpRequest) -> HttpResponse:
    actor, user = actor_of(request), request.user
    content = {"name": user.get_full_name(), "email": user.email}
    form = ProfileForm(request.POST or None, initial=content)
    if saved_by(form, _save_profile, request=request, by=actor):
        return redirect("profile")
    factors = list(Authenticator.objects.filter(user=user).order_by("pk"))
    of_type = {kind: [each for each in factors if each.type == kind] for kind in Authenticator.Type}
    context = {
        "form": form,
        "address": EmailAddress.objects.filter(user=user, email=user.email).first(),
        "awaited": EmailAddress.objects.get_new(user),
        "has_email": settings.HAS_EMAIL,
        "apps": of_type[Authenticator.Type.TOTP],
        "passkeys": of_type[Authenticator.Type.WEBAUTHN],
        "recovery": of_type[Authenticator.Type.RECOVERY_CODES],
        "takes_passkeys": _takes_passkeys(request),
        "can_confirm": bool(get_reauthentication_flows(user)),
        "connections": SocialAccount.objects.filter(user=user),
        "providers": _providers(request),
    }
    return render_page(request, "accounts/profile.html", **context)


def _takes_passkeys(request: HttpRequest) -> bool:
    """Browsers keep passkeys for names, over HTTPS; and for localhost."""
    host = request.get_host().rpartition(":")[0] or request.get_host()
    is_address = host.startswith("[") or host.replace(".", "").isdigit()
    return (request.is_secure() or host == "localhost") and not is_address


@transaction.atomic
def _save_profile(request: HttpRequest, by: Actor, name: str, email: str) -> bool:
    """True; else raises InvalidFields. Another address counts once the link that is sent to it was
    opened; at once where the site sends no e-mail."""
    # A column that every row of a person is read with.
    User.objects.filter(pk=by.user.pk).update(first_name=clean_name(name)[:150], last_name="")
    email = email.lower()
    if email == by.user.email.lower():
        messages.success(request, "Profile saved.")
    elif not email or not settings.HAS_EMAIL:
        services.set_email(by=by, email=email)
        messages.success(request, "Profile saved.")
    elif services.is_taken(email, by.user):
        raise InvalidFields({"email": "Another account has this address."})
    else:
        EmailAddress.objects.add_new_email(request, by.user, email)
        messages.success(request, f"Open the link that was sent to {email}. It becomes yours then.")
    return True


@signed_in_post
@answers_refusals("profile")
def sessions_end(request: HttpRequest) -> HttpResponse:
    n = services.end_other_sessions(by=actor_of(request), session_key=request.session.session_key)
    messages.success(request, f"{counted(n, 'other sessions')} ended.")
    return redirect("profile")


@signed_in_form
@never_cache
def token_list(request):
    """A new token's text is only in the response to the POST: never stored, never in a URL."""
    form = TokenForm(request.POST or None)
    token = saved_by(form, tokens.create_token, by=actor_of(request))
    context = {
        "form": TokenForm() if token else form,
        "text": token and token[1],
        "tokens": request.user.api_tokens.all(),
        "now": timezone.now(),
    }
    return render_page(request, "accounts/tokens.html", **context)


@signed_in_post
def token_revoke(request, token: int):
    api_token = request.user.api_tokens.filter(pk=token).first()
    if api_token is None:
        raise Http404
    tokens.revoke_token(by=actor_of(request), token=api_token)
    messages.success(request, f"{api_token.name} is revoked.")
    return redirect("token-list")
