"""Sign-in, sign-out and password change: Django's views with our templates. API tokens."""

from django.contrib import messages
from django.contrib.auth import views as auth_views
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.views.decorators.cache import never_cache

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import Refused
from campaigns.domain.units import counted
from campaigns.forms.projects import NewPasswordForm, SignInForm, TokenForm
from campaigns.services import audit
from campaigns.services import tokens as services
from campaigns.services.tokens import revoke_all_tokens
from campaigns.views.access import actor_of, signed_in_form, signed_in_post, takes_a_form


@signed_in_form
@never_cache
def token_list(request):
    """A new token's text is only in the response to the POST: never stored, never in a URL."""
    form = TokenForm(request.POST or None)
    text = _create_token(form, actor_of(request)) if request.method == "POST" else None
    context = {
        "form": TokenForm() if text else form,
        "text": text,
        "tokens": request.user.api_tokens.all(),
        "now": timezone.now(),
    }
    return render(request, "tokens/list.html", context, status=422 if form.errors else 200)


@signed_in_post
def token_revoke(request, token: int):
    found = request.user.api_tokens.filter(pk=token).first()
    if found is None:
        raise Http404
    services.revoke_token(by=actor_of(request), token=found)
    messages.success(request, f"{found.name} is revoked.")
    return redirect("token-list")


def _create_token(form: TokenForm, actor) -> str | None:
    if not form.is_valid():
        return None
    try:
        return services.create_token(by=actor, **form.cleaned_data)[1]
    except Refused as refusal:
        form.add_error("name", str(refusal))
        return None


class _PasswordChange(auth_views.PasswordChangeView):
    template_name = "registration/password.html"
    form_class = NewPasswordForm
    success_url = reverse_lazy("project-list")

    def form_valid(self, form):
        told = "Password changed."
        audit.note(actor_of(self.request), AuditEvent.PASSWORD_CHANGED)
        if form.cleaned_data.get("revokes_tokens"):
            n = revoke_all_tokens(by=actor_of(self.request))
            told += f" {counted(n, 'API tokens')} revoked."
        messages.success(self.request, told)
        return super().form_valid(form)


login = takes_a_form(
    auth_views.LoginView.as_view(
        template_name="registration/login.html",
        authentication_form=SignInForm,
        redirect_authenticated_user=True,
    )
)
logout = auth_views.LogoutView.as_view()
password_change = takes_a_form(_PasswordChange.as_view())
