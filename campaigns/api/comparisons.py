"""Two runs side by side, as their page shows them."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import find
from campaigns.api.tables import TableSerializer
from campaigns.models import Run
from campaigns.queries.comparisons import compare_runs


class DifferenceSerializer(serializers.Serializer):
    name = serializers.CharField(help_text="What differs in plan, target or environment.")
    baseline = serializers.CharField()
    candidate = serializers.CharField()


class CurvePointSerializer(serializers.Serializer):
    """A point of the percentile curve."""

    q = serializers.FloatField(help_text="The share of requests that took at most `ms`.")
    ms = serializers.FloatField()
    beyond = serializers.FloatField(help_text="Requests above it.")


class CurvesSerializer(serializers.Serializer):
    baseline = CurvePointSerializer(many=True)
    candidate = CurvePointSerializer(many=True)


class ComparisonSerializer(serializers.Serializer):
    baseline = serializers.IntegerField()
    candidate = serializers.IntegerField()
    table = TableSerializer()
    differs = DifferenceSerializer(many=True)
    note = serializers.CharField(help_text="Why two single runs get no verdict.")
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="What makes the figures of either run doubtful."
    )
    curves = CurvesSerializer()


class RunComparison(APIView):
    @extend_schema(responses=ComparisonSerializer, operation_id="runs_compare")
    def get(self, request, baseline, candidate):
        """The figures of both runs, their differences, and what differs in their settings."""
        older, newer = find(Run, request, pk=baseline), find(Run, request, pk=candidate)
        compared = compare_runs(older, newer)
        keys = ("name", "baseline", "candidate")
        return Response(
            {
                "baseline": older.pk,
                "candidate": newer.pk,
                "table": compared.table.to_json(),
                "differs": [dict(zip(keys, each, strict=True)) for each in compared.differs],
                "note": compared.note,
                "warnings": compared.warnings,
                "curves": {
                    name: CurvePointSerializer(points, many=True).data
                    for name, points in compared.curves.items()
                },
            }
        )
