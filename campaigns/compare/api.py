"""Campaigns, tests or runs against a baseline, as their page shows them."""

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from campaigns.campaigns.api.tables import SentenceField, TableSerializer
from campaigns.compare.queries.columns import LETTERS, ComparisonSide, columns_of
from campaigns.compare.queries.compared_tests import comparison_of
from campaigns.core.tables import csv_of_tables, text_file
from campaigns.domain.analysis.capacity import CapacityInterval
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.errors import InvalidFields
from campaigns.domain.presentation.compared import Alone, ComparedCapacity, Difference
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
_WORDS = {"word", "why"}  # which a test has beside its values


class ComparedColumnSerializer(serializers.Serializer):
    column = serializers.ChoiceField(
        source="letter", choices=list(LETTERS), help_text="a is the baseline."
    )
    kind = serializers.ChoiceField(source="noun", choices=["campaign", "test", "run"])
    id = serializers.IntegerField(source="row.pk")
    name = serializers.CharField(help_text="As in the sentences.")


class RunDotSerializer(serializers.Serializer):
    run = serializers.CharField(source="label")
    mean_us = serializers.FloatField(
        source="value_us", help_text="Its average, or its median where `metric` is one."
    )


class ComparedTestSerializer(serializers.Serializer):
    key = serializers.CharField(source="test.key", help_text="For `test`.")
    column = serializers.CharField(source="test.column", help_text="The candidate's column.")
    label = serializers.CharField(source="test.label")
    baseline_test = serializers.IntegerField(source="test.baseline_test_id")
    candidate_test = serializers.IntegerField(source="test.candidate_test_id")
    word = serializers.ChoiceField(
        source="test.word",
        choices=list(Word),
        allow_blank=True,
        help_text="Empty: `why` says why there is none.",
    )
    or_environment = serializers.BooleanField(
        source="test.or_environment",
        help_text="The two sides did not run in turn: it may be the environment that changed.",
    )
    why = serializers.CharField(source="test.why", allow_blank=True)
    metric = serializers.CharField(
        source="test.row.metric",
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
    key = serializers.CharField(source="test.key")
    tables = TableSerializer(many=True)
    curves = CurvesSerializer()


ComparedRateSerializer = fields.serializer_of(
    CapacityInterval, "rate_per_s low high", "ComparedRate"
)


_ANSWERED = "column baseline candidate ratio word why"


class ComparedCapacitySerializer(fields.serializer_of(ComparedCapacity, _ANSWERED)):
    baseline = ComparedRateSerializer(allow_null=True)
    candidate = ComparedRateSerializer(allow_null=True)
    ratio = fields.CapacityRatioSerializer(allow_null=True)


class ComparisonSerializer(serializers.Serializer):
    columns = ComparedColumnSerializer(many=True)
    sentences = serializers.ListField(
        child=SentenceField(), source="compared.sentences", help_text="One for each candidate."
    )
    grounds = serializers.ListField(child=serializers.CharField(), source="compared.grounds")
    warnings = serializers.ListField(child=serializers.CharField(), source="compared.warnings")
    differs = fields.serializer_of(Difference)(many=True, source="compared.differs")
    tests = ComparedTestSerializer(many=True, help_text="Worst first.")
    references = ComparedTestSerializer(
        many=True, help_text="Tests of targets with the tag reference; never counted."
    )
    alone = fields.serializer_of(Alone)(
        many=True, source="compared.alone", help_text="Tests that only one column has."
    )
    detail = DetailSerializer(source="compared.detail", allow_null=True)
    capacities = ComparedCapacitySerializer(
        many=True,
        source="compared.capacities",
        help_text="Of searches, whose trials are no tests to compare.",
    )
    profiles = TableSerializer(
        many=True,
        source="compared.profiles",
        help_text="Of perf record, for each candidate: functions whose share of the CPU time "
        "changed, with bounds of the difference.",
    )


@answers("comparison", ComparisonSerializer, parameters=[*_COLUMNS, _TEST])
def comparison(request):
    """Each test of the candidates against its partner in the baseline: same plan, same arm."""
    columns, test = _columns(request), request.query_params.get("test", "")
    result = comparison_of(columns, test)
    if test and not (result.detail and result.detail.test.key == test):
        raise InvalidFields({"test": "Take the key of one of the tests."})
    n_tests, tests = len(result.tests), [*result.tests, *result.references]
    rows = [
        {
            "test": each,
            "values": {k: value for k, value in row["values"].items() if k not in _WORDS},
            **dict(zip(("baseline_runs", "candidate_runs"), each.runs, strict=True)),
        }
        for each, row in zip(tests, result.table.to_json()["rows"], strict=True)
    ]
    sides = {"tests": rows[:n_tests], "references": rows[n_tests:]}
    return {"columns": columns, "compared": result, **sides}


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
