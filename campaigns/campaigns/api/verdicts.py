"""How the verdict on a campaign is described in the API's schema."""

from rest_framework import serializers

from campaigns.rest import fields


class ComparedMetricSerializer(serializers.Serializer):
    metric = serializers.CharField(help_text="Such as p95 or typical: see /metrics/.")
    title = serializers.CharField()
    baseline_ms = serializers.FloatField()
    candidate_ms = serializers.FloatField()
    ratio = serializers.FloatField(help_text="Candidate / baseline.")
    low = serializers.FloatField(help_text="The lower end of its interval.")
    high = serializers.FloatField()


class ComparedTestsSerializer(serializers.Serializer):
    label = serializers.CharField(help_text="The candidate: its plan and arm.")
    names = serializers.ListField(
        child=serializers.CharField(), help_text="Of baseline and candidate."
    )
    baseline = serializers.CharField(
        allow_blank=True, help_text="The name of a stored baseline; empty of two of its tests."
    )
    baseline_test = serializers.IntegerField()
    candidate_test = serializers.IntegerField()
    word = serializers.ChoiceField(choices=fields.WORDS, allow_blank=True)
    why = serializers.CharField(
        allow_blank=True, help_text="Why there is no word, or what would settle it."
    )
    said = serializers.CharField(allow_blank=True, help_text="Such as 12 % slower.")
    bound = serializers.CharField(allow_blank=True, help_text="Such as 9.8 to 14 %.")
    confidence = serializers.FloatField()
    metrics = ComparedMetricSerializer(
        many=True,
        help_text="The one that the word is of first. Empty without a word, and where only the "
        "direction is known.",
    )


class BrokenRuleSerializer(serializers.Serializer):
    rule = serializers.CharField(help_text="With its test.")
    kept = serializers.CharField(help_text="Such as 1 of 3 runs.")
    worst = serializers.CharField()
    limit = serializers.CharField()


class CountedErrorsSerializer(serializers.Serializer):
    failed = serializers.IntegerField(source="n_failed")
    requests = serializers.IntegerField(source="n_requests")
    share = serializers.FloatField(source="failed_share", allow_null=True)


class CampaignVerdictSerializer(serializers.Serializer):
    """What came of a campaign. `word`, `ratio`, `low`, `high` and `bound` are of the worst of its
    `comparisons`: with the baselines of its tests where these have one, else of its tests."""

    measured = serializers.BooleanField(
        source="is_measured", help_text="Whether there are figures; else `why` says why not."
    )
    why = serializers.CharField(allow_blank=True)
    sentence = serializers.CharField()
    word = serializers.ChoiceField(source="worst.word", choices=fields.WORDS, default="")
    metric = serializers.CharField(source="worst.judged.metric", default="")
    ratio = serializers.FloatField(source="worst.judged.ratio", default=None, allow_null=True)
    low = serializers.FloatField(source="worst.judged.low", default=None, allow_null=True)
    high = serializers.FloatField(source="worst.judged.high", default=None, allow_null=True)
    confidence = serializers.FloatField(source="worst.confidence", default=None, allow_null=True)
    bound = serializers.CharField(source="worst.bound", default="")
    comparisons = ComparedTestsSerializer(many=True, help_text="The worst first.")
    broken_rules = BrokenRuleSerializer(many=True, help_text="Of the plans' rules.")
    errors = CountedErrorsSerializer(source="*")
