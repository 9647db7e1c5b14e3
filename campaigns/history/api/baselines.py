"""Baselines: make runs the baseline of their tests, list the current and the replaced ones, stop
comparing with one. Triage of changes: entries of a project, and what people say of one."""

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response

from campaigns.core.tables import text_file
from campaigns.domain.errors import InvalidFields
from campaigns.domain.presentation.history_words import entry_sentence
from campaigns.domain.presentation.sentences import plain_text
from campaigns.history.exports import csv_of_triage
from campaigns.history.queries.baselines import entries_of
from campaigns.history.services import edit_entry, make_baseline, release_baseline
from campaigns.items.queries.filters import IdFilter, ListFilterSet
from campaigns.models import Baseline, Campaign, Project, Test, TriageChange, TriageEntry
from campaigns.rest import fields
from campaigns.rest.access import ResourceViewSet, VisibleViewSet, actor_of, answers, describe, find
from campaigns.rest.parsers import CSV


class BaselineSerializer(fields.ReadSerializer):
    created_by = fields.user_field("created_by", "Who made it.")
    replaced_by = fields.user_field("replaced_by", "Who replaced it.")
    runs = serializers.PrimaryKeyRelatedField(many=True, read_only=True)

    class Meta:
        model = Baseline
        fields = (
            *("id", "project", "name", "test", "plan", "endpoint", "connection_mode", "injectors"),
            *("of_search", "runs", "created_by", "created_at", "replaced_by", "replaced_at"),
        )


class NewBaseline(fields.StrictSerializer):
    name = serializers.CharField(help_text="Such as release 1.4.")
    campaign = fields.IdField(required=False, help_text="All tests of this campaign.")
    tests = serializers.ListField(
        child=fields.IdField(),
        required=False,
        max_length=200,
        help_text="These tests; the same test of several campaigns becomes one baseline.",
    )
    seen = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="The newest baseline that you know; a newer one is not replaced (409).",
    )


class BaselineFilterSet(ListFilterSet):
    plan = IdFilter()
    endpoint = IdFilter()
    current = django_filters.BooleanFilter("replaced_at", "isnull")


@describe(
    list="The project's baselines, newest first, with those that were replaced.",
    destroy="Stops comparing with it. It stays in the list, and its runs can be deleted.",
)
class BaselineViewSet(ResourceViewSet):
    model = Baseline
    parent = Project
    serializer_class = BaselineSerializer
    input_class = NewBaseline
    filterset_class = BaselineFilterSet

    def get_queryset(self):
        rows = super().get_queryset().select_related("created_by", "replaced_by")
        return rows.prefetch_related("runs")

    @extend_schema(responses={201: BaselineSerializer(many=True)})
    def create(self, request, project):
        """Makes the runs that count the baseline: one for each test."""
        row = self.parent_row()
        values = self.input(row)
        campaign, pks = values.pop("campaign", None), values.pop("tests", None)
        if (campaign is None) == (pks is None):
            raise InvalidFields({"campaign": "Name either a campaign or tests."})
        if pks is None:
            tests = list(find(Campaign, request, pk=campaign).tests.all())
        else:
            tests = [find(Test, request, pk=pk) for pk in pks]
        baselines = make_baseline(by=self.actor, project=row, tests=tests, **values)
        rows = self.get_queryset().filter(pk__in=[each.pk for each in baselines])
        return Response(self.get_serializer(rows, many=True).data, status.HTTP_201_CREATED)

    def perform_destroy(self, baseline):
        release_baseline(by=self.actor, baseline=baseline)


class TriageQuery(fields.QuerySerializer):
    acknowledged = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="Only those that are, or are not."
    )


class TriageChangeSerializer(fields.ReadSerializer):
    """A change of one test's p95."""

    plan_name = serializers.CharField(source="plan.name")
    origin = serializers.CharField(source="endpoint.origin")
    test = serializers.IntegerField(
        source="newest_test", allow_null=True, help_text="The newest one, for its history."
    )
    since = serializers.IntegerField(
        source="since_id", allow_null=True, help_text="The first campaign of the new level."
    )

    reference_ratio = serializers.FloatField(
        allow_null=True, help_text="Of the reference's change in the same range, if it has one."
    )

    class Meta:
        model = TriageChange
        fields = (
            *("plan", "plan_name", "endpoint", "origin", "connection_mode", "injectors", "test"),
            *("since", "since_at", "after_at", "until_at", "before_us", "after_us", "ratio"),
            *("low", "high", "p_value", "causes", "reference_ratio"),
        )


class TriageEntrySerializer(fields.ReadSerializer):
    target_name = serializers.CharField(source="target.name")
    acknowledged_by = fields.user_field("acknowledged_by", "Who acknowledged it.")
    sentence = serializers.SerializerMethodField()
    changes = TriageChangeSerializer(many=True, help_text="The largest first.")

    class Meta:
        model = TriageEntry
        fields = (
            *("id", "project", "target", "target_name", "found_at", "acknowledged_by"),
            *("acknowledged_at", "note", "link", "sentence", "changes"),
        )

    def get_sentence(self, entry: TriageEntry) -> str:
        return plain_text(entry_sentence(entry.changes.all(), entry.target.name))


class TriageEdit(fields.StrictSerializer):
    """A field left out stays as it is."""

    acknowledged = serializers.BooleanField(
        required=False, help_text="Acknowledged changes are quiet until the test moves again."
    )
    note = serializers.CharField(required=False, allow_blank=True)
    link = serializers.CharField(
        required=False, allow_blank=True, help_text="Such as an issue's address."
    )


def _entries(request, project: Project):
    query = fields.validated(TriageQuery, request.query_params.dict())
    return entries_of(actor_of(request), project=project, **query)


@answers("projects_triage", TriageEntrySerializer, Project, many=True, parameters=[TriageQuery])
def triage_of_project(request, project: Project):
    """Changes of level that belong together, the newest first."""
    return _entries(request, project)


@answers("projects_triage_csv", CSV, Project, parameters=[TriageQuery])
def triage_of_project_csv(request, project: Project):
    """The same, a row per change, times in µs."""
    text = csv_of_triage(_entries(request, project))
    return text_file(f"changes-of-project-{project.pk}.csv", text)


class TriageViewSet(VisibleViewSet):
    model = TriageEntry
    serializer_class = TriageEntrySerializer

    def get_queryset(self):
        return entries_of(self.actor)

    @extend_schema(request=TriageEdit, operation_id="triage_edit")
    def partial_update(self, request, pk):
        """Acknowledges it, and keeps a note and a link with it."""
        values = fields.validated(TriageEdit, request.data)
        edit_entry(by=self.actor, entry=self.get_object(), **values)
        return self.answer(pk)
