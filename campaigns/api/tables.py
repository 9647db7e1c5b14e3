"""The tables of a campaign and of a run: the figures of the pages, as JSON and as CSV."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import find
from campaigns.api.choices import VALIDITIES, WORDS
from campaigns.api.negotiation import AnyAccept
from campaigns.domain.shown.results import Answer, RunReport, Sentence
from campaigns.domain.shown.tables import Table
from campaigns.exports.tables import csv_of_tables
from campaigns.live.memory import answer_of, report_of
from campaigns.models import Campaign, Run


class ColumnSerializer(serializers.Serializer):
    key = serializers.CharField(help_text="The metric's name: see /metrics/.")
    title = serializers.CharField()
    unit = serializers.CharField(allow_blank=True)


class RowSerializer(serializers.Serializer):
    """`values` by the columns' keys, rounded as the page shows them; null where it has a dash."""

    label = serializers.CharField()
    kind = serializers.CharField(allow_blank=True, help_text="Such as run, mean, pooled.")
    run = serializers.IntegerField(required=False)
    values = serializers.DictField(
        child=serializers.JSONField(help_text="A number, a text or null.")
    )
    weak = serializers.ListField(
        child=serializers.CharField(),
        help_text="Percentiles with fewer than ten samples beyond them.",
    )


class TableSerializer(serializers.Serializer):
    key = serializers.CharField()
    title = serializers.CharField()
    columns = ColumnSerializer(many=True)
    rows = RowSerializer(many=True)


class TestTableSerializer(serializers.Serializer):
    """One plan on one arm: a row a run, a mean row and a pooled row."""

    __test__ = False  # pytest: not a test case

    test = serializers.IntegerField()
    label = serializers.CharField()
    scheme = serializers.CharField()
    connection_mode = serializers.CharField()
    plan = serializers.CharField()
    validity = serializers.ChoiceField(choices=VALIDITIES, allow_blank=True)
    table = TableSerializer()


class OverheadTableSerializer(serializers.Serializer):
    """HTTPS against HTTP, or wss against ws: as increase and as share of the time with TLS."""

    plan = serializers.CharField()
    connection_mode = serializers.CharField()
    http_test = serializers.IntegerField()
    https_test = serializers.IntegerField()
    word = serializers.ChoiceField(choices=WORDS, allow_blank=True)
    word_reason = serializers.CharField(allow_blank=True)
    table = TableSerializer()


class CampaignTablesSerializer(serializers.Serializer):
    campaign = serializers.IntegerField()
    sentence = serializers.CharField()
    grounds = serializers.ListField(child=serializers.CharField())
    n_done = serializers.IntegerField()
    n_runs = serializers.IntegerField()
    has_word = serializers.BooleanField(help_text="Present from three finished repeats on.")
    tests = TestTableSerializer(many=True)
    overheads = OverheadTableSerializer(many=True)
    exchanges = TableSerializer(
        many=True, help_text="For WebSocket tests: handshakes, messages, connections, close codes."
    )
    sweeps = TableSerializer(many=True, help_text="One row per number of injector processes.")


class RunTablesSerializer(serializers.Serializer):
    run = serializers.IntegerField()
    sentence = serializers.CharField()
    grounds = serializers.ListField(child=serializers.CharField())
    validity = serializers.ChoiceField(choices=VALIDITIES, allow_blank=True)
    tables = TableSerializer(many=True)


class CampaignTables(APIView):
    @extend_schema(responses=CampaignTablesSerializer, operation_id="campaigns_tables")
    def get(self, request, pk):
        """The answer so far; complete when the campaign is done."""
        campaign = find(Campaign, request, pk=pk)
        return Response(_campaign_json(campaign, answer_of(campaign)))


class RunTables(APIView):
    @extend_schema(responses=RunTablesSerializer, operation_id="runs_tables")
    def get(self, request, pk):
        """All steps, then each; response time parts; errors by kind; the injectors' vitals."""
        run = find(Run, request, pk=pk)
        return Response(_run_json(run, report_of(run)))


_CSV = {(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "The same figures as CSV.")}


class CampaignTablesCsv(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(responses=_CSV, operation_id="campaigns_csv")
    def get(self, request, pk):
        """Table after table, each with its title above and units in its head."""
        campaign = find(Campaign, request, pk=pk)
        return _csv(f"campaign-{campaign.pk}.csv", answer_of(campaign).tables)


class RunTablesCsv(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(responses=_CSV, operation_id="runs_csv")
    def get(self, request, pk):
        """Table after table, each with its title above and units in its head."""
        run = find(Run, request, pk=pk)
        return _csv(f"run-{run.label}.csv", report_of(run).tables)


def _csv(name: str, tables: list[Table]) -> HttpResponse:
    return HttpResponse(
        csv_of_tables(tables),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _plain(sentence: Sentence) -> str:
    return "".join(text for text, _ in sentence)


def _campaign_json(campaign: Campaign, answer: Answer) -> dict[str, Any]:
    return {
        "campaign": campaign.pk,
        "sentence": _plain(answer.sentence),
        "grounds": answer.grounds,
        "n_done": answer.n_done,
        "n_runs": answer.n_runs,
        "has_word": answer.has_word,
        "tests": [
            {
                "test": test.test_id,
                "label": test.label,
                "scheme": test.scheme,
                "connection_mode": test.connection_mode,
                "plan": test.plan_label,
                "validity": test.validity,
                "table": test.table.to_json(),
            }
            for test in answer.tests
        ],
        "overheads": [
            {
                "plan": each.plan_label,
                "connection_mode": each.connection_mode,
                "http_test": each.http_test_id,
                "https_test": each.https_test_id,
                "word": each.word,
                "word_reason": each.word_reason,
                "table": each.table.to_json(),
            }
            for each in answer.overheads
        ],
        "exchanges": [table.to_json() for table in answer.exchanges],
        "sweeps": [sweep.table.to_json() for sweep in answer.sweeps],
    }


def _run_json(run: Run, report: RunReport) -> dict[str, Any]:
    return {
        "run": run.pk,
        "sentence": _plain(report.sentence),
        "grounds": report.grounds,
        "validity": report.validity,
        "tables": [table.to_json() for table in report.tables],
    }
