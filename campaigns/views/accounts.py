"""Sign-in, sign-out and password change: Django's views with our templates."""

from django.contrib import messages
from django.contrib.auth import views as auth_views
from django.urls import reverse_lazy

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.units import counted
from campaigns.forms.accounts import NewPasswordForm, SignInForm
from campaigns.services import audit
from campaigns.services.tokens import revoke_all_tokens
from campaigns.views.access import actor_of, takes_a_form


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
