"""Every page's path, grouped by noun. A view's name is its URL's name."""

from django.urls import path

from campaigns.views import accounts, health, projects

health_urls = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]

account_urls = [
    path("login/", accounts.login, name="login"),
    path("logout/", accounts.logout, name="logout"),
    path("account/password/", accounts.password_change, name="password-change"),
]

project_urls = [
    path("", projects.project_list, name="project-list"),
    path("projects/new/", projects.project_new, name="project-new"),
    path("projects/<int:project>/members/", projects.project_members, name="project-members"),
    path(
        "memberships/<int:membership>/role/",
        projects.membership_role,
        name="membership-role",
    ),
    path(
        "memberships/<int:membership>/remove/",
        projects.membership_remove,
        name="membership-remove",
    ),
]

urlpatterns = [
    *account_urls,
    *project_urls,
    *health_urls,
]
