"""Marks on the time axis of histories: send one, list them, delete one."""

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response

from campaigns.api.access import VisibleViewSet, find
from campaigns.api.fields import IdField, IdFilter, InstantFilter, StrictSerializer, validated
from campaigns.models import Project, Target, TimeMark
from campaigns.permissions import Action, require
from campaigns.services.marks import delete_mark, set_mark


class MarkSerializer(serializers.ModelSerializer):
    created_by = serializers.CharField(
        source="created_by.username", allow_null=True, default=None, help_text="Who sent it."
    )

    class Meta:
        model = TimeMark
        fields = ("id", "project", "target", "at", "text", "link", "key", "created_by")
        read_only_fields = fields


class NewMark(StrictSerializer):
    text = serializers.CharField(help_text="Such as version 1.4.2 deployed.")
    at = serializers.DateTimeField(required=False, help_text="Now if it is left out.")
    link = serializers.CharField(required=False, allow_blank=True)
    target = IdField(required=False, help_text="Of all targets if it is left out.")
    key = serializers.CharField(
        required=False,
        help_text="A mark with the same key and target is the same mark; by default the text, with "
        "the time if one is given.",
    )


class MarkFilterSet(django_filters.FilterSet):
    target = IdFilter()
    since = InstantFilter("at", "gte")
    until = InstantFilter("at", "lt")

    class Meta:
        model = TimeMark
        fields = ()


class MarkViewSet(VisibleViewSet):
    model = TimeMark
    serializer_class = MarkSerializer
    filterset_class = MarkFilterSet

    def get_queryset(self):
        marks = super().get_queryset().select_related("created_by")
        project = self.kwargs.get("project")
        return marks if project is None else marks.filter(project=project).order_by("-at", "-pk")

    @extend_schema(operation_id="projects_marks_list")
    def list(self, request, project):
        """The project's marks, newest first."""
        find(Project, request, pk=project)
        return super().list(request)

    @extend_schema(
        request=NewMark,
        responses={200: MarkSerializer, 201: MarkSerializer},
        operation_id="projects_marks_create",
    )
    def create(self, request, project):
        """Marks a deploy or another event. Sent twice, it is one mark: the second answer is 200."""
        found = find(Project, request, pk=project)
        require(self.actor, Action.EDIT, found)
        data = validated(NewMark, request.data)
        if "target" in data:
            data["target"] = find(Target, request, pk=data["target"])
        mark, is_new = set_mark(by=self.actor, project=found, **data)
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return self.answer(mark.pk, code)

    @extend_schema(responses={204: None})
    def destroy(self, request, pk):
        """Takes the mark off the time axis."""
        delete_mark(by=self.actor, mark=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)
