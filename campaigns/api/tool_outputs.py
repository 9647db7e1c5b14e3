"""What tools printed on the target's machine during a run: add it, read it, delete it."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response

from campaigns.api.access import VisibleViewSet, find
from campaigns.api.fields import StrictSerializer, validated
from campaigns.models import Run, ToolOutput
from campaigns.permissions import Action, require
from campaigns.services.tool_outputs import MOST_BYTES, add_output, delete_output


class ToolOutputSerializer(serializers.ModelSerializer):
    added_by = serializers.CharField(source="added_by.username", allow_null=True, default=None)

    class Meta:
        model = ToolOutput
        fields = ("id", "run", "tool", "added_by", "added_at")
        read_only_fields = fields


class WholeOutputSerializer(ToolOutputSerializer):
    class Meta(ToolOutputSerializer.Meta):
        fields = (*ToolOutputSerializer.Meta.fields, "text")
        read_only_fields = fields


class NewToolOutput(StrictSerializer):
    tool = serializers.CharField(max_length=ToolOutput.MOST_TOOL, help_text="Such as vmstat.")
    text = serializers.CharField(
        trim_whitespace=False, help_text=f"All that the tool printed, at most {MOST_BYTES:,} bytes."
    )


class ToolOutputViewSet(VisibleViewSet):
    model = ToolOutput
    most_body_bytes = 2 * MOST_BYTES + 1000  # its line ends and quotes are escaped

    def get_queryset(self):
        rows = super().get_queryset().select_related("added_by", "run__campaign__project")
        return rows.defer("text") if self.action == "list" else rows

    def get_serializer_class(self):
        return ToolOutputSerializer if self.action == "list" else WholeOutputSerializer

    def filter_queryset(self, queryset):
        found = super().filter_queryset(queryset)
        return found.filter(run=self.kwargs["pk"]) if self.action == "list" else found

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
        data = validated(NewToolOutput, request.data)
        output = add_output(by=self.actor, run=run, **data)
        return self.answer(output.pk, status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, request, pk):
        """Deletes it."""
        delete_output(by=self.actor, output=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)
