"""The actor's projects, and the actor's role in each."""

from django.db.models import F
from rest_framework import serializers

from campaigns.api.access import VisibleViewSet
from campaigns.api.choices import ROLES
from campaigns.models import Project


class ProjectSerializer(serializers.ModelSerializer):
    role = serializers.ChoiceField(choices=ROLES, help_text="Your role in this project.")

    class Meta:
        model = Project
        fields = ("id", "name", "role", "created_at")
        read_only_fields = fields


class ProjectViewSet(VisibleViewSet):
    model = Project
    serializer_class = ProjectSerializer

    def get_queryset(self):
        # Uses the join of visible_to, so this is the actor's own membership.
        return super().get_queryset().annotate(role=F("memberships__role"))
