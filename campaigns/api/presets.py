"""The presets: plans that are one click away on the pages, and one POST away here."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import refuse_unknown
from campaigns.api.plans import SpecField
from campaigns.domain.plan.presets import PRESETS


class PresetSerializer(serializers.Serializer):
    key = serializers.CharField()
    question = serializers.CharField(help_text="What it answers.")
    summary = serializers.CharField()
    name = serializers.CharField(help_text="The name that the page proposes for the plan.")
    group = serializers.CharField()
    spec = SpecField()


class PresetList(APIView):
    @extend_schema(responses=PresetSerializer(many=True))
    def get(self, request):
        """All presets. Send a `spec` to `/plans/` to make a plan of it."""
        refuse_unknown(request, "format")
        return Response(PresetSerializer(PRESETS.values(), many=True).data)
