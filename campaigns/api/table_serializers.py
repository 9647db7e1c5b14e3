"""How the tables of a campaign and of a run are described in the API's schema, and what around them
is answered as it is described."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from campaigns.api.fields import (
    OUTCOMES,
    PRECISIONS,
    RUN_STATES,
    TARGET_STATES,
    THRESHOLD_STATES,
    TRUSTS,
    WORDS,
)
from campaigns.domain.shown.results import OverheadAnswer


class JudgementReasonSerializer(serializers.Serializer):
    code = serializers.CharField(help_text="See docs/measuring.md.")
    state = serializers.CharField(
        allow_blank=True, help_text="The answer if this were the only reason."
    )
    text = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    limit = serializers.FloatField(allow_null=True)
    second = serializers.IntegerField(allow_null=True, help_text="The worst one.")


class MeasurementAnswerSerializer(serializers.Serializer):
    """Did the injectors measure what they claim? Only not_usable excludes a run from verdicts."""

    state = serializers.ChoiceField(choices=TRUSTS)
    reasons = JudgementReasonSerializer(many=True)


class TargetAnswerSerializer(serializers.Serializer):
    """How the target was; null while the measurement is in doubt, or without any request."""

    state = serializers.ChoiceField(choices=TARGET_STATES, allow_null=True)
    reasons = JudgementReasonSerializer(many=True)


class PrecisionAnswerSerializer(serializers.Serializer):
    """What the number of response times supports: no figures, no p99, or a p99."""

    state = serializers.ChoiceField(choices=PRECISIONS)
    reasons = JudgementReasonSerializer(many=True)


class JudgementSerializer(serializers.Serializer):
    """Three answers, each with its reasons, worst first; notes decide nothing."""

    measurement = MeasurementAnswerSerializer()
    target = TargetAnswerSerializer()
    precision = PrecisionAnswerSerializer()
    notes = JudgementReasonSerializer(many=True)


class JudgedRunSerializer(serializers.ModelSerializer):
    """The fields of a run's judgement; null until it has ended."""

    judgement = JudgementSerializer(allow_null=True)


class ColumnSerializer(serializers.Serializer):
    key = serializers.CharField(help_text="The metric's name: see /metrics/.")
    title = serializers.CharField()
    unit = serializers.CharField(allow_blank=True)


class RowSerializer(serializers.Serializer):
    """`values` by the columns' keys, rounded as the page shows them; null where it has a dash."""

    label = serializers.CharField()
    kind = serializers.CharField(allow_blank=True, help_text="Such as run, mean, pooled.")
    note = serializers.CharField(
        allow_blank=True, help_text="Such as why a run does not count, or a row has no interval."
    )
    run = serializers.IntegerField(required=False)
    run_label = serializers.CharField(
        required=False, help_text="Such as 12.5: the fifth run of campaign 12."
    )
    state = serializers.ChoiceField(choices=RUN_STATES, required=False)
    outcome = serializers.ChoiceField(choices=OUTCOMES, required=False, allow_null=True)
    trust = serializers.ChoiceField(choices=TRUSTS, required=False, allow_null=True)
    target_state = serializers.ChoiceField(choices=TARGET_STATES, required=False, allow_null=True)
    step = serializers.IntegerField(required=False, help_text="Of a row of one step, from 0.")
    error = serializers.CharField(required=False, help_text="Of a row of one kind of failure.")
    status = serializers.IntegerField(required=False, allow_null=True)
    test = serializers.IntegerField(
        required=False, help_text="Of a row of a matrix, or of a ladder's rung."
    )
    column = serializers.CharField(required=False, help_text="The candidate's, in a comparison.")
    baseline_test = serializers.IntegerField(required=False)
    candidate_test = serializers.IntegerField(required=False)
    values = serializers.DictField(
        child=serializers.JSONField(help_text="A number, a text or null.")
    )
    weak = serializers.ListField(
        child=serializers.CharField(),
        help_text="Columns that the page marks with ~, such as percentiles with fewer than ten "
        "samples beyond them.",
    )


class TableSerializer(serializers.Serializer):
    key = serializers.CharField()
    title = serializers.CharField()
    note = serializers.CharField(
        allow_blank=True, help_text="What the page says of the whole table, such as what it counts."
    )
    columns = ColumnSerializer(many=True)
    rows = RowSerializer(many=True)


def _threshold_field() -> serializers.ChoiceField:
    return serializers.ChoiceField(
        choices=THRESHOLD_STATES,
        allow_blank=True,
        help_text="Broken if any run broke one of the plan's rules; empty without rules.",
    )


class TestTableSerializer(serializers.Serializer):
    """One plan on one arm: a row a run, a mean row and a pooled row."""

    __test__ = False  # pytest: not a test case

    test = serializers.IntegerField()
    label = serializers.CharField()
    scheme = serializers.CharField()
    connection_mode = serializers.CharField()
    plan = serializers.CharField()
    measurement = serializers.ChoiceField(
        choices=TRUSTS, allow_blank=True, help_text="Doubtful if only some runs are not usable."
    )
    target_state = serializers.ChoiceField(
        choices=TARGET_STATES, allow_blank=True, help_text="The worst in any of its runs."
    )
    threshold_state = _threshold_field()
    table = TableSerializer()


class FlaggedRunSerializer(serializers.Serializer):
    """A run that took `times` as long as the other runs of its test."""

    run = serializers.IntegerField(source="run_id")
    label = serializers.CharField(help_text="Such as 12.5: the fifth run of campaign 12.")
    block = serializers.IntegerField()
    times = serializers.FloatField()


class AdviceSerializer(serializers.Serializer):
    """`more` blocks give a verdict with this `chance` if the tests differ by `difference`."""

    difference = serializers.FloatField(help_text="A share: 0.1 is 10 %, 0 is equally fast.")
    more = serializers.IntegerField(allow_null=True, help_text="null: not even 400 would.")
    chance = serializers.FloatField()


class OverheadTableSerializer(serializers.Serializer):
    """One test (the candidate) against another (the baseline), as increase and as share.

    By default HTTPS against HTTP and wss against ws.
    """

    plan = serializers.CharField(source="plan_label")
    connection_mode = serializers.CharField()
    names = serializers.ListField(
        child=serializers.CharField(), help_text="Of baseline and candidate, as in the sentence."
    )
    baseline_test = serializers.IntegerField(source="baseline_test_id")
    candidate_test = serializers.IntegerField(source="candidate_test_id")
    word = serializers.ChoiceField(choices=WORDS, allow_blank=True)
    word_reason = serializers.CharField(allow_blank=True)
    decided_by = FlaggedRunSerializer(
        allow_null=True, help_text="Without this run the verdict would be another: repeat a block."
    )
    set_aside = FlaggedRunSerializer(many=True, help_text="Runs too far off to count.")
    advice = AdviceSerializer(many=True, help_text="How many more blocks would settle it.")
    table = serializers.SerializerMethodField()

    @extend_schema_field(TableSerializer)
    def get_table(self, overhead: OverheadAnswer) -> dict[str, Any]:
        return overhead.table.to_json()


class ShownAnswerSerializer(serializers.Serializer):
    question = serializers.CharField()
    state = serializers.CharField(allow_blank=True)
    word = serializers.CharField()
    reason = serializers.CharField()


class RemedySerializer(serializers.Serializer):
    title = serializers.CharField()
    text = serializers.CharField()


class CampaignTablesSerializer(serializers.Serializer):
    campaign = serializers.IntegerField()
    sentence = serializers.CharField()
    against = serializers.CharField(
        allow_blank=True, help_text="What it is against the baselines of its tests."
    )
    grounds = serializers.ListField(child=serializers.CharField())
    answers = ShownAnswerSerializer(
        many=True, help_text="Measurement, target, precision; empty until a run is judged."
    )
    remedies = RemedySerializer(many=True, help_text="What to do where it failed or is not usable.")
    threshold_state = _threshold_field()
    n_done = serializers.IntegerField()
    n_runs = serializers.IntegerField()
    has_word = serializers.BooleanField(help_text="Present from three finished repeats on.")
    reference = serializers.CharField(
        allow_blank=True, help_text="What its reference took, and whether that is as before."
    )
    tests = TestTableSerializer(many=True)
    references = TestTableSerializer(
        many=True, help_text="Tests of targets with the tag reference; they count in nothing."
    )
    overheads = OverheadTableSerializer(many=True)
    exchanges = TableSerializer(
        many=True, help_text="For WebSocket tests: handshakes, messages, connections, close codes."
    )
    matrix = TableSerializer(
        allow_null=True,
        help_text="Of a campaign over several targets: a row per plan and target; else null.",
    )
    network = TableSerializer(
        allow_null=True,
        help_text="Where plans were sent locally and remotely: remote minus local; else null.",
    )
    ladder = TableSerializer(
        many=True,
        help_text="Of a campaign over the protocol layers of one target: its rungs with their "
        "differences, parts, bytes on the wire and what TLS agreed on; else empty.",
    )
    sweeps = TableSerializer(many=True, help_text="One row per value of the number that is swept.")
    cpu = TableSerializer(
        many=True, help_text="CPU seconds of the target per 1,000 requests; empty without an agent."
    )
    bytes = TableSerializer(
        many=True, help_text="Network bytes of the target per request; empty without an agent."
    )
    counters = TableSerializer(
        many=True, help_text="What perf counted on the target's machine, over the runs."
    )
    machine_means = TableSerializer(
        allow_null=True,
        help_text="Means of the target's machine of each test, over its counted runs; null with "
        "fewer than two that were told.",
    )
    machine_runs = TableSerializer(
        allow_null=True,
        help_text="Means of the target's machine in every run; null with fewer than two.",
    )


class RunTablesSerializer(serializers.Serializer):
    run = serializers.IntegerField()
    sentence = serializers.CharField()
    grounds = serializers.ListField(child=serializers.CharField())
    answers = ShownAnswerSerializer(
        many=True, help_text="Measurement, target, precision; empty until a run is judged."
    )
    remedies = RemedySerializer(many=True, help_text="What to do where it failed or is not usable.")
    judgement = JudgementSerializer(allow_null=True)
    threshold_state = _threshold_field()
    tables = TableSerializer(many=True)
