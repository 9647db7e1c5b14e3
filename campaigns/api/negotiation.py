"""What a client may ask for."""

from rest_framework.negotiation import BaseContentNegotiation


class AnyAccept(BaseContentNegotiation):
    """For addresses with one form only: a refusal stays JSON, whatever was asked for."""

    def select_parser(self, request, parsers):
        return parsers[0]

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], renderers[0].media_type
