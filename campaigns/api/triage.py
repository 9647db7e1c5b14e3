"""Triage of changes: entries of a project, and what people say about one."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import actor_of, find
from campaigns.api.fields import (
    TRIAGE_STATES,
    QuerySerializer,
    StrictSerializer,
    user_field,
    validated,
)
from campaigns.api.parsers import CSV, AnyAccept
from campaigns.domain.shown.sentences import plain_text
from campaigns.domain.shown.triage_words import entry_sentence
from campaigns.exports.files import text_file
from campaigns.exports.history import csv_of_triage
from campaigns.models import Project, TriageChange, TriageEntry, TriageNote
from campaigns.permissions import Action, require
from campaigns.queries.triage import entries_of, triaged
from campaigns.services.triage import judge_changes

_STATE = OpenApiParameter(
    "state", str, many=True, enum=[state for state, _ in TRIAGE_STATES], description="Only these."
)


class TriageStatesQuery(QuerySerializer):
    state = serializers.MultipleChoiceField(required=False, choices=TRIAGE_STATES)


class TriageChangeSerializer(serializers.ModelSerializer):
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
        read_only_fields = fields


class TriageNoteSerializer(serializers.ModelSerializer):
    by = user_field("by")

    class Meta:
        model = TriageNote
        fields = ("state", "by", "at", "why", "link")
        read_only_fields = fields


class TriageEntrySerializer(serializers.ModelSerializer):
    target_name = serializers.CharField(source="target.name")
    sentence = serializers.SerializerMethodField()
    changes = TriageChangeSerializer(many=True, help_text="The largest first.")
    notes = TriageNoteSerializer(many=True, help_text="Who said what, the newest first.")

    class Meta:
        model = TriageEntry
        fields = (
            *("id", "project", "target", "target_name", "state", "found_at", "sentence"),
            *("changes", "notes"),
        )
        read_only_fields = fields

    def get_sentence(self, entry: TriageEntry) -> str:
        return plain_text(entry_sentence(entry.changes.all(), entry.target.name))


class TriageJudgement(StrictSerializer):
    state = serializers.ChoiceField(choices=TRIAGE_STATES)
    seen = serializers.ChoiceField(
        choices=TRIAGE_STATES, help_text="The state on which you decide; 409 if it is another."
    )
    why = serializers.CharField(required=False, default="", allow_blank=True)
    link = serializers.CharField(required=False, default="", allow_blank=True)


def _entries(request, pk: int):
    project = find(Project, request, pk=pk)
    asked = validated(TriageStatesQuery, dict(request.query_params.lists()))
    return project, entries_of(actor_of(request), project, sorted(asked.get("state", ())))


class TriageOfProject(APIView):
    @extend_schema(
        parameters=[_STATE],
        responses=TriageEntrySerializer(many=True),
        operation_id="projects_triage",
    )
    def get(self, request, pk):
        """Changes of level that belong together, the newest first."""
        _, entries = _entries(request, pk)
        return Response(TriageEntrySerializer(entries, many=True).data)


class TriageOfProjectCsv(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(parameters=[_STATE], responses=CSV, operation_id="projects_triage_csv")
    def get(self, request, pk):
        """The same, a row per change, times in µs."""
        project, entries = _entries(request, pk)
        return text_file(f"changes-of-project-{project.pk}.csv", csv_of_triage(entries))


class TriageOne(APIView):
    @extend_schema(responses=TriageEntrySerializer, operation_id="triage_retrieve")
    def get(self, request, pk):
        """One entry with its changes and what people said."""
        return self._answer(request, find(triaged(), request, pk=pk))

    @extend_schema(
        request=TriageJudgement, responses=TriageEntrySerializer, operation_id="triage_judge"
    )
    def post(self, request, pk):
        """Give it a state, or say more about the one that it has."""
        entry = find(triaged(), request, pk=pk)
        require(actor_of(request), Action.EDIT, entry.project)
        judge_changes(by=actor_of(request), entry=entry, **validated(TriageJudgement, request.data))
        return self._answer(request, entry)

    def _answer(self, request, entry: TriageEntry) -> Response:
        shown = entries_of(actor_of(request), entry.project).get(pk=entry.pk)
        return Response(TriageEntrySerializer(shown).data)
