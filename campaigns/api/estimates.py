"""What a campaign would cost, before it exists: the figures beside the form of a new campaign."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import actor_of, find
from campaigns.api.campaigns import NewCampaign
from campaigns.api.cells import cells_of
from campaigns.api.fields import validated
from campaigns.domain.errors import Refused
from campaigns.domain.plan.estimates import estimate_campaign
from campaigns.domain.shown.cost_words import cost_notes
from campaigns.models import Project
from campaigns.permissions import Action, require
from campaigns.queries.checks import (
    checks_before_start,
    first_requests_check,
    machine_rule_checks,
    room_checks,
    room_of,
)
from campaigns.queries.injector_hosts import hosts
from campaigns.queries.references import why_no_reference
from campaigns.queries.target_costs import perf_checks
from campaigns.services.blocks import cells_of_sweep


class AskedCampaign(NewCampaign):
    """A campaign as it would be created; a name may be missing."""

    name = serializers.CharField(max_length=150, required=False)


class CheckSerializer(serializers.Serializer):
    shape = serializers.CharField(help_text="good, info, warn or bad: a start would fail.")
    text = serializers.CharField()


class HighestPercentileSerializer(serializers.Serializer):
    label = serializers.CharField(allow_blank=True, help_text="Such as p99; empty: too few.")
    n = serializers.IntegerField()
    beyond = serializers.IntegerField()


class CostSerializer(serializers.Serializer):
    """Sums leave out what only the target decides."""

    n_tests = serializers.IntegerField()
    n_runs = serializers.IntegerField(help_text="With those of the reference.")
    duration_s = serializers.FloatField()
    runs_of_unknown_duration = serializers.IntegerField()
    requests = serializers.IntegerField()
    nouns = serializers.CharField(help_text="What `requests` counts: requests or connections.")
    runs_of_unknown_requests = serializers.IntegerField()
    fewest_in_a_run = serializers.IntegerField(allow_null=True)
    most_in_a_run = serializers.IntegerField(allow_null=True)
    highest_of_a_run = HighestPercentileSerializer(allow_null=True)
    highest_pooled = HighestPercentileSerializer(allow_null=True)
    ports = serializers.IntegerField(allow_null=True, help_text="Most per injector process.")
    descriptors = serializers.IntegerField(allow_null=True)
    rows = serializers.IntegerField(help_text="Seconds that will be stored.")


class EstimateSerializer(CostSerializer):
    """The cost; `notes` say what its sums leave out, `checks` whether it can start."""

    notes = serializers.ListField(child=serializers.CharField())
    checks = CheckSerializer(many=True)


class CampaignEstimate(APIView):
    @extend_schema(
        request=AskedCampaign, responses=EstimateSerializer, operation_id="campaigns_estimate"
    )
    def post(self, request):
        """Time, requests, ports and checks before the start. Creates nothing."""
        asked = validated(AskedCampaign, request.data)
        actor, project = actor_of(request), find(Project, request, pk=asked["project"])
        require(actor, Action.EDIT, project)
        if asked["reference"] and (why := why_no_reference()):
            raise Refused(why)
        cells = cells_of(actor, project, asked["cells"])
        points = cells_of_sweep(cells, asked["injectors"], asked.get("sweep"))
        estimate = estimate_campaign(
            [(each.plan(), each.connection_mode, each.injectors) for each in points],
            repeats=asked["repeats"],
            pause_s=asked["pause_s"],
            has_reference=asked["reference"],
        )
        checks = [
            first_requests_check((each.plan_version.value(), each.endpoint) for each in cells),
            *checks_before_start(
                project, [each.endpoint for each in cells], max(each.injectors for each in points)
            ),
            *machine_rule_checks((each.plan_version.value(), each.endpoint) for each in cells),
            *perf_checks([each.endpoint for each in cells], asked["perf"]),
            *room_checks(estimate, room_of(hosts())),
        ]
        found = {"notes": cost_notes(estimate), "checks": CheckSerializer(checks, many=True).data}
        return Response({**CostSerializer(estimate).data, **found})
