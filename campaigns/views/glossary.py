"""The glossary. Public, because share link visitors look up terms too."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from campaigns.domain.shown.glossary import TERMS


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "glossary.html", {"terms": TERMS})
