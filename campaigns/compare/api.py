"""Campaigns, tests or runs against a baseline, as their page shows them."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.campaigns.api.tables import TableSerializer
from campaigns.compare.queries.columns import LETTERS, ComparisonSide, columns_of
from campaigns.compare.queries.compared_tests import comparison_of
from campaigns.core.tables import csv_of_tables, text_file
from campaigns.domain.analysis.capacity import CapacityInterval
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.errors import InvalidFields
from campaigns.domain.presentation.compared import (
    ComparedCapacity,
    ComparedDetail,
    Comparison,
    Difference,
)
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.presentation.tables import Row
from campaigns.rest import fields
from campaigns.rest.access import actor_of, answers
from campaigns.rest.parsers import CSV

_COLUMNS = [
    OpenApiParameter(
        letter,
        str,
        required=letter in "ab",
        description="campaign-12, test-34 or run-56"
        + ("; the baseline." if letter == "a" else "."),
    )
    for letter in LETTERS
]
_TEST = OpenApiParameter(
    "test", str, description="The `key` of the test in `detail`; by default the first."
)


class ComparedColumnSerializer(serializers.Serializer):
    column = serializers.ChoiceField(choices=list(LETTERS), help_text="a is the baseline.")
    kind = serializers.ChoiceField(choices=["campaign", "test", "run"])
    id = serializers.IntegerField()
    name = serializers.CharField(help_text="As in the sentences.")


class RunDotSerializer(serializers.Serializer):
    run = serializers.CharField(source="label")
    mean_us = serializers.FloatField(
        source="value_us", help_text="Its average, or its median where `metric` is one."
    )


class ComparedTestSerializer(serializers.Serializer):
    key = serializers.CharField(help_text="For `test`.")
    column = serializers.CharField(help_text="The candidate's column.")
    label = serializers.CharField()
    baseline_test = serializers.IntegerField(source="baseline_test_id")
    candidate_test = serializers.IntegerField(source="candidate_test_id")
    word = serializers.ChoiceField(
        choices=list(Word), allow_blank=True, help_text="Empty: `why` says why there is none."
    )
    or_environment = serializers.BooleanField(
        help_text="The two sides did not run in turn: it may be the environment that changed."
    )
    why = serializers.CharField(allow_blank=True)
    metric = serializers.CharField(
        source="row.metric",
        help_text="What the times are of: mean; on a busy machine typical or p50.",
    )
    values = serializers.DictField(
        help_text="Times in ms, shares in %; `api/v1/metrics/` explains each."
    )
    baseline_runs = RunDotSerializer(many=True)
    candidate_runs = RunDotSerializer(many=True)


class CurvePointSerializer(serializers.Serializer):
    """A point of the percentile curve."""

    q = serializers.FloatField(help_text="The share of requests that took at most `ms`.")
    ms = serializers.FloatField()
    beyond = serializers.FloatField(help_text="Requests above it.")


class CurvesSerializer(serializers.Serializer):
    baseline = CurvePointSerializer(many=True)
    candidate = CurvePointSerializer(many=True)


class DetailSerializer(serializers.Serializer):
    key = serializers.CharField()
    tables = TableSerializer(many=True)
    curves = CurvesSerializer()


class AloneSerializer(serializers.Serializer):
    column = serializers.CharField(help_text="Its name.")
    tests = serializers.ListField(child=serializers.CharField())


ComparedRateSerializer = fields.serializer_of(
    CapacityInterval, "rate_per_s low high", "ComparedRate"
)


class ComparedCapacitySerializer(fields.serializer_of(ComparedCapacity)):
    baseline = ComparedRateSerializer(allow_null=True)
    candidate = ComparedRateSerializer(allow_null=True)
    ratio = fields.CapacityRatioSerializer(allow_null=True)


class ComparisonSerializer(serializers.Serializer):
    columns = ComparedColumnSerializer(many=True)
    sentences = serializers.ListField(
        child=serializers.CharField(), help_text="One for each candidate."
    )
    grounds = serializers.ListField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField())
    differs = fields.serializer_of(Difference)(many=True)
    tests = ComparedTestSerializer(many=True, help_text="Worst first.")
    references = ComparedTestSerializer(
        many=True, help_text="Tests of targets with the tag reference; never counted."
    )
    alone = AloneSerializer(many=True, help_text="Tests that only one column has.")
    detail = DetailSerializer(allow_null=True)
    capacities = ComparedCapacitySerializer(
        many=True, help_text="Of searches, whose trials are no tests to compare."
    )
    profiles = TableSerializer(
        many=True,
        help_text="Of perf record, for each candidate: functions whose share of the CPU time "
        "changed, with bounds of the difference.",
    )


class ComparisonView(APIView):
    @extend_schema(
        parameters=[*_COLUMNS, _TEST], responses=ComparisonSerializer, operation_id="comparison"
    )
    def get(self, request):
        """Each test of the candidates against its partner in the baseline: same plan, same arm."""
        columns = _columns(request)
        test = request.query_params.get("test", "")
        compared = comparison_of(columns, test)
        if test and not (compared.detail and compared.detail.test.key == test):
            raise InvalidFields({"test": "Take the key of one of the tests."})
        return Response(_json(columns, compared))


@answers("comparison_csv", CSV, parameters=_COLUMNS)
def comparison_csv(request):
    """A row per test, worst first; times in ms."""
    table = comparison_of(_columns(request)).table
    return text_file("comparison.csv", csv_of_tables([table]))


def _columns(request) -> list[ComparisonSide]:
    columns = columns_of(actor_of(request), request.query_params)
    if columns is None:
        raise Http404
    if len(columns) < 2:
        raise InvalidFields({"b": "Name two columns or more: a=campaign-7&b=campaign-12."})
    return columns


def _json(columns: list[ComparisonSide], compared: Comparison) -> dict[str, Any]:
    comparisons = [*compared.tests, *compared.references]
    rows = compared.table.to_json()["rows"]
    tests = [_test_json(test, row) for test, row in zip(comparisons, rows, strict=True)]
    return {
        "columns": [
            {"column": each.letter, "kind": each.noun, "id": each.row.pk, "name": each.name}
            for each in columns
        ],
        "sentences": [plain_text(each) for each in compared.sentences],
        "grounds": compared.grounds,
        "warnings": compared.warnings,
        "differs": fields.serializer_of(Difference)(compared.differs, many=True).data,
        "tests": tests[: len(compared.tests)],
        "references": tests[len(compared.tests) :],
        "alone": [{"column": name, "tests": labels} for name, labels in compared.alone],
        "detail": compared.detail and _detail_json(compared.detail),
        "capacities": ComparedCapacitySerializer(compared.capacities, many=True).data,
        "profiles": [table.to_json() for table in compared.profiles],
    }


def _test_json(test, row: Row) -> dict[str, Any]:
    values = {key: value for key, value in row["values"].items() if key not in {"word", "why"}}
    baseline, candidate = test.runs
    fields_of_test = {
        name: getattr(test, name)
        for name in ("key", "column", "label", "word", "or_environment", "why")
    }
    return {
        **fields_of_test,
        "baseline_test": test.baseline_test_id,
        "candidate_test": test.candidate_test_id,
        "metric": test.row.metric,
        "values": values,
        "baseline_runs": RunDotSerializer(baseline, many=True).data,
        "candidate_runs": RunDotSerializer(candidate, many=True).data,
    }


def _detail_json(detail: ComparedDetail) -> dict[str, Any]:
    baseline, candidate = (
        CurvePointSerializer(line["curve"], many=True).data for line in detail.lines
    )
    return {
        "key": detail.test.key,
        "tables": [table.to_json() for table in detail.tables],
        "curves": {"baseline": baseline, "candidate": candidate},
    }
