"""A run's judgement in the API, and its deprecated synonym, the validity."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from campaigns.api.choices import PRECISIONS, TARGET_STATES, TRUSTS, VALIDITIES
from campaigns.domain.lifecycle import Trust, Validity
from campaigns.models import Run

VALIDITY_OF = dict(zip(Trust, Validity, strict=True))
TRUST_OF = {validity: trust for trust, validity in VALIDITY_OF.items()}
_DEPRECATED = "Deprecated, removed in the next release: use judgement.measurement."


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


class ValidityReasonSerializer(serializers.Serializer):
    code = serializers.CharField()
    validity = serializers.ChoiceField(choices=VALIDITIES)
    text = serializers.CharField()


class ValidityField(serializers.ChoiceField):
    def __init__(self, **kwargs):
        super().__init__(
            choices=VALIDITIES, help_text=f"{_DEPRECATED} valid, suspicious or invalid.", **kwargs
        )


class JudgedRunSerializer(serializers.ModelSerializer):
    """The fields of a run's judgement; null until it has ended."""

    judgement = JudgementSerializer(allow_null=True)
    validity = serializers.SerializerMethodField(help_text=_DEPRECATED)
    validity_reasons = serializers.SerializerMethodField(help_text=_DEPRECATED)

    @extend_schema_field(ValidityField(allow_null=True))
    def get_validity(self, run: Run) -> str | None:
        return run.judged and run.judged.as_validity()["validity"]

    @extend_schema_field(ValidityReasonSerializer(many=True))
    def get_validity_reasons(self, run: Run) -> list[dict[str, Any]]:
        reasons = run.judged.as_validity()["reasons"] if run.judged else []
        return [{name: each[name] for name in ("code", "validity", "text")} for each in reasons]
