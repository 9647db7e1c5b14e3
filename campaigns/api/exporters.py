"""Prometheus exporters of a target: list, set, change, remove."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response

from campaigns.api.access import VisibleViewSet, find
from campaigns.api.fields import StrictSerializer, validated
from campaigns.domain.plan.exporters import MOST_NAME, MOST_TOKEN, MOST_URL
from campaigns.models import Exporter, Target
from campaigns.permissions import Action, require
from campaigns.services.exporters import add_exporter, change_exporter, remove_exporter


class ExporterSerializer(serializers.ModelSerializer):
    has_token = serializers.BooleanField()
    offers = serializers.ListField(
        child=serializers.CharField(), help_text="What it told last, in words."
    )

    class Meta:
        model = Exporter
        fields = (
            "id", "target", "name", "url", "verify_tls", "is_server", "has_token", "created_at",
            "asked_at", "told_at", "offers", "problem", "problem_at",
        )  # fmt: skip
        read_only_fields = fields
        extra_kwargs = {
            "asked_at": {"help_text": "A worker asks it now; null once it is answered."},
            "told_at": {"help_text": "When it last told something."},
            "problem": {"help_text": "Why it told nothing since, and what to do."},
        }


class ExporterInput(StrictSerializer):
    url = serializers.CharField(
        max_length=MOST_URL, help_text="Without a scheme it is http, without a path /metrics."
    )
    name = serializers.CharField(
        max_length=MOST_NAME,
        default="",
        allow_blank=True,
        help_text="Of the machine, in runs. Default: host and port.",
    )
    verify_tls = serializers.BooleanField(default=True)
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


class ExporterViewSet(VisibleViewSet):
    model = Exporter
    serializer_class = ExporterSerializer

    def get_queryset(self):
        return super().get_queryset().select_related("target__project")

    def filter_queryset(self, queryset):
        found = super().filter_queryset(queryset)
        return found.filter(target=self.kwargs["target"]) if self.action == "list" else found

    @extend_schema(operation_id="targets_exporters_list")
    def list(self, request, target):
        """Those that runs of the target scrape once a second."""
        find(Target, request, pk=target)
        return super().list(request)

    @extend_schema(
        request=ExporterInput,
        responses={201: ExporterSerializer},
        operation_id="targets_exporters_create",
    )
    def create(self, request, target):
        """Sets one more, and has a worker ask it what it offers."""
        found = find(Target.objects.select_related("project"), request, pk=target)
        require(self.actor, Action.EDIT, found.project)
        data = validated(ExporterInput, request.data)
        exporter = add_exporter(by=self.actor, target=found, **data)
        return self.answer(exporter.pk, status.HTTP_201_CREATED)

    @extend_schema(request=ExporterInput)
    def update(self, request, pk):
        """Replaces all fields but the token, and has a worker ask it again."""
        found = self.get_object()
        require(self.actor, Action.EDIT, found.target.project)
        data = validated(ExporterInput, request.data)
        exporter = change_exporter(by=self.actor, exporter=found, **data)
        return self.answer(exporter.pk)

    @extend_schema(responses={204: None})
    def destroy(self, request, pk):
        """Removes it. What it told of runs is kept."""
        remove_exporter(by=self.actor, exporter=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)
