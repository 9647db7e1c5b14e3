"""Notes over REST: list, add, change, delete."""

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status

from campaigns.items.queries.filters import IdFilter, ListFilterSet
from campaigns.models import Campaign, Note, Run, Test
from campaigns.notes import services
from campaigns.rest import fields
from campaigns.rest.access import VisibleViewSet, describe, find

_SUBJECTS = {
    "campaign": Campaign.objects.select_related("project"),
    "run": Run.objects.select_related("campaign__project"),
    "test": Test.objects.select_related("campaign__project", "plan_version"),
}


class NoteSerializer(fields.ReadSerializer):
    author = fields.user_field("author", "Who wrote it.")

    class Meta:
        model = Note
        fields = (
            *("id", "project", "campaign", "run", "plan", "endpoint", "connection_mode"),
            *("injectors", "text", "is_shared", "author", "created_at", "edited_at"),
        )
        extra_kwargs = {
            "plan": {"help_text": "Of a note on a test; else null, as is `endpoint`."},
            "text": {"help_text": "Markdown."},
            "is_shared": {"help_text": "Whether share links show it, too."},
        }


class NoteInput(fields.StrictSerializer):
    text = serializers.CharField(
        max_length=services.LONGEST_NOTE, trim_whitespace=False, help_text="Markdown."
    )
    is_shared = serializers.BooleanField(default=False, help_text="Show it by share links, too.")


class NewNote(NoteInput):
    """One of campaign, run and test."""

    campaign = fields.IdField(required=False)
    run = fields.IdField(required=False)
    test = fields.IdField(
        required=False, help_text="Of any campaign: the note is on the test in all of them."
    )

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if len(_SUBJECTS.keys() & data.keys()) != 1:
            raise serializers.ValidationError("Name one of campaign, run and test.")
        return data


class NoteFilterSet(ListFilterSet):
    project = IdFilter()
    campaign = IdFilter()
    run = IdFilter()
    test = IdFilter(method="of_test")

    def of_test(self, rows: QuerySet, name: str, value: int) -> QuerySet:
        test = _SUBJECTS["test"].filter(pk=value).first()
        return rows.filter(**services.subject_of(test)) if test else rows.none()


@describe(destroy="Deletes it, by its author or an owner.")
class NoteViewSet(VisibleViewSet):
    model = Note
    serializer_class = NoteSerializer
    filterset_class = NoteFilterSet

    def get_queryset(self):
        return super().get_queryset().select_related("author", "project")

    @extend_schema(request=NewNote, responses={201: NoteSerializer})
    def create(self, request):
        """Adds one to a campaign, a run or a test."""
        data = fields.validated(NewNote, request.data)
        (subject,) = _SUBJECTS.keys() & data.keys()
        of = find(_SUBJECTS[subject], request, pk=data.pop(subject))
        note = services.add_note(by=self.actor, of=of, **data)
        return self.answer(note.pk, status.HTTP_201_CREATED)

    @extend_schema(request=NoteInput)
    def update(self, request, pk):
        """Replaces its text, by its author or an owner."""
        data = fields.validated(NoteInput, request.data)
        services.edit_note(by=self.actor, note=self.get_object(), **data)
        return self.answer(pk)

    def perform_destroy(self, note):
        services.delete_note(by=self.actor, note=note)


_LIST = NoteViewSet.as_view({"get": "list", "post": "create"})
_ONE = NoteViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"})

urlpatterns = [
    path("notes/", _LIST, name="api-note-list"),
    path("notes/<int:pk>/", _ONE, name="api-note"),
]
