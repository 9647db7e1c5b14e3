"""Where the database's bytes are, for administrators; a project's share is on its page of caps."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from campaigns.queries.storage import GROWTH_DAYS, growth, stored_kinds, stored_projects
from campaigns.views.access import for_administrators


@for_administrators
@require_GET
def storage(request: HttpRequest) -> HttpResponse:
    kinds = stored_kinds()
    context = {
        "kinds": kinds,
        "total_bytes": sum(kind.total_bytes for kind in kinds),
        "projects": stored_projects(),
        "growth": growth(),
        "growth_days": GROWTH_DAYS,
    }
    return render(request, "storage/page.html", context)
