"""The addresses of accounts. Names with underscores are those by which allauth reverses them."""

from django.conf import settings
from django.urls import path, register_converter
from django.urls.converters import StringConverter

from campaigns.accounts import users, views
from campaigns.urls import page


class Base36Converter(StringConverter):
    regex = "[0-9A-Za-z]+"


register_converter(Base36Converter, "base36")

urlpatterns = [
    path("login/", views.login, name="account_login"),
    path("logout/", views.logout, name="account_logout"),
    path("login/code/", views.code, name="mfa_authenticate"),
    path("login/passkey/", views.passkey_login, name="mfa_login_webauthn"),
    path("login/forgotten/", views.forgotten_password, name="account_reset_password"),
    path(
        "login/password/<base36:uidb36>-<str:key>/",
        views.set_password,
        name="account_reset_password_from_key",
    ),
    path("login/email/<str:key>/", views.confirm_email, name="account_confirm_email"),
    page(f"login/{settings.OIDC_KEY}/", views.provider_login),
    path(
        f"login/{settings.OIDC_KEY}/callback/",
        views.provider_callback,
        {"provider_id": settings.OIDC_KEY},
        name="openid_connect_callback",
    ),
    page("account/", views.profile),
    path("account/factors/", views.to_profile, name="mfa_index"),  # where allauth leads on
    path("account/password/", views.password_change, name="account_change_password"),
    path("account/password/new/", views.password_set, name="account_set_password"),
    path("account/confirm/", views.confirm, name="account_reauthenticate"),
    path("account/confirm/code/", views.confirm_code, name="mfa_reauthenticate"),
    path("account/confirm/passkey/", views.confirm_passkey, name="mfa_reauthenticate_webauthn"),
    path("account/app/", views.app_new, name="mfa_activate_totp"),
    path("account/app/remove/", views.app_remove, name="mfa_deactivate_totp"),
    path("account/passkeys/new/", views.passkey_new, name="mfa_add_webauthn"),
    page("account/passkeys/<int:passkey>/remove/", views.passkey_remove),
    path("account/recovery/", views.recovery_codes, name="mfa_view_recovery_codes"),
    path("account/recovery/new/", views.recovery_codes_new, name="mfa_generate_recovery_codes"),
    path("account/disconnect/", views.provider_disconnect, name="socialaccount_connections"),
    page("account/sessions/end/", views.sessions_end),
    page("account/tokens/", views.token_list),
    page("account/tokens/<int:token>/revoke/", views.token_revoke),
    page("projects/<int:project>/members/", users.project_members),
    page("memberships/<int:membership>/role/", users.membership_role),
    page("memberships/<int:membership>/remove/", users.membership_remove),
    page("invitations/<int:invitation>/revoke/", users.invitation_revoke),
    page("join/<str:secret>/", users.invitation_accept),
    page("users/", users.user_list),
    page("users/new/", users.user_new),
    page("users/<int:user>/", users.user_detail),
    page("users/<int:user>/action/", users.user_action),
]
