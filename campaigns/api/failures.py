"""A run's failures by kind, status and step, with examples for those who may read the plan."""

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import actor_of, find, refuse_unknown
from campaigns.domain.judged.failures import cause_words
from campaigns.domain.shown.remedies import remedy
from campaigns.models import FailureExample, Run
from campaigns.queries.failures import examples_of
from campaigns.queries.measurements import measurement_of


class FailureExampleSerializer(serializers.ModelSerializer):
    """A failed request and its reply. What is secret is hidden before it is stored."""

    class Meta:
        model = FailureExample
        fields = ("shard", "second", "at_us", "request", "reply", "body_bytes", "detail")
        read_only_fields = fields


class FailureSerializer(serializers.Serializer):
    step = serializers.IntegerField(help_text="From 0.")
    label = serializers.CharField(help_text="The step's name.")
    kind = serializers.CharField()
    status = serializers.IntegerField(help_text="0 without a whole reply.")
    words = serializers.CharField()
    count = serializers.IntegerField()
    first = serializers.IntegerField(allow_null=True, help_text="Second of first sight.")
    last = serializers.IntegerField(allow_null=True, help_text="Second of last sight.")
    remedy = serializers.CharField(help_text="What to do about it.")
    examples = FailureExampleSerializer(many=True, help_text="Up to three.")


_EXAMPLE = OpenApiExample(
    "A path that does not exist",
    value=[
        {
            "step": 0,
            "label": "GET /v2/prices",
            "kind": "status_unexpected",
            "status": 404,
            "words": "404 Not Found",
            "count": 1200,
            "first": 0,
            "last": 59,
            "remedy": "Nothing was found at this path. Check it, and the host name that the server "
            "expects.",
            "examples": [
                {
                    "shard": 0,
                    "second": 0,
                    "at_us": 1204,
                    "request": "GET /v2/prices HTTP/1.1\nHost: shop.test\nAuthorization: [hidden]",
                    "reply": '404 Not Found\nServer: nginx\n\n{"see": "/v3/"}',
                    "body_bytes": 15,
                    "detail": "",
                }
            ],
        }
    ],
    response_only=True,
)


class RunFailures(APIView):
    @extend_schema(
        responses=FailureSerializer(many=True), operation_id="runs_failures", examples=[_EXAMPLE]
    )
    def get(self, request, pk) -> Response:
        """What failed, the most frequent first, and up to three examples of each."""
        run = find(Run, request, pk=pk)
        refuse_unknown(request, "format")
        examples = examples_of(actor_of(request), run=run)
        seen = measurement_of(run)
        labels = seen.plan.labels
        rows = [
            {
                "step": row.step,
                "label": label,
                "kind": row.kind,
                "status": row.status,
                "words": cause_words(row.kind, row.status),
                "count": row.count,
                "first": row.first,
                "last": row.last,
                "remedy": remedy(row.kind, row.status),
                "examples": examples.get((label, row.kind, row.status), []),
            }
            for row in seen.failures
            for label in [labels[row.step] if row.step < len(labels) else ""]
        ]
        return Response(FailureSerializer(rows, many=True).data)
