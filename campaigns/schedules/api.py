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
from campaigns.rest.access import ResourceViewSet, describe
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


@describe(
    list="The project's schedules, by name.",
    create="Starts copies of a campaign by a timetable, with your rights of that moment.",
    update="Replaces it. From then on it has your rights.",
    destroy="Deletes it. The campaigns that it started stay.",
)
class ScheduleViewSet(ResourceViewSet):
    model = Schedule
    parent = Project
    serializer_class = ScheduleSerializer
    input_class = ScheduleInput

    def get_queryset(self):
        newest = Prefetch("firings", Firing.objects.all()[:MOST_OUTCOMES], to_attr="outcomes")
        rows = super().get_queryset().select_related("project", "owner")
        return rows.prefetch_related(newest)

    def perform_create(self, project, **values):
        values = self._with_template(project, values)
        return services.create_schedule(project=project, **values)

    def perform_update(self, schedule, **values):
        values = self._with_template(schedule.project, values)
        services.edit_schedule(schedule=schedule, **values)

    def _with_template(self, project, values):
        campaigns = Campaign.objects.visible_to(self.actor).filter(project=project)
        template = campaigns.filter(pk=values["template"]).first()
        return values | {"by": self.actor, "now": timezone.now(), "template": template}

    def perform_destroy(self, schedule):
        services.delete_schedule(by=self.actor, schedule=schedule)

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
