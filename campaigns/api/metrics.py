"""The registry of metrics: what each figure of a table means, and what other tools call it."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import refuse_unknown
from campaigns.domain.shown.metrics import METRICS


class MetricSerializer(serializers.Serializer):
    key = serializers.CharField()
    title = serializers.CharField()
    unit = serializers.CharField(allow_blank=True)
    formula = serializers.CharField()
    others = serializers.DictField(
        child=serializers.CharField(), help_text="A tool's name → its own name for this."
    )


class MetricList(APIView):
    @extend_schema(responses=MetricSerializer(many=True))
    def get(self, request):
        """All metrics. Tables refer to them by `key`."""
        refuse_unknown(request, "format")
        return Response(MetricSerializer(METRICS.values(), many=True).data)
