"""What agents report of their targets' machines."""

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.authentication import AgentAuthentication, IsAgent
from campaigns.api.fields import PERF_OF, AboveField, InputSerializer
from campaigns.domain.measured.machine import MOST_SECONDS, AgentReport
from campaigns.domain.measured.perf_counts import LONGEST_S
from campaigns.queries.perf_counts import perf_wanted
from campaigns.services.agents import database_time, take_report


class AgentSecondSerializer(InputSerializer):
    at_s = serializers.FloatField(
        min_value=0, help_text="Its middle by the site's clock, since 1970."
    )
    lasted_s = AboveField(default=1.0, max_value=LONGEST_S)
    did = serializers.DictField(help_text="Figures by name; those that are not known are ignored.")


class AgentReportSerializer(InputSerializer):
    host = serializers.CharField(max_length=100)
    watched = serializers.ListField(child=serializers.CharField(), required=False)
    clock_ahead_s = serializers.FloatField(default=0.0)
    clock_error_s = serializers.FloatField(default=0.0, min_value=0)
    seconds = AgentSecondSerializer(many=True, help_text=f"At most {MOST_SECONDS}.")


class AgentAnswerSerializer(serializers.Serializer):
    now = serializers.FloatField(help_text="The site's clock, in seconds since 1970.")
    stored = serializers.IntegerField(help_text="Seconds that fall into runs of the target.")
    perf = serializers.ChoiceField(
        choices=PERF_OF,
        allow_blank=True,
        help_text="What to count by perf stat for the next seconds; empty: nothing.",
    )


class AgentSeconds(APIView):
    authentication_classes = (AgentAuthentication,)
    permission_classes = (IsAgent,)
    most_body_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    most_values = 100_000  # a minute of the largest machine

    @extend_schema(
        request=AgentReportSerializer,
        responses=AgentAnswerSerializer,
        operation_id="agents_seconds",
    )
    def post(self, request):
        """Report seconds of a target's machine, with an agent's token. Those outside of runs are
        not kept; the same ones may be sent twice. Without seconds: the site's clock, and what to
        count."""
        now = database_time()
        report = AgentReport.from_json(request.data)
        stored = take_report(agent=request.auth, report=report)
        perf = perf_wanted(request.auth.target_id)
        return Response({"now": now, "stored": stored, "perf": perf})
