"""A run's judgement in the API."""

from rest_framework import serializers

from campaigns.api.choices import PRECISIONS, TARGET_STATES, TRUSTS


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
