"""Channels of projects and people, events, and an event's delivery to a channel."""

from typing import Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from campaigns.core.permissions import Action, Actor, roles_with
from campaigns.models import Campaign, Membership, Project, TriageChange
from campaigns.notifications.domain import CHOICES, EventKind, EventMessage


class ChannelKind(models.TextChoices):
    SLACK = "slack", "Slack"
    TEAMS = "teams", "Microsoft Teams"
    DISCORD = "discord", "Discord"
    MATRIX = "matrix", "Matrix"
    EMAIL = "email", "E-mail"
    WEBHOOK = "webhook", "Webhook"
    OTHER = "other", "Another service"


class ChannelQuerySet(models.QuerySet):
    def visible_to(self, actor: Actor):
        """Their own, and those of projects that they may edit: an address says where a team talks,
        and often lets everybody who has it write there."""
        if not actor.is_member or actor.token is not None:
            return self.none()
        projects = Membership.objects.filter(user=actor.user, role__in=roles_with(Action.EDIT))
        return self.filter(
            models.Q(user=actor.user) | models.Q(project__in=projects.values("project"))
        )


class NotificationChannel(models.Model):
    """Of a project, or of a person."""

    encrypted = ("address", "secrets")

    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="channels")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="channels"
    )
    kind = models.CharField(max_length=10, choices=ChannelKind)
    label = models.CharField(max_length=100)
    address = models.TextField(editable=False)  # encrypted by projects.services, as are the secrets
    secrets = models.TextField(default="", editable=False)  # of a webhook, the newest first
    kinds = ArrayField(models.CharField(max_length=30), default=list)  # domain.Kind
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    paused_at = models.DateTimeField(null=True)
    why_paused = models.CharField(max_length=400, default="")  # a sentence, if no person did it

    objects = ChannelQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(project=None, user__isnull=False)
                | models.Q(project__isnull=False, user=None),
                name="channel_is_of_a_project_or_a_person",
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.label}"

    @property
    def choices(self) -> list[tuple[EventKind, bool]]:
        return [(kind, kind in self.kinds) for kind in CHOICES]


class Event(models.Model):
    """Written in the transaction of what has happened, by triggers for campaigns and for changes of
    level. Events of a project with the same `at` are of one transaction, and get one message."""

    key = models.CharField(max_length=200, unique=True)
    kind = models.CharField(max_length=30)  # domain.Kind
    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="+")
    campaign = models.ForeignKey(Campaign, models.CASCADE, null=True, related_name="+")
    change = models.ForeignKey(TriageChange, models.CASCADE, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())
    # domain.Message: of campaigns when it is announced, then the same at each attempt.
    message = models.JSONField(null=True)
    announced_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["at"], condition=models.Q(announced_at=None), name="event_not_announced"
            )
        ]

    def __str__(self) -> str:
        return self.key

    @classmethod
    def of(cls, kind: EventKind, key: str, project: Project | None, message: EventMessage) -> Self:
        """Not stored yet."""
        return cls(kind=kind, key=key, project=project, message=message.to_json())

    @property
    def title(self) -> str:
        return EventKind(self.kind).title


class NotificationDelivery(models.Model):
    class State(models.TextChoices):
        WAITING = "waiting"
        SENT = "sent"
        FAILED = "failed"

    event = models.ForeignKey(Event, models.CASCADE, related_name="deliveries")
    channel = models.ForeignKey(NotificationChannel, models.CASCADE, related_name="deliveries")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    # When the next attempt may begin; during an attempt, when it counts as lost.
    due_at = models.DateTimeField(db_default=Now())
    n_attempts = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=400, default="")  # of the last attempt, a sentence
    tried_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["event", "channel"], name="one_delivery_per_channel")
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=models.Q(state="waiting"), name="delivery_due"
            )
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.channel}: {self.state}"
