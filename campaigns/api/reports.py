"""A run as text in the style of a classic tool, as the injector's command line prints it."""

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.views import APIView

from campaigns.api.access import find, refuse_unknown
from campaigns.api.negotiation import AnyAccept
from campaigns.domain.other_tools.reports import REPORTS
from campaigns.exports.files import tool_report_file
from campaigns.models import Run

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
        """The run's figures as the tool would print them."""
        run = find(Run, request, pk=pk)
        refuse_unknown(request, "style")
        return tool_report_file(run, request.query_params.get("style", ""))
