"""The tables of a campaign and of a run: the figures of the pages, as JSON and as CSV. How the
tables of a campaign and of a run, and the verdict on a campaign, are described in the API's schema,
and what around them is answered as it is described."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from campaigns.campaigns.queries.answers import answer_of
from campaigns.campaigns.queries.campaigns import final_key
from campaigns.campaigns.queries.references import reference_sentence
from campaigns.compare.queries.arm_pairs import chosen_tests
from campaigns.core.database import without_connection
from campaigns.core.tables import text_stream, unless_known, wants_blocks
from campaigns.domain.analysis.judgement import JudgementReason
from campaigns.domain.analysis.messages import Sentence
from campaigns.domain.errors import InvalidFields
from campaigns.domain.presentation.ladder import LADDER_METRICS, METRICS_IN_TURNS
from campaigns.domain.presentation.metrics import ALSO_CALLED
from campaigns.domain.presentation.results import Answer, BrokenRule, ComparedArms, ShownAnswer
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.presentation.tables import Column, Table
from campaigns.domain.presentation.what_to_do import Remedy
from campaigns.history.queries.baselines import campaign_against
from campaigns.ladder.queries import ladder_metric
from campaigns.live.hub import report_of
from campaigns.machines.queries.machine_runs import machine_tables, target_side
from campaigns.matrix.queries import relative_column
from campaigns.models import Campaign, Run
from campaigns.rest import fields
from campaigns.rest.access import answers
from campaigns.rest.parsers import CSV
from campaigns.runs.exports import campaign_tables_file, csv_of_campaign, run_tables_file

JudgementReasonSerializer = fields.serializer_of(
    JudgementReason, "code state text value limit second"
)


class MeasurementAnswerSerializer(serializers.Serializer):
    """Did the injectors measure what they claim? Of busy ones only medians are compared."""

    state = serializers.ChoiceField(choices=fields.TRUSTS)
    reasons = JudgementReasonSerializer(many=True)


class TargetAnswerSerializer(serializers.Serializer):
    """How the target was; null while the measurement is in doubt, or without any request."""

    state = serializers.ChoiceField(choices=fields.TARGET_STATES, allow_null=True)
    reasons = JudgementReasonSerializer(many=True)


class PrecisionAnswerSerializer(serializers.Serializer):
    """What the number of response times supports: no figures, no p99, or a p99."""

    state = serializers.ChoiceField(choices=fields.PRECISIONS)
    reasons = JudgementReasonSerializer(many=True)


class JudgementSerializer(serializers.Serializer):
    """Three answers, each with its reasons, worst first; notes decide nothing."""

    measurement = MeasurementAnswerSerializer()
    target = TargetAnswerSerializer()
    precision = PrecisionAnswerSerializer()
    notes = JudgementReasonSerializer(many=True)


class JudgedRunSerializer(fields.ReadSerializer):
    """The fields of a run's judgement; null until it has ended."""

    judgement = JudgementSerializer(source="judged", allow_null=True)


class RowSerializer(serializers.Serializer):
    """`values` by the columns' keys, rounded as the page shows them; null where it has a dash.
    `low` has their lower ends: a time in `values` is as measured."""

    label = serializers.CharField()
    kind = serializers.CharField(allow_blank=True, help_text="Such as run, mean, pooled.")
    note = serializers.CharField(
        allow_blank=True, help_text="Such as why a run does not count, or a row has no interval."
    )
    run = serializers.IntegerField(required=False)
    run_label = serializers.CharField(
        required=False, help_text="Such as 12.5: the fifth run of campaign 12."
    )
    state = serializers.ChoiceField(choices=fields.RUN_STATES, required=False)
    outcome = serializers.ChoiceField(choices=fields.OUTCOMES, required=False, allow_null=True)
    trust = serializers.ChoiceField(choices=fields.TRUSTS, required=False, allow_null=True)
    target_state = serializers.ChoiceField(
        choices=fields.TARGET_STATES, required=False, allow_null=True
    )
    step = serializers.IntegerField(required=False, help_text="Of a row of one step, from 0.")
    flow = serializers.CharField(required=False, help_text="Of a row of one flow, its name.")
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
    low = serializers.DictField(
        child=serializers.FloatField(),
        help_text="Without the injector's part, in the quieter half of the seconds. Empty where "
        "that was not timed. The page shows both ends if they differ by more than 5 %.",
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
    columns = fields.serializer_of(Column, "key title unit")(many=True)
    rows = RowSerializer(many=True)

    def to_representation(self, table: Table) -> dict[str, Any]:
        return table.to_json()


class SentenceField(serializers.CharField):
    """A sentence without its emphasis."""

    def to_representation(self, sentence: Sentence) -> str:
        return plain_text(sentence)


def _threshold_field() -> serializers.ChoiceField:
    return serializers.ChoiceField(
        choices=fields.THRESHOLD_STATES,
        allow_blank=True,
        help_text="Broken if any run broke one of the plan's rules; empty without rules.",
    )


class TestTableSerializer(serializers.Serializer):
    """One plan on one arm: a row a run, a mean row and a pooled row."""

    __test__ = False  # pytest: not a test case

    test = serializers.IntegerField(source="test_id")
    label = serializers.CharField()
    scheme = serializers.CharField()
    connection_mode = serializers.CharField()
    plan = serializers.CharField(source="plan_label")
    measurement = serializers.ChoiceField(
        choices=fields.TRUSTS, allow_blank=True, source="trust", help_text="The best of its runs."
    )
    target_state = serializers.ChoiceField(
        choices=fields.TARGET_STATES, allow_blank=True, help_text="The worst in any of its runs."
    )
    threshold_state = _threshold_field()
    table = TableSerializer()


class NarrowedSerializer(serializers.Serializer):
    """What the rounds of arms that take turns said by then."""

    rounds = serializers.IntegerField()
    seconds = serializers.FloatField(help_text="Of measuring, all arms together.")
    ratio = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    word = serializers.ChoiceField(choices=fields.WORDS)


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
    word = serializers.ChoiceField(choices=fields.WORDS, allow_blank=True)
    word_reason = serializers.CharField(allow_blank=True)
    more = serializers.IntegerField(
        allow_null=True, help_text="About how many more blocks would settle it."
    )
    more_s = serializers.FloatField(
        allow_null=True, help_text="Side by side: about how many more seconds."
    )
    confidence = serializers.FloatField(help_text="Of its intervals: 0.99 side by side.")
    narrowing = NarrowedSerializer(many=True, help_text="Side by side: at each look; [] in blocks.")
    table = TableSerializer()


class AnsweredSerializer(serializers.Serializer):
    # What the answer of a campaign and the report of a run, both as `answer`, say first.

    sentence = SentenceField(source="answer.sentence")
    grounds = serializers.ListField(child=serializers.CharField())
    answers = fields.serializer_of(ShownAnswer)(
        many=True,
        source="answer.answers",
        help_text="Measurement, target, precision; empty until a run is judged.",
    )
    remedies = fields.serializer_of(Remedy, "title text")(
        many=True,
        source="answer.remedies",
        help_text="What to do where it failed or has no answer.",
    )
    threshold_state = _threshold_field()


class CampaignTablesSerializer(AnsweredSerializer):
    campaign = serializers.IntegerField()
    against = SentenceField(
        allow_blank=True, help_text="What it is against the baselines of its tests."
    )
    n_done = serializers.IntegerField(source="answer.n_done")
    n_runs = serializers.IntegerField(source="answer.n_runs")
    has_word = serializers.BooleanField(
        source="answer.has_word",
        help_text="Present from three finished repeats, or 16 rounds side by side, on.",
    )
    reference = serializers.CharField(
        allow_blank=True, help_text="What its reference took, and whether that is as before."
    )
    tests = TestTableSerializer(many=True, source="answer.tests")
    references = TestTableSerializer(
        many=True,
        source="answer.references",
        help_text="Tests of targets with the tag reference; they count in nothing.",
    )
    overheads = OverheadTableSerializer(many=True, source="answer.overheads")
    exchanges = TableSerializer(
        many=True,
        source="answer.exchanges",
        help_text="For WebSocket tests: handshakes, messages, connections, close codes.",
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
        many=True,
        source="machine.cpu",
        help_text="CPU seconds of the target per 1,000 requests; empty without an agent.",
    )
    bytes = TableSerializer(
        many=True,
        source="machine.network",
        help_text="Network bytes of the target per request; empty without an agent.",
    )
    resources = TableSerializer(
        many=True,
        source="machine.resources",
        help_text="Of a campaign with several watched tests: CPU user and system, memory and "
        "network of their servers beside one another, also per 1,000 requests.",
    )
    counters = TableSerializer(
        many=True,
        source="machine.counters",
        help_text="What perf counted on the target's machine, over the runs.",
    )
    machine_means = TableSerializer(
        allow_null=True,
        source="machine.machine_means",
        help_text="Means of the target's machine of each test, over its counted runs; null with "
        "fewer than two that were told.",
    )
    machine_runs = TableSerializer(
        allow_null=True,
        source="machine.machine_runs",
        help_text="Means of the target's machine in every run; null with fewer than two.",
    )


class RunTablesSerializer(AnsweredSerializer):
    run = serializers.IntegerField()
    judgement = JudgementSerializer(source="answer.judged", allow_null=True)
    tables = TableSerializer(many=True)


_METRICS = tuple(dict.fromkeys((*LADDER_METRICS, *METRICS_IN_TURNS)))
_CHOICE = [
    OpenApiParameter(
        "compare", fields.ID, description="A test: the candidate of the only comparison."
    ),
    OpenApiParameter("with", fields.ID, description="The test it is compared with: the baseline."),
    OpenApiParameter(
        "metric",
        str,
        enum=[*_METRICS, *ALSO_CALLED],
        description="What the rungs of a ladder are compared by. Default: mean; typical, the "
        "median without the injector's part, where they took turns.",
    ),
    OpenApiParameter(
        "relative",
        {"type": "integer", "minimum": 1, "maximum": 999},
        description="The column of a matrix, or the arm of a sweep, that differences are of. "
        "Default: 1.",
    ),
]
_KNOWN = ("compare", "with", "metric", "relative", "format")


@answers("campaigns_tables", CampaignTablesSerializer, Campaign, parameters=_CHOICE)
def campaign_tables(request, campaign: Campaign):
    """The answer so far; complete when the campaign is done."""
    answer = _answer(request, campaign)
    return {
        "campaign": campaign.pk,
        "answer": answer,
        "against": campaign_against(campaign),
        "grounds": [*answer.grounds, *answer.caveats],
        "threshold_state": answer.threshold_state,
        "reference": reference_sentence(campaign),
        "matrix": answer.matrix and answer.matrix.table,
        "network": answer.matrix and answer.matrix.network_table,
        "ladder": answer.ladder.tables if answer.ladder else [],
        "sweeps": [sweep.table for sweep in answer.sweeps],
        "machine": target_side(campaign, answer),
    }


@answers("runs_tables", RunTablesSerializer, Run)
def run_tables(request, run: Run):
    """All steps together and each one, the slowest requests, response time parts, errors by
    kind, injector vitals."""
    report = report_of(run)
    return {
        "run": run.pk,
        "answer": report,
        "grounds": report.grounds,
        "threshold_state": run.threshold_state or "",
        "tables": [*report.tables, *machine_tables(run)],
    }


_FORMAT = OpenApiParameter(
    "format", str, enum=["runs", "blocks"], description="Default: runs. blocks: the page's tables."
)


@answers("campaigns_csv", CSV, Campaign, parameters=[_FORMAT, *_CHOICE])
def campaign_tables_csv(request, campaign: Campaign):
    """One row per run, times in µs; with format=blocks all tables, one after another."""
    # Refused also where they choose nothing.
    chosen_tests(campaign, request.query_params)
    _check_words(request.query_params)
    if not wants_blocks(request.query_params):
        runs = without_connection(csv_of_campaign(campaign))
        name = f"campaign-{campaign.pk}.csv"
        return unless_known(request, final_key(campaign), lambda: text_stream(name, runs))
    return campaign_tables_file(campaign, _answer(request, campaign))


@answers("runs_csv", CSV, Run)
def run_tables_csv(request, run: Run):
    """All tables, one after another, each with a title and units in its header."""
    return run_tables_file(run, report_of(run))


def _answer(request, campaign: Campaign) -> Answer:
    pair = chosen_tests(campaign, request.query_params)
    query = request.query_params
    _check_words(query)
    answer = answer_of(campaign, pair, relative_column(query), ladder_metric(query))
    # Of the matrix, or the arms of the sweep that has most of them.
    arms = Counter((each.plan_label, each.field) for each in answer.sweeps)
    n_columns = len(answer.matrix.columns) if answer.matrix else max(arms.values(), default=0)
    if 1 < n_columns < relative_column(query):
        raise InvalidFields({"relative": f"Write the number of a column, from 1 to {n_columns}."})
    return answer


def _check_words(query: Mapping[str, str]) -> None:
    """Unlike a page, which may come from an old link, a program is told what it misspelt."""
    names = ", ".join(_KNOWN)
    faults = {name: f"Unknown parameter. Known: {names}." for name in query if name not in _KNOWN}
    if "metric" in query and not ladder_metric(query):
        faults["metric"] = f"Choose one of: {', '.join(_METRICS)}."
    if query.get("relative", "1") != str(relative_column(query)):
        faults["relative"] = "Write the number of a column, from 1."
    if faults:
        raise InvalidFields(faults)


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
    comparisons = fields.serializer_of(ComparedArms, noun="ComparedTests")(
        many=True, help_text="The worst first."
    )
    broken_rules = fields.serializer_of(BrokenRule)(many=True, help_text="Of the plans' rules.")
    errors = CountedErrorsSerializer(source="*")
