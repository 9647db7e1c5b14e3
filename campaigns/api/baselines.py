"""Baselines: make runs the baseline of their tests, list the current and the replaced ones, stop
comparing with one."""

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response

from campaigns.api.access import VisibleViewSet, find
from campaigns.api.fields import IdField, IdFilter, StrictSerializer, user_field, validated
from campaigns.domain.errors import InvalidFields
from campaigns.models import Baseline, Campaign, Project, Test
from campaigns.permissions import Action, require
from campaigns.services.baselines import make_baseline, release_baseline


class BaselineSerializer(serializers.ModelSerializer):
    created_by = user_field("created_by", "Who made it.")
    replaced_by = user_field("replaced_by", "Who replaced it.")
    runs = serializers.PrimaryKeyRelatedField(many=True, read_only=True)

    class Meta:
        model = Baseline
        fields = (
            *("id", "project", "name", "test", "plan", "endpoint", "connection_mode", "injectors"),
            *("of_search", "runs", "created_by", "created_at", "replaced_by", "replaced_at"),
        )
        read_only_fields = fields


class NewBaseline(StrictSerializer):
    name = serializers.CharField(help_text="Such as release 1.4.")
    campaign = IdField(required=False, help_text="All tests of this campaign.")
    tests = serializers.ListField(
        child=IdField(),
        required=False,
        max_length=200,
        help_text="These tests; the same test of several campaigns becomes one baseline.",
    )
    seen = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="The newest baseline that you know; a newer one is not replaced (409).",
    )


class BaselineFilterSet(django_filters.FilterSet):
    plan = IdFilter()
    endpoint = IdFilter()
    current = django_filters.BooleanFilter("replaced_at", "isnull")


class BaselineViewSet(VisibleViewSet):
    model = Baseline
    serializer_class = BaselineSerializer
    filterset_class = BaselineFilterSet

    def get_queryset(self):
        rows = super().get_queryset().select_related("created_by", "replaced_by")
        project = self.kwargs.get("project")
        rows = rows if project is None else rows.filter(project=project)
        return rows.prefetch_related("runs")

    @extend_schema(operation_id="projects_baselines_list")
    def list(self, request, project):
        """The project's baselines, newest first, with those that were replaced."""
        find(Project, request, pk=project)
        return super().list(request)

    @extend_schema(
        request=NewBaseline,
        responses={201: BaselineSerializer(many=True)},
        operation_id="projects_baselines_create",
    )
    def create(self, request, project):
        """Makes the runs that count the baseline: one for each test."""
        found = find(Project, request, pk=project)
        require(self.actor, Action.EDIT, found)
        data = validated(NewBaseline, request.data)
        made = make_baseline(
            by=self.actor,
            project=found,
            name=data["name"],
            tests=_tests(request, data),
            seen=data.get("seen"),
        )
        rows = self.get_queryset().filter(pk__in=[each.pk for each in made])
        return Response(self.get_serializer(rows, many=True).data, status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, request, pk):
        """Stops comparing with it. It stays in the list, and its runs can be deleted."""
        release_baseline(by=self.actor, baseline=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


def _tests(request, data) -> list[Test]:
    if ("campaign" in data) == ("tests" in data):
        raise InvalidFields({"campaign": "Name either a campaign or tests."})
    if "campaign" in data:
        return list(find(Campaign, request, pk=data["campaign"]).tests.all())
    return [find(Test, request, pk=pk) for pk in data["tests"]]
