"""Every page's path, grouped by noun. A view's name is its URL's name."""

from django.urls import path

from campaigns.views import accounts, health, injectors, plans, probes, projects, targets, tokens

health_urls = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]

account_urls = [
    path("login/", accounts.login, name="login"),
    path("logout/", accounts.logout, name="logout"),
    path("account/password/", accounts.password_change, name="password-change"),
    path("account/tokens/", tokens.token_list, name="token-list"),
    path("account/tokens/<int:token>/revoke/", tokens.token_revoke, name="token-revoke"),
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

target_urls = [
    path("projects/<int:project>/targets/", targets.target_list, name="target-list"),
    path("projects/<int:project>/targets/new/", targets.target_new, name="target-new"),
    path("targets/<int:target>/", targets.target_detail, name="target-detail"),
    path("targets/<int:target>/edit/", targets.target_edit, name="target-edit"),
    path("targets/<int:target>/archive/", targets.target_archive, name="target-archive"),
    path("endpoints/<int:endpoint>/probe/", probes.probe_new, name="probe-new"),
    path("probes/<int:probe>/", probes.probe_detail, name="probe-detail"),
]

plan_urls = [
    path("projects/<int:project>/plans/", plans.plan_list, name="plan-list"),
    path("projects/<int:project>/plans/new/", plans.plan_new, name="plan-new"),
    path("plans/<int:plan>/", plans.plan_detail, name="plan-detail"),
    path("plans/<int:plan>/edit/", plans.plan_edit, name="plan-edit"),
    path("plans/<int:plan>/archive/", plans.plan_archive, name="plan-archive"),
]

injector_urls = [
    path("injectors/", injectors.injector_list, name="injector-list"),
]

urlpatterns = [
    *account_urls,
    *project_urls,
    *target_urls,
    *plan_urls,
    *injector_urls,
    *health_urls,
]
