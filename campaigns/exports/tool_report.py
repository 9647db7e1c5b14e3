"""A run's report as a plain text file."""

from django.http import HttpResponse

from campaigns.models import Run


def text_response(run: Run, style: str, text: str) -> HttpResponse:
    name = "-".join(filter(None, ["run", run.label, style]))
    return HttpResponse(
        text,
        content_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.txt"'},
    )
