"""Targets with their endpoints: read, create, edit, archive."""

from django.db import transaction
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status

from campaigns.api.access import find
from campaigns.api.fields import IdField, StrictSerializer, validated
from campaigns.api.items import ITEM_FIELDS, ItemViewSet, OfProject, Tagged, ordering_of
from campaigns.api.tls_profiles import TlsSerializer
from campaigns.domain.plan.tls_options import TlsOptions
from campaigns.models import Endpoint, Project, Target
from campaigns.permissions import Action, require
from campaigns.queries.targets import with_counts
from campaigns.services.items import archive_items, describe_item
from campaigns.services.targets import create_target, edit_target


class EndpointSerializer(serializers.ModelSerializer):
    tls = serializers.SerializerMethodField()
    has_client_key = serializers.BooleanField()

    class Meta:
        model = Endpoint
        fields = (
            "id",
            "scheme",
            "host",
            "port",
            "verify_tls",
            "tls",
            "has_client_key",
            "origin",
            "archived_at",
        )
        read_only_fields = fields

    @extend_schema_field(TlsSerializer)
    def get_tls(self, endpoint):
        return TlsOptions.of(endpoint.tls).to_json()


class FactField(serializers.ListField):
    """A fact about the machine: ["CPU", "4 × Xeon 2.2 GHz"]."""

    def __init__(self, **options):
        child = serializers.CharField(allow_blank=True, max_length=500)
        super().__init__(child=child, min_length=2, max_length=2, **options)


class TargetSerializer(serializers.ModelSerializer):
    environment = serializers.ListField(child=FactField())
    endpoints = EndpointSerializer(many=True)

    class Meta:
        model = Target
        fields = ("id", "project", "name", "environment", "endpoints", "created_at", *ITEM_FIELDS)
        read_only_fields = fields


class EndpointInput(StrictSerializer):
    scheme = serializers.ChoiceField(choices=Endpoint.SCHEMES)
    host = serializers.CharField(max_length=253)
    port = serializers.IntegerField(min_value=1, max_value=65535)
    verify_tls = serializers.BooleanField(default=True)
    tls = TlsSerializer(required=False)
    client_key_pem = serializers.CharField(
        required=False,
        allow_blank=True,
        write_only=True,
        help_text="The client certificate's key. Write-only; omit it to keep the stored one.",
    )


class TargetInput(StrictSerializer):
    name = serializers.CharField(max_length=100)
    environment = serializers.ListField(child=FactField(), max_length=100, default=list)
    endpoints = EndpointInput(many=True, allow_empty=False, max_length=50)


class NewTarget(TargetInput, Tagged):
    project = IdField()


class TargetFilterSet(OfProject):
    ordering = ordering_of(Target)

    class Meta:
        model = Target
        fields = ()


class TargetViewSet(ItemViewSet):
    model = Target
    serializer_class = TargetSerializer
    filterset_class = TargetFilterSet

    def get_queryset(self):
        found = super().get_queryset()
        if self.action == "list":
            found = found.filter(is_kept=True)
        return with_counts(found).prefetch_related("endpoints")

    @extend_schema(request=NewTarget, responses={201: TargetSerializer})
    @transaction.atomic
    def create(self, request):
        data = validated(NewTarget, request.data)
        project = find(Project, request, pk=data.pop("project"))
        tags = data.pop("tags", None)
        target = create_target(by=self.actor, project=project, **data)
        if tags:
            describe_item(by=self.actor, item=target, tags=tags)
        return self.answer(target.pk, status.HTTP_201_CREATED)

    @extend_schema(request=TargetInput)
    def update(self, request, pk):
        """Replaces all three fields. Omitted endpoints are deleted, those with tests archived."""
        target = self.get_object()
        require(self.actor, Action.EDIT, target.project)
        edit_target(by=self.actor, target=target, **validated(TargetInput, request.data))
        return self.answer(target.pk)

    @extend_schema(request=None, operation_id="targets_archive")
    def archive(self, request, pk):
        """Removes the target from lists and forms. Its results are kept."""
        target = self.get_object()
        archive_items(by=self.actor, items=[target])
        return self.answer(target.pk)
