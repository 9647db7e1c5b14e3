"""Texts as files to download, unless the reader has them."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from hashlib import blake2b

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag

from campaigns.domain.errors import InvalidFields
from campaigns.domain.shown.results import Answer, RunReport
from campaigns.exports.tables import csv_of_tables
from campaigns.models import Campaign, Run
from campaigns.queries.campaign_keys import release
from campaigns.queries.machine_runs import machine_tables, target_side
from campaigns.queries.reports import tool_report


def unless_known(
    request: HttpRequest, seen: Hashable | None, make: Callable[[], HttpResponseBase]
) -> HttpResponseBase:
    """What `make` answers, with an ETag; 304, and nothing made, if the request names that ETag.
    `seen`: all that decides what is at this address, in values whose `repr` is the same in every
    process; None while it may still change. Call it after the reader's rights have been checked."""
    if seen is None:
        return make()
    tag = quote_etag(blake2b(repr((release(), seen)).encode(), digest_size=16).hexdigest())
    response = get_conditional_response(request, etag=tag) or make()
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    return response


_TYPES = {"csv": "text/csv", "txt": "text/plain", "ndjson": "application/x-ndjson"}


def text_file(name: str, text: str) -> HttpResponse:
    """The text as a download of that name, which ends as one of `_TYPES`."""
    return HttpResponse(text, content_type=_type_of(name), headers=_download(name))


def text_stream(name: str, parts: Iterable[str]) -> StreamingHttpResponse:
    """As `text_file`, of a text that is made while it is sent."""
    return StreamingHttpResponse(parts, content_type=_type_of(name), headers=_download(name))


def _type_of(name: str) -> str:
    return f"{_TYPES[name.rpartition('.')[2]]}; charset=utf-8"


def _download(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def wants_blocks(asked: Mapping[str, str]) -> bool:
    """Whether `?format=blocks` asks for the tables of the page instead of a row per run. Raises
    InvalidFields for any other format than runs, the default, and blocks."""
    if asked.get("format", "runs") not in {"runs", "blocks"}:
        raise InvalidFields({"format": "Use runs (a row per run) or blocks (the page's tables)."})
    return asked.get("format") == "blocks"


def campaign_tables_file(campaign: Campaign, answer: Answer) -> HttpResponse:
    """The tables of its page, one after another."""
    tables = [*answer.tables, *target_side(campaign, answer).tables]
    return text_file(f"campaign-{campaign.pk}-tables.csv", csv_of_tables(tables))


def run_tables_file(run: Run, report: RunReport) -> HttpResponse:
    """All tables of its page, one after another."""
    tables = (*report.tables, *machine_tables(run))
    return text_file(f"run-{run.label}.csv", csv_of_tables(tables))


def tool_report_file(run: Run, style: str) -> HttpResponse:
    """The run in the style of another tool; Http404 for an unknown style."""
    text = tool_report(run, style)
    if text is None:
        raise Http404
    return text_file(f"{'-'.join(filter(None, ['run', run.label, style]))}.txt", text)
