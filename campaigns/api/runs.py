"""Runs: list with filters, read with the frozen plan, stop; their seconds and
reports; and the metrics that they have."""

from functools import partial
from typing import Any

import django_filters
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
)
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import VisibleViewSet, find, refuse_unknown
from campaigns.api.fields import (
    OUTCOMES,
    PRECISIONS,
    RUN_STATES,
    RUN_STOP_REASONS,
    TARGET_STATES,
    THRESHOLD_STATES,
    TRUSTS,
    IdFilter,
    InstantFilter,
    WholeFilter,
)
from campaigns.api.pagination import SecondPages
from campaigns.api.parsers import CSV, AnyAccept
from campaigns.api.table_serializers import JudgedRunSerializer
from campaigns.domain.errors import Removed
from campaigns.domain.other_tools.reports import REPORTS
from campaigns.domain.shown.metrics import METRICS
from campaigns.exports.files import text_stream, tool_report_file, unless_known
from campaigns.exports.runs import csv_of_runs
from campaigns.live.memory import final_key
from campaigns.live.waiting import without_connection
from campaigns.models import Run, ShardSecond
from campaigns.queries.measured import whole_runs
from campaigns.queries.retention import why_no_seconds
from campaigns.queries.runs import with_verdicts
from campaigns.services.runs import stop_run

_STYLE = OpenApiParameter(
    "style", str, enum=list(REPORTS), description="Default: wsperf for WebSockets, otherwise ab."
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


class RunSerializer(JudgedRunSerializer):
    project = serializers.IntegerField(source="campaign.project_id")
    plan = serializers.IntegerField(source="test.plan_version.plan_id")
    plan_name = serializers.CharField(source="test.plan_version.plan.name")
    plan_number = serializers.IntegerField(source="test.plan_version.number")
    origin = serializers.CharField(source="test.endpoint.origin")
    connection_mode = serializers.CharField(source="test.connection_mode")
    stop_requested = serializers.ChoiceField(
        choices=RUN_STOP_REASONS, allow_null=True, help_text="What stopped it, or is stopping it."
    )

    threshold_state = serializers.ChoiceField(
        choices=THRESHOLD_STATES,
        allow_null=True,
        help_text="Whether the target kept the plan's thresholds. null: it has none, the run goes "
        "on, or its measurement is not usable.",
    )

    class Meta:
        model = Run
        fields = (
            "id",
            "label",
            "project",
            "campaign",
            "test",
            "target",
            "plan",
            "plan_name",
            "plan_number",
            "origin",
            "connection_mode",
            "position",
            "repeat",
            "state",
            "state_at",
            "outcome",
            "judgement",
            "threshold_state",
            "n_shards",
            "t0",
            "ended_at",
            "stop_requested",
            "reason",
        )
        read_only_fields = fields


class VerdictSerializer(serializers.Serializer):
    """Whether the run kept one of the plan's thresholds."""

    rule = serializers.CharField(help_text="For example p95 < 300 ms.")
    metric = serializers.CharField()
    limit = serializers.FloatField()
    unit = serializers.CharField()
    measured = serializers.FloatField(allow_null=True, help_text="In the unit of the rule.")
    passed = serializers.BooleanField()
    since = serializers.IntegerField(
        allow_null=True, help_text="The second from which the rule was broken until the end."
    )


class RunWithSnapshotSerializer(RunSerializer):
    snapshot = serializers.JSONField(
        source="whole_snapshot", help_text="Plan, endpoint and environment at the start of the run."
    )
    thresholds = serializers.SerializerMethodField(help_text="Empty until the run has ended.")

    @extend_schema_field(VerdictSerializer(many=True))
    def get_thresholds(self, run: Run):
        return [each.to_json() for each in run.verdicts]

    class Meta(RunSerializer.Meta):
        fields = (*RunSerializer.Meta.fields, "snapshot", "thresholds")
        read_only_fields = fields


class RunFilterSet(django_filters.FilterSet):
    project = IdFilter("campaign__project")
    campaign = IdFilter()
    test = IdFilter()
    target = IdFilter()
    plan = IdFilter("test__plan_version__plan")
    state = django_filters.MultipleChoiceFilter(choices=RUN_STATES)
    outcome = django_filters.MultipleChoiceFilter(choices=OUTCOMES)
    measurement = django_filters.MultipleChoiceFilter("trust", choices=TRUSTS)
    target_state = django_filters.MultipleChoiceFilter(choices=TARGET_STATES)
    precision = django_filters.MultipleChoiceFilter(choices=PRECISIONS)
    since = InstantFilter("t0", lookup_expr="gte")
    until = InstantFilter("t0", lookup_expr="lt")

    class Meta:
        model = Run
        fields = ()


class RunViewSet(VisibleViewSet):
    model = Run
    filterset_class = RunFilterSet

    def get_queryset(self):
        runs = with_verdicts(super().get_queryset())
        return runs.select_related("campaign", "test__endpoint", "test__plan_version__plan")

    def get_serializer_class(self):
        return RunSerializer if self.action == "list" else RunWithSnapshotSerializer

    def filter_queryset(self, queryset):
        return super().filter_queryset(queryset).order_by("-campaign_id", "-position")

    @extend_schema(request=None, operation_id="runs_stop")
    def stop(self, request, pk):
        """Ends the run within seconds. Its results so far are kept and marked as stopped."""
        run = self.get_object()
        stop_run(by=self.actor, run=run)
        return self.answer(run.pk)


class RunsCsv(RunViewSet):
    """The list as a file: one address, one format, no pages."""

    content_negotiation_class = AnyAccept
    paging = ()

    @extend_schema(responses=CSV, operation_id="runs_list_csv")
    def file(self, request):
        """All runs that the filters leave, one row each, times in µs. Not paginated."""
        self._refuse_unknown_filters()
        runs = self.filter_queryset(self.get_queryset())
        return text_stream("runs.csv", without_connection(csv_of_runs(whole_runs(runs))))


class TimingSerializer(serializers.Serializer):
    """Durations in µs. `histogram` is HdrHistogram's V2 compressed payload in base64."""

    n = serializers.IntegerField()
    sum_us = serializers.IntegerField()
    sum_squares = serializers.IntegerField()
    min_us = serializers.IntegerField()
    max_us = serializers.IntegerField()
    histogram = serializers.CharField()


class SecondSerializer(serializers.ModelSerializer):
    """What one shard measured in one second at one step. Absent counters are 0."""

    counters = serializers.DictField(child=serializers.IntegerField())
    errors = serializers.DictField(child=serializers.IntegerField())
    statuses = serializers.DictField(child=serializers.IntegerField())
    in_flight = serializers.IntegerField()
    timings = serializers.DictField(child=TimingSerializer())
    vitals = serializers.DictField(child=serializers.FloatField(), allow_null=True)

    class Meta:
        model = ShardSecond
        fields = (
            "second",
            "step",
            "shard",
            "counters",
            "errors",
            "statuses",
            "in_flight",
            "timings",
            "vitals",
        )
        read_only_fields = fields

    def to_representation(self, row: ShardSecond) -> dict[str, Any]:
        return super().to_representation(row.told | {"shard": row.shard})


class SecondFilterSet(django_filters.FilterSet):
    step = WholeFilter(min_value=0, max_value=1000)
    shard = WholeFilter(min_value=0, max_value=1000)
    after = WholeFilter("second", lookup_expr="gt", min_value=-100_000, max_value=10_000_000)

    class Meta:
        model = ShardSecond
        fields = ()


class SecondViewSet(VisibleViewSet):
    """The stored seconds in order. Seconds of the warm-up are negative."""

    model = ShardSecond
    serializer_class = SecondSerializer
    pagination_class = SecondPages
    paging = (*VisibleViewSet.paging, SecondPages.after_param)
    filterset_class = SecondFilterSet

    def get_queryset(self):
        # Seconds have no permissions of their own: `list` has found their run.
        seconds = ShardSecond.objects.filter(run=self.kwargs.get("pk"))
        return seconds.order_by("second", "step", "shard")

    def list(self, request, pk):
        run = find(Run, request, pk=pk)
        if why := why_no_seconds(run):
            raise Removed(why)
        self._refuse_unknown_filters()  # before a tag, which is of the run and not of the filters
        page = partial(super().list, request)
        return unless_known(request, final_key(run), page)
