"""The root URLs: pages, REST API, admin site."""

import axes.admin  # noqa: F401  (what has no page of ours: the site for staff shows it)
from django.contrib import admin
from django.urls import include, path, re_path

from campaigns.accounts.views import admin_login
from campaigns.rest.schema import NothingHere

admin.site.login = admin_login

urlpatterns = [
    path("", include("campaigns.urls")),
    path("", include("campaigns.accounts.urls")),
    path("", include("campaigns.manifest.views")),
    path("", include("campaigns.notes.views")),
    path("", include("campaigns.schedules.views")),
    path("api/v1/", include("campaigns.manifest.api")),
    path("api/v1/", include("campaigns.notes.api")),
    path("api/v1/", include("campaigns.schedules.api")),
    path("api/v1/", include("campaigns.rest.urls")),
    re_path(r"^api/", NothingHere.as_view(), name="api-nothing-here"),
    path("admin/", admin.site.urls),
]

handler500 = "campaigns.core.context.server_error"
