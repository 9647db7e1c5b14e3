"""Texts as files to download."""

from django.http import Http404, HttpResponse

from campaigns.models import Run
from campaigns.queries.tool_reports import tool_report

_TYPES = {"csv": "text/csv", "txt": "text/plain"}


def text_file(name: str, text: str) -> HttpResponse:
    """The text as a download of that name, which ends in .csv or .txt."""
    return HttpResponse(
        text,
        content_type=f"{_TYPES[name.rpartition('.')[2]]}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def tool_report_file(run: Run, style: str) -> HttpResponse:
    """The run in the style of another tool; Http404 for an unknown style."""
    text = tool_report(run, style)
    if text is None:
        raise Http404
    return text_file(f"{'-'.join(filter(None, ['run', run.label, style]))}.txt", text)
