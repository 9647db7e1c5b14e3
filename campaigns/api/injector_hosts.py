"""The injector hosts: whether each is online, and how many of its slots are busy."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import refuse_unknown
from campaigns.models import InjectorHost
from campaigns.queries.injector_hosts import hosts


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
