"""Content negotiation, and how the schema describes what is not JSON."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.negotiation import BaseContentNegotiation

CSV = {(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "A CSV file.")}


class AnyAccept(BaseContentNegotiation):
    """For URLs with a single format: errors stay JSON, whatever was requested."""

    def select_parser(self, request, parsers):
        return parsers[0]

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], renderers[0].media_type
