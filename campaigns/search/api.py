"""Searches for a capacity: start one, read it with its trials, as JSON and CSV."""

from dataclasses import asdict
from typing import Any

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.campaigns.api.cells import CellInput, cells_of
from campaigns.campaigns.api.tables import SentenceField
from campaigns.campaigns.queries.checks import Check, checks_of_search, cost_of_search
from campaigns.core.permissions import Action, require
from campaigns.core.tables import text_file
from campaigns.domain.analysis.capacity import CapacityInterval
from campaigns.domain.plan.load import MAX_RATE_PER_S
from campaigns.domain.plan.presets import USUAL_TRIALS, SearchCost
from campaigns.domain.presentation.capacity_words import Limiter
from campaigns.history.api.history import AgainstSerializer
from campaigns.items.services import describe_item
from campaigns.models import Project, Search
from campaigns.rest import fields
from campaigns.rest.access import Tagged, actor_of, answers, find
from campaigns.rest.parsers import CSV
from campaigns.runs.exports import TrialRow, csv_of_search, trial_rows
from campaigns.search import queries, services


class NewSearch(Tagged):
    project = fields.IdField()
    name = serializers.CharField(max_length=150)
    cell = CellInput()
    objective = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        max_length=20,
        help_text="Rules such as p95 < 300 ms and errors < 1 %. Default: the plan's thresholds.",
    )
    start_per_s = fields.RateField(help_text="The first rate; it should be kept easily.")
    limit_per_s = fields.RateField(
        max_value=MAX_RATE_PER_S, help_text="No trial is above this rate."
    )
    trial_s = fields.SecondsField(
        default=20.0, min_value=services.SHORTEST_TRIAL_S, max_value=services.LONGEST_TRIAL_S
    )
    longest_s = fields.AboveSecondsField(
        default=3600.0, max_value=services.LONGEST_SEARCH_S, help_text="From its first trial on."
    )
    seed = serializers.IntegerField(required=False, min_value=0, max_value=fields.LARGEST_ID)
    when_quiet = serializers.BooleanField(
        default=False,
        help_text="The first trial also waits until no injector host is busy, 30 min at most.",
    )


class AskedSearch(NewSearch):
    """A search as it would be started; a name may be missing."""

    name = serializers.CharField(max_length=150, required=False)


class SearchEstimateSerializer(fields.serializer_of(SearchCost)):
    usual_trials = serializers.IntegerField(help_text="A search with enough time takes about this.")
    most_per_s = serializers.FloatField(help_text="No trial is above this rate.")
    checks = fields.serializer_of(Check)(many=True)


class SearchAgainstSerializer(AgainstSerializer):
    metric = serializers.ChoiceField(choices=["capacity"])
    word = serializers.ChoiceField(choices=fields.CAPACITY_WORDS, allow_blank=True)


class SearchSerializer(serializers.Serializer):
    campaign = serializers.IntegerField(source="report.search.pk")
    sentence = SentenceField(source="report.sentence")
    ending = serializers.ChoiceField(
        choices=fields.ENDINGS, source="report.ending", allow_null=True, help_text="Null so far."
    )
    objective = serializers.ListField(child=serializers.CharField())
    start_per_s = serializers.FloatField(source="report.search.start_per_s")
    limit_per_s = serializers.FloatField(source="report.search.limit_per_s")
    trial_s = serializers.FloatField(source="report.search.trial_s")
    longest_s = serializers.FloatField(source="report.search.longest_s")
    deadline = serializers.DateTimeField(
        source="report.search.deadline",
        allow_null=True,
        help_text="Null until the first trial has ended: it counts from its start.",
    )
    capacity = fields.serializer_of(CapacityInterval, noun="Capacity")(
        source="report.capacity",
        allow_null=True,
        help_text="Null where the sentence says at least, and of a target that drifted.",
    )
    at_least_per_s = serializers.FloatField(
        source="report.answer.at_least", allow_null=True, help_text="Passed, below all failed."
    )
    below_per_s = serializers.FloatField(
        source="report.answer.below", allow_null=True, help_text="The lowest that failed."
    )
    drift = serializers.FloatField(
        source="report.answer.drift", help_text="From the first search to the last, as a share."
    )
    rule = serializers.IntegerField(
        source="report.answer.rule", help_text="The version of the rule that made this answer."
    )
    limited_by = fields.serializer_of(Limiter, "word why")()
    against = SearchAgainstSerializer(
        source="report.search.against",
        allow_null=True,
        help_text="The baseline of searches, when it ended; null without one.",
    )
    trials = fields.serializer_of(TrialRow, noun="Trial")(many=True)


class SearchList(APIView):
    @extend_schema(
        request=NewSearch, responses={201: SearchSerializer}, operation_id="searches_create"
    )
    @transaction.atomic
    def post(self, request):
        """Creates a campaign that searches for the highest rate that keeps the objective, and
        starts it. It is stopped, tagged and deleted as any other campaign."""
        data, actor = fields.validated(NewSearch, request.data), actor_of(request)
        project = find(Project, request, pk=data.pop("project"))
        (cell,) = cells_of(actor, project, [data.pop("cell")])
        tags = data.pop("tags", None)
        campaign = services.start_search(by=actor, project=project, cell=cell, **data)
        if tags:
            describe_item(by=actor, item=campaign, tags=tags)
        report = queries.report_of_search(find(Search, request, pk=campaign.pk))
        return Response(SearchSerializer(_answer(report)).data, status.HTTP_201_CREATED)


def _answer(report: queries.SearchReport) -> dict[str, Any]:
    busy = queries.busy_by_run(report.made)
    return {
        "report": report,
        "objective": [rule.rule for rule in report.rules],
        "limited_by": queries.limiter_beside(report, queries.busy_near(report, busy)),
        "trials": trial_rows(report, busy),
    }


class SearchEstimate(APIView):
    @extend_schema(
        request=AskedSearch, responses=SearchEstimateSerializer, operation_id="searches_estimate"
    )
    def post(self, request):
        """Trials, time and checks before the start. Starts nothing."""
        values, actor = fields.validated(AskedSearch, request.data), actor_of(request)
        project = find(Project, request, pk=values["project"])
        require(actor, Action.EDIT, project)
        (cell,) = cells_of(actor, project, [values["cell"]])
        plan, objective = cell.plan(), values.get("objective") or ()
        rates = values["start_per_s"], values["limit_per_s"]
        services.plan_of_search(plan, *rates, objective, values["trial_s"], values["longest_s"])
        cost = cost_of_search(plan, trial_s=values["trial_s"], longest_s=values["longest_s"])
        answer = {
            **asdict(cost),
            "usual_trials": USUAL_TRIALS,
            "most_per_s": values["limit_per_s"],
            "checks": checks_of_search(
                project, plan, cell.endpoint, cell.injectors, cost, objective
            ),
        }
        return Response(SearchEstimateSerializer(answer).data)


@answers("campaigns_search", SearchSerializer, Search)
def search_of_campaign(request, search: Search):
    """The answer so far or at the end, and every finished trial. 404 for other campaigns."""
    return _answer(queries.report_of_search(search))


@answers("campaigns_search_csv", CSV, Search)
def search_of_campaign_csv(request, search: Search):
    """A row for each finished trial, times in µs, CPU and network as shares of 1."""
    report = queries.report_of_search(search)
    return text_file(
        f"search-{search.pk}.csv", csv_of_search(report, queries.busy_by_run(report.made))
    )
