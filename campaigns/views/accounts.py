"""Sign-in, sign-out and password change: Django's views with our templates."""

from django.contrib import messages
from django.contrib.auth import views as auth_views
from django.urls import reverse_lazy

from campaigns.forms.accounts import SignInForm


class _PasswordChange(auth_views.PasswordChangeView):
    template_name = "registration/password.html"
    success_url = reverse_lazy("project-list")

    def form_valid(self, form):
        messages.success(self.request, "Password changed.")
        return super().form_valid(form)


login = auth_views.LoginView.as_view(
    template_name="registration/login.html",
    authentication_form=SignInForm,
    redirect_authenticated_user=True,
)
logout = auth_views.LogoutView.as_view()
password_change = _PasswordChange.as_view()
