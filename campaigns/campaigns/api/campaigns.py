"""Campaigns: read, create as draft, start, stop, repeat. Protocol ladders: started over REST. What
they measured is in the campaign's tables. What a campaign would cost, before it exists: the figures
beside the form of a new campaign."""

from contextlib import suppress
from dataclasses import asdict
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.campaigns.api.cells import CellInput, SweepInput, cells_of
from campaigns.campaigns.api.tables import CampaignVerdictSerializer
from campaigns.campaigns.queries.answers import verdict_of
from campaigns.campaigns.queries.campaign_list import with_counts, with_tests
from campaigns.campaigns.queries.cells import (
    MAX_REPEATS,
    cells_of_sweep,
    estimate_cells,
    why_in_blocks,
)
from campaigns.campaigns.queries.checks import Check, checks_of_campaign
from campaigns.campaigns.queries.references import why_no_reference
from campaigns.campaigns.services.blocks import add_blocks
from campaigns.campaigns.services.campaigns import (
    MAX_INJECTORS,
    MAX_PAUSE_S,
    create_campaign,
    describe_source,
    look_at_campaigns,
    repeat_campaign,
    start_campaign,
    stop_campaign,
)
from campaigns.core.database import TURNS, release_connection
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.errors import Refused
from campaigns.domain.metrics.profiles import PerfOf, perf_scope
from campaigns.domain.plan.estimates import Estimate
from campaigns.domain.plan.rungs import RUNGS, USUAL_RUNGS
from campaigns.domain.plan.turns import LONGEST_LIMIT_S, USUAL_BLOCKS
from campaigns.domain.presentation.cost_words import cost_notes
from campaigns.items.queries.filters import CampaignFilterSet
from campaigns.items.services import describe_item
from campaigns.ladder.services import start_ladder
from campaigns.live.hub import HUB
from campaigns.models import Campaign, Project, Test
from campaigns.notes.services import LONGEST_NOTE
from campaigns.probes.services.probes import try_again
from campaigns.rest import fields
from campaigns.rest.access import ITEM_FIELDS, ItemViewSet, Tagged, actor_of, find, refuse_unknown
from campaigns.targets.services import MOST_PROFILES


class TestSerializer(fields.ReadSerializer):
    __test__ = False  # pytest: not a test case

    plan = serializers.IntegerField(source="plan_version.plan_id")
    plan_name = serializers.CharField(source="plan_version.plan.name")
    plan_number = serializers.IntegerField(source="plan_version.number")
    origin = serializers.CharField(source="endpoint.origin")
    is_reference = serializers.BooleanField(
        source="is_of_reference", help_text="Its target has the tag reference: it is never counted."
    )

    class Meta:
        model = Test
        fields = (
            *("id", "position", "plan", "plan_name", "plan_number", "endpoint", "origin"),
            *("connection_mode", "injectors", "is_reference", "swept", "swept_value"),
        )


class CampaignSerializer(fields.ReadSerializer):
    state = serializers.ChoiceField(choices=fields.CAMPAIGN_STATES)
    created_by = fields.user_field("created_by", "Who created it.")
    looked_by = fields.user_field("looked_by", "Who has looked at it.")
    perf = serializers.ChoiceField(
        choices=fields.PERF_OF,
        allow_blank=True,
        help_text="What the agents of the targets count by perf stat.",
    )
    tests = TestSerializer(many=True)
    n_runs = serializers.IntegerField()
    n_done = serializers.IntegerField(help_text="Runs that have ended, with any outcome.")

    class Meta:
        model = Campaign
        fields = (
            *("id", "project", "name", "state", "order", "repeats", "pause_s", "injectors"),
            *("limit_s", "until_settled", "commit", "branch", "link"),
            *("seed", "practical_threshold", "keeps_going", "perf", "profile", "stop_reason"),
            "created_by",
            *("created_at", "started_at", "opened_at", "held_at", "quiet_by"),
            *("stop_requested_at", "finished_at", "looked_at", "looked_by", "n_runs", "n_done"),
            "tests",
            *ITEM_FIELDS,
        )


class FullCampaignSerializer(CampaignSerializer):
    """One campaign, with what came of it."""

    verdict = serializers.SerializerMethodField(help_text="Null until it has ended or is on hold.")

    class Meta(CampaignSerializer.Meta):
        fields = (*CampaignSerializer.Meta.fields, "verdict")
        read_only_fields = fields

    @extend_schema_field(CampaignVerdictSerializer(allow_null=True))
    def get_verdict(self, campaign: Campaign) -> dict[str, Any] | None:
        verdict = verdict_of(campaign)
        return CampaignVerdictSerializer(verdict).data if verdict else None


def source_field(name: str, help_text: str) -> serializers.CharField:
    return serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=Campaign._meta.get_field(name).max_length,
        help_text=help_text,
    )


class Described(Tagged):
    """What whoever creates a campaign says of it."""

    commit = source_field("commit", "Of what is measured, such as its digest.")
    branch = source_field("branch", "Of what is measured.")
    link = source_field("link", "To the job, or to what changed: http or https.")
    note = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=LONGEST_NOTE,
        help_text="Why it is measured, in Markdown: its first note.",
    )


def describe(actor: Actor, campaign: Campaign, data: dict[str, Any]) -> None:
    tags = data.pop("tags", None)
    if data:
        describe_source(by=actor, campaign=campaign, **data)
    if tags:
        describe_item(by=actor, item=campaign, tags=tags)


class NewCampaign(Described):
    project = fields.IdField()
    name = serializers.CharField(max_length=150)
    cells = CellInput(many=True, allow_empty=False, max_length=200)
    repeats = serializers.IntegerField(
        default=None,
        allow_null=True,
        min_value=1,
        max_value=MAX_REPEATS,
        help_text="Default: one pass side by side, or five blocks.",
    )
    order = serializers.ChoiceField(
        choices=Campaign.Order.choices,
        allow_blank=True,
        default="",
        help_text="Default: side by side where the loads allow it, else blocks.",
    )
    limit_s = fields.SecondsField(
        default=None,
        allow_null=True,
        min_value=1,
        max_value=LONGEST_LIMIT_S,
        help_text="Side by side: seconds for all arms. Default: 60, 10 an arm, or 18 rounds. "
        "Stages take their own time.",
    )
    until_settled = serializers.BooleanField(
        default=True, help_text="Side by side: end as soon as the answer is clear."
    )
    pause_s = fields.SecondsField(default=2.0, min_value=0, max_value=MAX_PAUSE_S)
    injectors = serializers.IntegerField(default=1, min_value=1, max_value=MAX_INJECTORS)
    sweep = SweepInput(
        required=False,
        help_text="One test per cell and value of one number: `field` is `injectors` or a number "
        "of the plan, such as `rate_per_s`. A list alone is of injector processes.",
    )
    keeps_going = serializers.BooleanField(
        default=False,
        help_text="Make all runs, even if first requests or everything in a run fails.",
    )
    perf = serializers.ChoiceField(
        choices=fields.PERF_OF,
        allow_blank=True,
        default=PerfOf.NONE,
        help_text="What the agents of the targets count by perf stat during the runs: processes "
        "(those that they watch), machine, or nothing.",
    )
    profile = serializers.BooleanField(
        default=False,
        help_text="Have the agents record by perf record, too, in which functions the CPU time "
        "goes: of what `perf` says, else of the processes that they watch.",
    )
    reference = serializers.BooleanField(
        default=False,
        help_text="Also measure the installation's own target in each block, as a reference that "
        "counts among no tests.",
    )
    practical_threshold = serializers.FloatField(default=0.05, min_value=0, max_value=1)
    seed = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=fields.LARGEST_ID,
        help_text="Seed of the random order of runs. Default: a random one.",
    )


class MoreBlocks(fields.StrictSerializer):
    after = serializers.IntegerField(
        min_value=1,
        max_value=MAX_REPEATS,
        help_text="How many blocks the campaign has (`repeats`): adding twice is refused.",
    )
    blocks = serializers.IntegerField(default=1, min_value=1, max_value=MAX_REPEATS)
    more_s = fields.SecondsField(
        default=None,
        allow_null=True,
        min_value=1,
        max_value=LONGEST_LIMIT_S,
        help_text="Side by side: how long each of these passes is measured. Default: as the "
        "campaign's own.",
    )


class Start(fields.StrictSerializer):
    anyway = serializers.BooleanField(
        default=False, help_text="Do not wait for the first requests, or no longer."
    )
    when_quiet = serializers.BooleanField(
        default=False,
        help_text="The first run waits until the injector hosts are quiet, 30 minutes at most.",
    )


LONGEST_WAIT_S = 100


class WaitQuery(fields.QuerySerializer):
    timeout = serializers.FloatField(default=60, min_value=0, max_value=LONGEST_WAIT_S)


class CampaignViewSet(ItemViewSet):
    model = Campaign
    filterset_class = CampaignFilterSet

    def get_serializer_class(self):
        return CampaignSerializer if self.action == "list" else FullCampaignSerializer

    def get_queryset(self):
        return with_tests(with_counts(super().get_queryset()))

    @extend_schema(request=NewCampaign, responses={201: FullCampaignSerializer})
    @transaction.atomic
    def create(self, request):
        """Creates a draft. Nothing is sent until it is started."""
        data = fields.validated(NewCampaign, request.data)
        project = find(Project, request, pk=data.pop("project"))
        cells = cells_of(self.actor, project, data.pop("cells"))
        description = {name: data.pop(name) for name in Described().fields if name in data}
        campaign = create_campaign(by=self.actor, project=project, cells=cells, **data)
        describe(self.actor, campaign, description)
        return self.answer(campaign.pk, status.HTTP_201_CREATED)

    @extend_schema(request=Start, operation_id="campaigns_start")
    def start(self, request, pk):
        """Queues all runs, once, and sends the first requests.

        If one of them goes wrong, the campaign is on hold (`held_at`): read them at
        `probes/?campaign=`, then `try-again/`, start with `anyway`, or stop.
        """
        campaign = self.get_object()
        require(self.actor, Action.RUN, campaign.project)
        start_campaign(by=self.actor, campaign=campaign, **fields.validated(Start, request.data))
        return self.answer(campaign.pk)

    @extend_schema(request=None, operation_id="campaigns_try_again")
    def try_again(self, request, pk):
        """Sends the first requests that failed once more, if the campaign is on hold."""
        campaign = self.get_object()
        try_again(by=self.actor, campaign=campaign)
        return self.answer(campaign.pk)

    @extend_schema(request=None, operation_id="campaigns_stop")
    def stop(self, request, pk):
        """Ends the active run within seconds, keeps its results, and cancels the queued runs."""
        campaign = self.get_object()
        stop_campaign(by=self.actor, campaign=campaign)
        return self.answer(campaign.pk)

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "timeout",
                {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_S, "default": 60},
                description="Seconds.",
            )
        ],
        operation_id="campaigns_wait",
    )
    def wait(self, request, pk):
        """The campaign as soon as it has ended or is on hold, or after the timeout: then its
        `verdict` is null, so ask again."""
        refuse_unknown(request, "timeout", "format")
        query = request.query_params.dict()
        query.pop("format", None)
        timeout_s = fields.validated(WaitQuery, query)["timeout"]
        find(Campaign, request, pk=pk)
        release_connection()
        with suppress(ObjectDoesNotExist):  # deleted meanwhile: not found
            HUB.wait_for_end(pk, timeout_s)
        with TURNS:  # all who waited ask now, and get what one of them reads
            find(Campaign, request, pk=pk)
            text = HUB.page(("campaign", pk), "api", self._text)
            release_connection()
        return HttpResponse(text, content_type="application/json")

    def _text(self) -> str:
        return JSONRenderer().render(self.get_serializer(self.get_object()).data).decode()

    @extend_schema(request=None, operation_id="campaigns_looked")
    def looked(self, request, pk):
        """Notes that you have looked at a finished campaign: it no longer needs a look."""
        campaign = self.get_object()
        look_at_campaigns(by=self.actor, campaigns=[campaign])
        return self.answer(campaign.pk)

    @extend_schema(request=MoreBlocks, operation_id="campaigns_blocks")
    def blocks(self, request, pk):
        """Adds whole blocks of all tests at the end; a campaign that was done runs again."""
        campaign = self.get_object()
        require(self.actor, Action.RUN, campaign.project)
        add_blocks(by=self.actor, campaign=campaign, **fields.validated(MoreBlocks, request.data))
        return self.answer(campaign.pk)

    @extend_schema(
        request=Described, responses={201: FullCampaignSerializer}, operation_id="campaigns_repeat"
    )
    @transaction.atomic
    def repeat(self, request, pk):
        """Creates a draft with the same cells."""
        description = fields.validated(Described, request.data)
        again = repeat_campaign(by=self.actor, campaign=self.get_object())
        describe(self.actor, again, description)
        return self.answer(again.pk, status.HTTP_201_CREATED)


class NewLadder(Tagged):
    project = fields.IdField()
    name = serializers.CharField(max_length=150)
    plan = fields.IdField(help_text="What is sent on every rung: a plan of HTTP/1.1.")
    version = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="Default: the latest version."
    )
    endpoint = fields.IdField(
        help_text="An HTTPS endpoint; its target's HTTP endpoint is plain HTTP."
    )
    rungs = serializers.ListField(
        child=serializers.CharField(max_length=60),
        default=list(USUAL_RUNGS),
        min_length=2,
        max_length=len(RUNGS) + MOST_PROFILES,
        help_text=f"Among {', '.join(RUNGS)}, and profile:NAME for a TLS profile of the project. "
        "Default: those of new and kept connections.",
    )
    repeats = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_REPEATS,
        help_text="Default: one pass side by side, or five blocks.",
    )
    pause_s = fields.SecondsField(default=1.0, min_value=0, max_value=MAX_PAUSE_S)
    when_quiet = serializers.BooleanField(
        default=False,
        help_text="The first run waits until the injector hosts are quiet, 30 minutes at most.",
    )


class LadderList(APIView):
    @extend_schema(
        request=NewLadder, responses={201: CampaignSerializer}, operation_id="ladders_create"
    )
    @transaction.atomic
    def post(self, request):
        """Creates a campaign of these rungs and starts it. Plans and endpoints that it needs are
        made once and used again. Its rungs are under `ladder` of `campaigns/{id}/tables/`."""
        data, actor = fields.validated(NewLadder, request.data), actor_of(request)
        project = find(Project, request, pk=data.pop("project"))
        row = {name: data.pop(name) for name in ("plan", "version", "endpoint") if name in data}
        (cell,) = cells_of(actor, project, [row])
        tags = data.pop("tags", None)
        campaign = start_ladder(
            by=actor, project=project, version=cell.plan_version, endpoint=cell.endpoint, **data
        )
        if tags:
            describe_item(by=actor, item=campaign, tags=tags)
        row = with_tests(with_counts(Campaign.objects.filter(pk=campaign.pk))).get()
        return Response(CampaignSerializer(row).data, status.HTTP_201_CREATED)


class AskedCampaign(NewCampaign):
    """A campaign as it would be created; a name may be missing."""

    name = serializers.CharField(max_length=150, required=False)


CostSerializer = fields.serializer_of(
    Estimate,
    "n_tests n_runs duration_s settled_s runs_of_unknown_duration requests nouns "
    "runs_of_unknown_requests fewest_in_a_run most_in_a_run highest_of_a_run highest_pooled "
    "ports descriptors rows sessions",
)


class EstimateSerializer(CostSerializer):
    """The cost; `notes` say what its sums leave out, `checks` whether it can start."""

    notes = serializers.ListField(child=serializers.CharField())
    checks = fields.serializer_of(Check)(many=True)


class CampaignEstimate(APIView):
    @extend_schema(
        request=AskedCampaign, responses=EstimateSerializer, operation_id="campaigns_estimate"
    )
    def post(self, request):
        """Time, requests, ports and checks before the start. Creates nothing."""
        values = fields.validated(AskedCampaign, request.data)
        actor, project = actor_of(request), find(Project, request, pk=values["project"])
        require(actor, Action.EDIT, project)
        if values["reference"] and (why := why_no_reference()):
            raise Refused(why)
        cells = cells_of(actor, project, values["cells"])
        points = cells_of_sweep(cells, values["injectors"], values.get("sweep"))
        may_take_turns = values["order"] in {"", Campaign.Order.SIDE_BY_SIDE}
        in_turns = may_take_turns and not why_in_blocks(points, values["limit_s"])
        perf = perf_scope(values["perf"], is_profiled=values["profile"])
        estimate = estimate_cells(
            points,
            in_turns=in_turns,
            repeats=values["repeats"] or (1 if in_turns else USUAL_BLOCKS),
            has_reference=values["reference"],
            perf=perf,
            **{name: values[name] for name in ("pause_s", "limit_s", "until_settled")},
        )
        checks = checks_of_campaign(
            project,
            [(each.plan_version.value(), each.endpoint) for each in cells],
            estimate,
            injectors=max(each.injectors for each in points),
            perf=perf,
        )
        answer = {"notes": cost_notes(estimate), "checks": [asdict(each) for each in checks]}
        return Response({**CostSerializer(estimate).data, **answer})
