"""Runs: list with filters, read with the frozen plan, stop; their seconds and reports; and the
metrics that they have. A run's failures by kind, status and step, with examples for those who may
read the plan. What tools printed on the target's machine during a run: add it, read it, delete it.
"""

from functools import partial
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status

from campaigns.campaigns.api.tables import JudgedRunSerializer
from campaigns.campaigns.queries.campaigns import final_key
from campaigns.core.database import without_connection
from campaigns.core.permissions import Action, require
from campaigns.core.tables import text_stream, unless_known
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.errors import InvalidFields, Removed
from campaigns.domain.metrics.kept_requests import KeptRequest
from campaigns.domain.metrics.outcomes import cause_words
from campaigns.domain.other_tools.reports import REPORTS
from campaigns.domain.presentation.metrics import METRICS, Metric
from campaigns.domain.presentation.what_to_do import remedy
from campaigns.engine.services.endings import stop_run
from campaigns.items.queries.filters import ListFilterSet, RunFilterSet, WholeFilter
from campaigns.machines.services import MOST_BYTES, add_output, delete_output
from campaigns.models import FailureExample, Run, ShardSecond, ToolOutput
from campaigns.rest import fields
from campaigns.rest.access import VisibleViewSet, actor_of, answers, describe, find, refuse_unknown
from campaigns.rest.parsers import CSV, AnyAccept, SecondPages
from campaigns.runs.exports import csv_of_runs, requests_file, tool_report_file
from campaigns.runs.queries.measurements import measurement_of, whole_runs
from campaigns.runs.queries.reports import kept_requests
from campaigns.runs.queries.runs import examples_of, why_no_seconds, with_verdicts

_STYLE = OpenApiParameter(
    "style", str, enum=list(REPORTS), description="Default: wsperf for WebSockets, otherwise ab."
)
_TEXT = {(200, "text/plain"): OpenApiResponse(OpenApiTypes.STR, "The report.")}


@answers("runs_report", _TEXT, Run, parameters=[_STYLE])
def run_report_text(request, run: Run):
    """The run's figures as the tool would print them."""
    refuse_unknown(request, "style")
    style = request.query_params.get("style", "")
    if style and style not in REPORTS:
        raise InvalidFields({"style": f"Choose one of {', '.join(REPORTS)}."})
    return tool_report_file(run, style)


@answers("metrics_list", fields.serializer_of(Metric), many=True)
def metric_list(request):
    """All metrics. Tables refer to them by `key`."""
    refuse_unknown(request, "format")
    return METRICS.values()


class RunSerializer(JudgedRunSerializer):
    project = serializers.IntegerField(source="campaign.project_id")
    plan = serializers.IntegerField(source="test.plan_version.plan_id")
    plan_name = serializers.CharField(source="test.plan_version.plan.name")
    plan_number = serializers.IntegerField(source="test.plan_version.number")
    origin = serializers.CharField(source="test.endpoint.origin")
    connection_mode = serializers.CharField(source="test.connection_mode")
    stop_requested = serializers.ChoiceField(
        choices=fields.RUN_STOP_REASONS,
        allow_null=True,
        help_text="What stopped it, or is stopping it.",
    )

    threshold_state = serializers.ChoiceField(
        choices=fields.THRESHOLD_STATES,
        allow_null=True,
        help_text="Whether the target kept the plan's thresholds. null: it has none, the run goes "
        "on, or its measurement has no answer.",
    )

    class Meta:
        model = Run
        fields = (
            *("id", "label", "project", "campaign", "test", "target", "plan", "plan_name"),
            *("plan_number", "origin", "connection_mode", "position", "repeat", "is_alone"),
            *("state", "state_at", "outcome", "judgement", "threshold_state", "n_shards", "t0"),
            *("ended_at", "stop_requested", "reason"),
        )


class VerdictSerializer(fields.serializer_of(Verdict)):
    """Whether the run kept one of the plan's thresholds."""


class RunWithSnapshotSerializer(RunSerializer):
    snapshot = serializers.JSONField(
        source="whole_snapshot", help_text="Plan, endpoint and environment at the start of the run."
    )
    thresholds = VerdictSerializer(
        many=True, source="verdicts", help_text="Empty until the run has ended."
    )

    class Meta(RunSerializer.Meta):
        fields = (*RunSerializer.Meta.fields, "snapshot", "thresholds")


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


class SecondSerializer(fields.ReadSerializer):
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
            *("second", "step", "shard", "counters", "errors", "statuses", "in_flight"),
            *("timings", "vitals"),
        )

    def to_representation(self, row: ShardSecond) -> dict[str, Any]:
        return super().to_representation(row.line | {"shard": row.shard})


def require_seconds(run: Run) -> None:
    """Raises Removed where they are gone by age."""
    if why := why_no_seconds(run):
        raise Removed(why)


class SecondFilterSet(ListFilterSet):
    step = WholeFilter(min_value=0, max_value=1000)
    shard = WholeFilter(min_value=0, max_value=1000)
    after = WholeFilter("second", lookup_expr="gt", min_value=-100_000, max_value=10_000_000)


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
        require_seconds(run)
        self._refuse_unknown_filters()  # before a tag, which is of the run and not of the filters
        page = partial(super().list, request)
        return unless_known(request, final_key(run), page)


class KeptRequestSerializer(
    fields.serializer_of(
        KeptRequest, "number injector step start_us response_us parts_us status kind"
    )
):
    """A single request."""


class KeptRequestsSerializer(serializers.Serializer):
    is_all = serializers.BooleanField(
        help_text="Whether these are all requests of the run, or its slowest alone."
    )
    requests = KeptRequestSerializer(many=True, source="rows")


@answers("runs_requests", KeptRequestsSerializer, Run)
def run_requests(request, run: Run):
    """Every request of a run that has at most 2,000, else the slowest, in the order of their
    starts. None before the run has ended."""
    refuse_unknown(request, "format")
    return kept_requests(run, measurement_of(run))


@answers("runs_requests_csv", CSV, Run)
def run_requests_csv(request, run: Run):
    """The same, a row each, times in µs. Processes and steps count from 1."""
    refuse_unknown(request)
    return requests_file(run)


class FailureExampleSerializer(fields.ReadSerializer):
    """A failed request and its reply. What is secret is hidden before it is stored."""

    class Meta:
        model = FailureExample
        fields = ("shard", "second", "at_us", "request", "reply", "body_bytes", "detail")


class FailureSerializer(serializers.Serializer):
    step = serializers.IntegerField(source="row.step", help_text="From 0.")
    label = serializers.CharField(help_text="The step's name.")
    kind = serializers.CharField(source="row.kind")
    status = serializers.IntegerField(source="row.status", help_text="0 without a whole reply.")
    words = serializers.CharField()
    details = serializers.DictField(
        child=serializers.IntegerField(),
        source="row.details",
        help_text="What failures said beyond their kind, and how many.",
    )
    count = serializers.IntegerField(source="row.count")
    first = serializers.IntegerField(
        source="row.first", allow_null=True, help_text="Second of first sight."
    )
    last = serializers.IntegerField(
        source="row.last", allow_null=True, help_text="Second of last sight."
    )
    remedy = serializers.CharField(help_text="What to do about it.")
    examples = FailureExampleSerializer(many=True, help_text="Up to three.")


_EXAMPLE = OpenApiExample(
    "A path that does not exist",
    value=[
        {
            "step": 0,
            "label": "GET /v2/prices",
            "kind": "status_unexpected",
            "status": 404,
            "words": "404 Not Found",
            "details": {},
            "count": 1200,
            "first": 0,
            "last": 59,
            "remedy": "Nothing was found at this path. Check it, and the host name that the server "
            "expects.",
            "examples": [
                {
                    "shard": 0,
                    "second": 0,
                    "at_us": 1204,
                    "request": "GET /v2/prices HTTP/1.1\nHost: shop.test\nAuthorization: [hidden]",
                    "reply": '404 Not Found\nServer: nginx\n\n{"see": "/v3/"}',
                    "body_bytes": 15,
                    "detail": "",
                }
            ],
        }
    ],
    response_only=True,
)


@answers("runs_failures", FailureSerializer, Run, many=True, examples=[_EXAMPLE])
def run_failures(request, run: Run):
    """What failed, the most frequent first, and up to three examples of each."""
    refuse_unknown(request, "format")
    examples = examples_of(actor_of(request), run=run)
    measurement = measurement_of(run)
    labels = measurement.plan.full_labels
    return [
        {
            "row": row,
            "label": label,
            "words": cause_words(row),
            "remedy": remedy(row.kind, row.status, row.details),
            "examples": examples.get((label, row.kind, row.status), []),
        }
        for row in measurement.failures
        for label in [labels[row.step] if row.step < len(labels) else ""]
    ]


class ToolOutputSerializer(fields.ReadSerializer):
    added_by = fields.user_field("added_by")

    class Meta:
        model = ToolOutput
        fields = ("id", "run", "tool", "added_by", "added_at")


class WholeOutputSerializer(ToolOutputSerializer):
    class Meta(ToolOutputSerializer.Meta):
        fields = (*ToolOutputSerializer.Meta.fields, "text")


class NewToolOutput(fields.StrictSerializer):
    tool = serializers.CharField(max_length=ToolOutput.MOST_TOOL, help_text="Such as vmstat.")
    text = serializers.CharField(
        trim_whitespace=False, help_text=f"All that the tool printed, at most {MOST_BYTES:,} bytes."
    )


@describe(destroy="Deletes it.")
class ToolOutputViewSet(VisibleViewSet):
    model = ToolOutput
    most_body_bytes = 2 * MOST_BYTES + 1000  # its line ends and quotes are escaped

    def get_queryset(self):
        rows = super().get_queryset().select_related("added_by", "run__campaign__project")
        return rows.defer("text") if self.action == "list" else rows

    def get_serializer_class(self):
        return ToolOutputSerializer if self.action == "list" else WholeOutputSerializer

    def filter_queryset(self, queryset):
        outputs = super().filter_queryset(queryset)
        return outputs.filter(run=self.kwargs["pk"]) if self.action == "list" else outputs

    @extend_schema(operation_id="runs_outputs_list")
    def list(self, request, pk):
        """What tools printed on the target's machine during the run, without the texts."""
        find(Run, request, pk=pk)
        return super().list(request)

    @extend_schema(
        request=NewToolOutput,
        responses={201: WholeOutputSerializer},
        operation_id="runs_outputs_create",
    )
    def create(self, request, pk):
        """Adds what a tool printed; the text is kept as it is."""
        run = find(Run.objects.select_related("campaign__project"), request, pk=pk)
        require(self.actor, Action.EDIT, run.campaign.project)
        data = fields.validated(NewToolOutput, request.data)
        output = add_output(by=self.actor, run=run, **data)
        return self.answer(output.pk, status.HTTP_201_CREATED)

    def perform_destroy(self, output):
        delete_output(by=self.actor, output=output)
