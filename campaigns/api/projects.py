"""The actor's projects, and the actor's role in each. What a project uses of its caps and stores,
for its owners; and the injector hosts."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import actor_of, find, refuse_unknown
from campaigns.api.fields import ROLES
from campaigns.api.items import ITEM_FIELDS, ItemFilterSet, ItemViewSet, ordering_of
from campaigns.models import InjectorHost, Project
from campaigns.permissions import Action, require
from campaigns.queries.caps import growth, most_requests_per_s, stored_of, use_of
from campaigns.queries.injector_hosts import hosts
from campaigns.queries.projects import with_counts


class ProjectSerializer(serializers.ModelSerializer):
    role = serializers.ChoiceField(choices=ROLES, help_text="Your role in this project.")

    class Meta:
        model = Project
        fields = ("id", "name", "role", "created_at", *ITEM_FIELDS)
        read_only_fields = fields


class ProjectFilterSet(ItemFilterSet):
    ordering = ordering_of(Project)


class ProjectViewSet(ItemViewSet):
    model = Project
    serializer_class = ProjectSerializer
    filterset_class = ProjectFilterSet

    def get_queryset(self):
        return with_counts(super().get_queryset(), self.actor)


class InjectorHostSerializer(serializers.ModelSerializer):
    online = serializers.BooleanField(source="is_alive", help_text="Heard of lately.")
    busy = serializers.IntegerField(help_text="Slots with an injector process.")

    class Meta:
        model = InjectorHost
        fields = ("name", "online", "slots", "busy", "seen_at", "started_at", "facts")
        read_only_fields = fields


class InjectorHostList(APIView):
    @extend_schema(responses=InjectorHostSerializer(many=True), operation_id="injectors_list")
    def get(self, request):
        """The machines that send the load, by name, shared by all projects."""
        refuse_unknown(request, "format")
        return Response(InjectorHostSerializer(hosts(), many=True).data)


class CapSerializer(serializers.Serializer):
    cap = serializers.CharField(source="cap.name")
    title = serializers.CharField(source="cap.title")
    unit = serializers.CharField(source="cap.unit", help_text="s, bytes, or empty for a number.")
    used = serializers.FloatField()
    planned = serializers.FloatField(help_text="What queued and active runs will add.")
    most = serializers.FloatField(allow_null=True, help_text="Null without a cap.")
    of = serializers.CharField(
        source="ceiling.of", help_text="What a share is of, such as 75 % of 12; else empty."
    )


class StoredSerializer(serializers.Serializer):
    """Bytes of the project's runs, by kind."""

    n_runs = serializers.IntegerField(default=0)
    n_seconds = serializers.IntegerField(default=0)
    seconds_bytes = serializers.IntegerField(source="seconds", default=0)
    summary_bytes = serializers.IntegerField(source="summaries", default=0)
    example_bytes = serializers.IntegerField(source="examples", default=0)
    output_bytes = serializers.IntegerField(source="outputs", default=0)


class DaySerializer(serializers.Serializer):
    day = serializers.DateField()
    n_runs = serializers.IntegerField()
    stored_bytes = serializers.IntegerField()


class UseSerializer(serializers.Serializer):
    caps = CapSerializer(many=True)
    most_requests_per_s = serializers.FloatField(
        allow_null=True, help_text="To one address, of any project. Null without a cap."
    )
    stored = StoredSerializer()
    growth = DaySerializer(many=True, help_text="The last 30 days with runs, newest first.")


class UseOfProject(APIView):
    @extend_schema(responses=UseSerializer, operation_id="projects_use")
    def get(self, request, pk):
        """What the project uses of its caps, and the bytes of its results. For owners."""
        project = find(Project, request, pk=pk)
        require(actor_of(request), Action.ADMINISTER, project)
        use = {
            "caps": use_of(project),
            "most_requests_per_s": most_requests_per_s(),
            "stored": stored_of(project),
            "growth": [
                {"day": day, "n_runs": n_runs, "stored_bytes": n_bytes}
                for day, n_runs, n_bytes in growth(project)
            ],
        }
        return Response(UseSerializer(use).data)
