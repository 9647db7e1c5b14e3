"""A run as text in the style of a classic tool, as the injector's command line prints it."""

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.views import APIView

from campaigns.api.access import find
from campaigns.api.negotiation import AnyAccept
from campaigns.domain.other_tools.reports import REPORTS
from campaigns.exports.tool_report import text_response
from campaigns.models import Run
from campaigns.queries.tool_reports import tool_report

_STYLE = OpenApiParameter(
    "style",
    str,
    enum=list(REPORTS),
    description="Default: wsperf for WebSockets, otherwise ab.",
)
_TEXT = {(200, "text/plain"): OpenApiResponse(OpenApiTypes.STR, "The report.")}


class RunReportText(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(parameters=[_STYLE], responses=_TEXT, operation_id="runs_report")
    def get(self, request, pk) -> HttpResponse:
        """The figures of the run in the lines that the tool prints."""
        run = find(Run, request, pk=pk)
        style = request.query_params.get("style", "")
        text = tool_report(run, style)
        if text is None:
            raise Http404
        return text_response(run, style, text)
