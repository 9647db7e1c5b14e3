"""The seconds of a run's target machines, and the minutes that are left of an old run. Exporters of
a target: list, set, change, remove."""

from typing import Any

import django_filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers

from campaigns.core.tables import text_stream
from campaigns.domain.plan.target import MOST_NAME, MOST_TOKEN, MOST_URL
from campaigns.domain.plan.tls_options import MAX_PEM_BYTES
from campaigns.items.queries.filters import ListFilterSet, WholeFilter
from campaigns.machines.services import add_exporter, change_exporter, remove_exporter
from campaigns.models import Exporter, KeptMinute, MachineSecond, Run, Target
from campaigns.rest import fields
from campaigns.rest.access import (
    ResourceViewSet,
    VisibleViewSet,
    answers,
    describe,
    find,
    refuse_unknown,
)
from campaigns.rest.parsers import CSV
from campaigns.runs.api import TimingSerializer, require_seconds
from campaigns.runs.exports import csv_of_machine_seconds, ndjson_of_machine_seconds
from campaigns.runs.queries.measurements import machines_of_run


class MinuteSerializer(fields.ReadSerializer):
    """A minute of a run at one step: its seconds and injector processes added up. `minute` 0 has
    the seconds 0 to 59; the warm-up is negative. Absent counters are 0."""

    counters = serializers.DictField(child=serializers.IntegerField())
    errors = serializers.DictField(child=serializers.IntegerField())
    statuses = serializers.DictField(child=serializers.IntegerField())
    timings = serializers.DictField(child=TimingSerializer())

    class Meta:
        model = KeptMinute
        fields = ("minute", "step", "counters", "errors", "statuses", "timings")

    def to_representation(self, row: KeptMinute) -> dict[str, Any]:
        return super().to_representation(row.line | {"minute": row.minute, "step": row.step})


class MinuteFilterSet(ListFilterSet):
    step = WholeFilter(min_value=0, max_value=1000)
    after = WholeFilter("minute", lookup_expr="gt", min_value=-100_000, max_value=10_000_000)


class MinuteViewSet(VisibleViewSet):
    """The kept minutes in order; none while the run still has its seconds."""

    model = KeptMinute
    serializer_class = MinuteSerializer
    filterset_class = MinuteFilterSet

    def get_queryset(self):
        # Minutes have no permissions of their own: `list` has found their run.
        minutes = KeptMinute.objects.filter(run=self.kwargs.get("pk"))
        return minutes.order_by("minute", "step")

    def list(self, request, pk):
        find(Run, request, pk=pk)
        return super().list(request)


_NDJSON = {
    (200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.STR, "A JSON object a line.")
}


class MachineSecondSerializer(fields.ReadSerializer):
    """What a machine did in one second, as its exporter told it."""

    did = serializers.DictField(help_text="Figures by name. What was not told is absent.")

    class Meta:
        model = MachineSecond
        fields = ("source", "second", "lasted_s", "did")


class MachineSecondFilterSet(ListFilterSet):
    source = django_filters.CharFilter(help_text="The name of a machine.")
    after = WholeFilter("second", lookup_expr="gt", min_value=-100_000, max_value=10_000_000)


class MachineSecondViewSet(VisibleViewSet):
    """By machine, in order. Seconds of the warm-up are negative."""

    model = MachineSecond
    serializer_class = MachineSecondSerializer
    filterset_class = MachineSecondFilterSet

    def get_queryset(self):
        # Seconds have no permissions of their own: `list` has found their run.
        seconds = MachineSecond.objects.filter(run=self.kwargs.get("pk"))
        return seconds.order_by("source", "second")

    def list(self, request, pk):
        require_seconds(find(Run, request, pk=pk))
        return super().list(request)


@answers("runs_machine_seconds_csv", CSV, Run)
def machine_seconds_csv(request, run: Run):
    """A row per machine and second, and a column for each figure that was told."""
    require_seconds(run)
    refuse_unknown(request)
    text = csv_of_machine_seconds(machines_of_run(run))
    return text_stream(f"run-{run.label}-machines.csv", text)


@answers("runs_machine_seconds_ndjson", _NDJSON, Run)
def machine_seconds_ndjson(request, run: Run):
    """A JSON object a line for each machine and second."""
    require_seconds(run)
    refuse_unknown(request)
    text = ndjson_of_machine_seconds(machines_of_run(run))
    return text_stream(f"run-{run.label}-machines.ndjson", text)


class ExporterSerializer(fields.ReadSerializer):
    has_token = serializers.BooleanField()
    offers = serializers.ListField(
        child=serializers.CharField(), help_text="What it told last, in words."
    )

    class Meta:
        model = Exporter
        fields = (
            "id", "target", "name", "url", "verify_tls", "ca_pem", "is_server", "has_token",
            "created_at", "asked_at", "told_at", "offers", "problem", "problem_at",
        )  # fmt: skip
        extra_kwargs = {
            "asked_at": {"help_text": "A worker asks it now; null once it is answered."},
            "told_at": {"help_text": "When it last told something."},
            "problem": {"help_text": "Why it told nothing since, and what to do."},
            "problem_at": {"help_text": "The first time."},
        }


class ExporterInput(fields.StrictSerializer):
    url = serializers.CharField(
        max_length=MOST_URL,
        help_text="Of the agent or exporter. Without a scheme it is http, without a path /metrics.",
    )
    name = fields.text("Of the machine, in runs. Default: host and port.", MOST_NAME, default="")
    verify_tls = serializers.BooleanField(default=True)
    ca_pem = fields.text(
        "A certificate or its authority (PEM), trusted instead of the system's.",
        MAX_PEM_BYTES,
        default="",
    )
    is_server = serializers.BooleanField(
        default=False,
        help_text="The process that answers is the server that is measured: its own CPU and "
        "memory count.",
    )
    token = serializers.CharField(
        max_length=MOST_TOKEN,
        required=False,
        allow_blank=True,
        write_only=True,
        help_text="Sent as a bearer token. Write-only; omit it to keep the stored one.",
    )


@describe(
    list="Agents and exporters that runs of the target ask once a second.",
    create="Sets one more, and has a worker ask it what it offers.",
    update="Replaces all fields but the token, and has a worker ask it again.",
    destroy="Removes it. What it told of runs is kept.",
)
class ExporterViewSet(ResourceViewSet):
    model = Exporter
    parent = Target.objects.select_related("project")
    serializer_class = ExporterSerializer
    input_class = ExporterInput

    def get_queryset(self):
        return super().get_queryset().select_related("target__project")

    def perform_create(self, target, **values):
        return add_exporter(by=self.actor, target=target, **values)

    def perform_update(self, exporter, **values):
        change_exporter(by=self.actor, exporter=exporter, **values)

    def perform_destroy(self, exporter):
        remove_exporter(by=self.actor, exporter=exporter)
