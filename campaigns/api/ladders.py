"""Protocol ladders: started over REST. What they measured is in the campaign's tables."""

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import actor_of, find
from campaigns.api.campaigns import CampaignSerializer
from campaigns.api.cells import cells_of
from campaigns.api.fields import IdField, validated
from campaigns.api.items import Tagged
from campaigns.domain.plan.rungs import RUNGS, USUAL_RUNGS
from campaigns.models import Campaign, Project
from campaigns.queries.campaign_list import with_counts, with_tests
from campaigns.services.blocks import MAX_REPEATS
from campaigns.services.campaigns import MAX_PAUSE_S
from campaigns.services.items import describe_item
from campaigns.services.ladders import start_ladder
from campaigns.services.tls_profiles import MOST_PROFILES


class NewLadder(Tagged):
    project = IdField()
    name = serializers.CharField(max_length=150)
    plan = IdField(help_text="What is sent on every rung: a plan of HTTP/1.1.")
    version = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="Default: the latest version."
    )
    endpoint = IdField(help_text="An HTTPS endpoint; its target's HTTP endpoint is plain HTTP.")
    rungs = serializers.ListField(
        child=serializers.CharField(max_length=60),
        default=list(USUAL_RUNGS),
        min_length=2,
        max_length=len(RUNGS) + MOST_PROFILES,
        help_text=f"Among {', '.join(RUNGS)}, and profile:NAME for a TLS profile of the project. "
        "Default: those of new and kept connections.",
    )
    repeats = serializers.IntegerField(default=5, min_value=1, max_value=MAX_REPEATS)
    pause_s = serializers.FloatField(default=1.0, min_value=0, max_value=MAX_PAUSE_S)


class LadderList(APIView):
    @extend_schema(
        request=NewLadder, responses={201: CampaignSerializer}, operation_id="ladders_create"
    )
    @transaction.atomic
    def post(self, request):
        """Creates a campaign of these rungs and starts it. Plans and endpoints that it needs are
        made once and used again. Its rungs are under `ladder` of `campaigns/{id}/tables/`."""
        data, actor = validated(NewLadder, request.data), actor_of(request)
        project = find(Project, request, pk=data.pop("project"))
        named = {name: data.pop(name) for name in ("plan", "version", "endpoint") if name in data}
        (cell,) = cells_of(actor, project, [named])
        tags = data.pop("tags", None)
        campaign = start_ladder(
            by=actor, project=project, version=cell.plan_version, endpoint=cell.endpoint, **data
        )
        if tags:
            describe_item(by=actor, item=campaign, tags=tags)
        found = with_tests(with_counts(Campaign.objects.filter(pk=campaign.pk))).get()
        return Response(CampaignSerializer(found).data, status.HTTP_201_CREATED)
