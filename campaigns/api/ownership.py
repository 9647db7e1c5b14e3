"""Hosts of a target that need a proof or an approval, and the check for a proof."""

from dataclasses import replace

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import actor_of, find
from campaigns.api.fields import StrictSerializer, validated
from campaigns.models import HostPermit, Target
from campaigns.permissions import Action, may, require
from campaigns.queries.ownership import hosts_of
from campaigns.services.ownership import check_host, claim_host


class PermitSerializer(serializers.ModelSerializer):
    class Meta:
        model = HostPermit
        fields = (
            "id",
            "kind",
            "places",
            "given_at",
            "given_by",
            "reason",
            "withdrawn_at",
            "withdrawn_by",
            "withdrawal",
        )
        read_only_fields = fields


class HostSerializer(serializers.Serializer):
    host = serializers.CharField()
    state = serializers.CharField(source="word", help_text="In a word, as on the target's page.")
    is_permitted = serializers.BooleanField(help_text="Whether load may go there now.")
    still_refused = serializers.ListField(child=serializers.CharField())
    proof_ends_at = serializers.DateTimeField(allow_null=True)
    file_urls = serializers.ListField(
        source="urls",
        child=serializers.CharField(),
        help_text="Where the file is looked for. For editors.",
    )
    checked_at = serializers.DateTimeField(source="claim.checked_at", default=None)
    faults = serializers.ListField(
        source="claim.faults", child=serializers.CharField(), default=list
    )
    permits = PermitSerializer(many=True, help_text="Proofs and approvals, newest first.")
    current = serializers.ListField(
        child=serializers.IntegerField(), help_text="The permits that count."
    )


class HostInput(StrictSerializer):
    host = serializers.CharField(max_length=253)


class OwnershipOfTarget(APIView):
    @extend_schema(responses=HostSerializer(many=True), operation_id="targets_ownership")
    def get(self, request, pk):
        """The target's hosts that need a proof or an approval before load goes there; empty where
        only listed networks count."""
        return Response(_told(request, find(Target, request, pk=pk)))

    @extend_schema(
        request=HostInput,
        responses={202: HostSerializer(many=True)},
        operation_id="targets_ownership_check",
    )
    def post(self, request, pk):
        """Have a worker look for the file with the token; the first check makes the token."""
        target = find(Target, request, pk=pk)
        actor = actor_of(request)
        require(actor, Action.EDIT, target.project)
        host = validated(HostInput, request.data)["host"]
        check_host(by=actor, claim=claim_host(by=actor, target=target, host=host))
        return Response(_told(request, target), status=status.HTTP_202_ACCEPTED)


def _told(request, target: Target):
    """Tokens are only for those who may have them checked."""
    hosts = hosts_of(target)
    if not may(actor_of(request), Action.EDIT, target.project):
        hosts = [replace(host, urls=()) for host in hosts]
    return HostSerializer(hosts, many=True).data
