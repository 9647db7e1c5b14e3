"""The actor's projects, and the actor's role in each."""

from rest_framework import serializers

from campaigns.api.fields import ROLES
from campaigns.api.items import ITEM_FIELDS, ItemFilterSet, ItemViewSet, ordering_of
from campaigns.models import Project
from campaigns.queries.projects import with_counts


class ProjectSerializer(serializers.ModelSerializer):
    role = serializers.ChoiceField(choices=ROLES, help_text="Your role in this project.")

    class Meta:
        model = Project
        fields = ("id", "name", "role", "created_at", *ITEM_FIELDS)
        read_only_fields = fields


class ProjectFilterSet(ItemFilterSet):
    ordering = ordering_of(Project)

    class Meta:
        model = Project
        fields = ()


class ProjectViewSet(ItemViewSet):
    model = Project
    serializer_class = ProjectSerializer
    filterset_class = ProjectFilterSet

    def get_queryset(self):
        return with_counts(super().get_queryset(), self.actor)
