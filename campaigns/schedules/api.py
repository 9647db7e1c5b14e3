"""Schedules over REST: list, create, replace, delete; pause, resume, run now."""

from django.db.models import Prefetch
from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response

from campaigns.domain.timetable import LONGEST_CRON
from campaigns.models import Campaign, Firing, Project, Schedule
from campaigns.rest import fields
from campaigns.rest.access import VisibleViewSet, find
from campaigns.schedules import services
from campaigns.schedules.models import LONGEST_RESULT_H

MOST_OUTCOMES = 20


class FiringSerializer(fields.ReadSerializer):
    class Meta:
        model = Firing
        fields = ("due_at", "fired_at", "n_missed", "campaign", "why_skipped")


class ScheduleSerializer(fields.ReadSerializer):
    words = serializers.CharField(source="timetable.words", help_text="When, as a sentence.")
    owner = fields.user_field("owner", "Whose rights it has.")
    outcomes = FiringSerializer(many=True, help_text="Of its last 20 times, newest first.")

    class Meta:
        model = Schedule
        fields = (
            *("id", "project", "name", "template", "cron", "zone", "words", "when_quiet"),
            *("result_within_h", "owner", "next_at", "silent_since", "outcomes"),
        )
        extra_kwargs = {
            "template": {"help_text": "The campaign that it copies."},
            "next_at": {"help_text": "Null while it is paused."},
            "silent_since": {"help_text": "Since when no usable result has come; else null."},
        }


class ScheduleInput(fields.StrictSerializer):
    name = serializers.CharField(max_length=150)
    template = fields.IdField(help_text="The campaign that it copies: a draft, or one that ran.")
    cron = serializers.CharField(max_length=LONGEST_CRON, help_text="Such as 0 2 * * 1-5.")
    zone = serializers.CharField(default="UTC", help_text="Such as Europe/Paris.")
    when_quiet = serializers.BooleanField(
        default=True, help_text="Wait up to 30 min for quiet injector hosts."
    )
    result_within_h = serializers.IntegerField(
        default=6,
        min_value=1,
        max_value=LONGEST_RESULT_H,
        help_text="It is silent if no usable result arrives by then.",
    )


class ScheduleViewSet(VisibleViewSet):
    model = Schedule
    serializer_class = ScheduleSerializer

    def get_queryset(self):
        newest = Prefetch("firings", Firing.objects.all()[:MOST_OUTCOMES], to_attr="outcomes")
        rows = super().get_queryset().select_related("project", "owner").prefetch_related(newest)
        project = self.kwargs.get("project")
        return rows if project is None else rows.filter(project=project)

    @extend_schema(operation_id="projects_schedules_list")
    def list(self, request, project):
        """The project's schedules, by name."""
        find(Project, request, pk=project)
        return super().list(request)

    @extend_schema(
        request=ScheduleInput,
        responses={201: ScheduleSerializer},
        operation_id="projects_schedules_create",
    )
    def create(self, request, project):
        """Starts copies of a campaign by a timetable, with your rights of that moment."""
        project_row = find(Project, request, pk=project)
        values = self._values(project_row)
        schedule = services.create_schedule(
            by=self.actor, project=project_row, now=timezone.now(), **values
        )
        return self.answer(schedule.pk, status.HTTP_201_CREATED)

    @extend_schema(request=ScheduleInput)
    def update(self, request, pk):
        """Replaces it. From then on it has your rights."""
        schedule = self.get_object()
        values = self._values(schedule.project)
        services.edit_schedule(by=self.actor, schedule=schedule, now=timezone.now(), **values)
        return self.answer(pk)

    def _values(self, project):
        values = fields.validated(ScheduleInput, self.request.data)
        campaigns = Campaign.objects.visible_to(self.actor).filter(project=project)
        return values | {"template": campaigns.filter(pk=values["template"]).first()}

    @extend_schema(responses={204: None})
    def destroy(self, request, pk):
        """Deletes it. The campaigns that it started stay."""
        services.delete_schedule(by=self.actor, schedule=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={201: FiringSerializer})
    def run(self, request, pk):
        """Starts its campaign now. Refused (409) while the one before is running."""
        schedule = self.get_object()
        firing = services.run_now(by=self.actor, schedule=schedule, now=timezone.now())
        return Response(FiringSerializer(firing).data, status.HTTP_201_CREATED)

    @extend_schema(request=None)
    def pause(self, request, pk):
        """Starts nothing until it is resumed."""
        return self._switch(pk, is_on=False)

    @extend_schema(request=None)
    def resume(self, request, pk):
        """Goes on from its next time. What was due meanwhile is not made up for."""
        return self._switch(pk, is_on=True)

    def _switch(self, pk: int, *, is_on: bool) -> Response:
        schedule = self.get_object()
        services.switch_schedule(by=self.actor, schedule=schedule, is_on=is_on, now=timezone.now())
        return self.answer(pk)


_OF_PROJECT = ScheduleViewSet.as_view({"get": "list", "post": "create"})
_ONE = ScheduleViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"})

urlpatterns = [
    path("projects/<int:project>/schedules/", _OF_PROJECT, name="api-project-schedules"),
    path("schedules/<int:pk>/", _ONE, name="api-schedule"),
    *(
        path(
            f"schedules/<int:pk>/{action}/",
            ScheduleViewSet.as_view({"post": action}),
            name=f"api-schedule-{action}",
        )
        for action in ("run", "pause", "resume")
    ),
]
