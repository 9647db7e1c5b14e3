"""The history of tests over campaigns: of one test, and of all tests of a project; its marks."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.campaigns.api.tables import SentenceField
from campaigns.compare.api import ComparedRateSerializer
from campaigns.compare.queries.compared_searches import over_time, searches_of
from campaigns.core.tables import text_file
from campaigns.domain.analysis.changes import Change
from campaigns.domain.analysis.histories import CampaignPoint, TestHistory
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.errors import InvalidFields
from campaigns.domain.presentation.history_words import (
    METRICS,
    change_words,
    direction_of,
    history_sentence,
    standing_of,
    why_not_counted,
)
from campaigns.domain.presentation.metrics import ALSO_CALLED
from campaigns.domain.presentation.sentences import plain_text
from campaigns.history.exports import csv_of_histories, csv_of_history
from campaigns.history.queries.history import (
    HistoryFilter,
    HistorySeries,
    begin_of,
    end_of,
    histories,
    history_of,
    recent,
)
from campaigns.history.services import delete_mark, set_mark
from campaigns.items.queries.filters import IdFilter, InstantFilter, ListFilterSet
from campaigns.models import Project, Target, Test, TimeMark
from campaigns.rest import fields
from campaigns.rest.access import ResourceViewSet, actor_of, answers, describe, find
from campaigns.rest.parsers import CSV


class MarkSerializer(fields.ReadSerializer):
    created_by = fields.user_field("created_by", "Who sent it.")

    class Meta:
        model = TimeMark
        fields = ("id", "project", "target", "at", "text", "link", "key", "created_by")


class NewMark(fields.StrictSerializer):
    text = serializers.CharField(help_text="Such as version 1.4.2 deployed.")
    at = serializers.DateTimeField(required=False, help_text="Now if it is left out.")
    link = serializers.CharField(required=False, allow_blank=True)
    target = fields.IdField(required=False, help_text="Of all targets if it is left out.")
    key = serializers.CharField(
        required=False,
        help_text="A mark with the same key and target is the same mark; by default the text, with "
        "the time if one is given.",
    )


class MarkFilterSet(ListFilterSet):
    target = IdFilter()
    since = InstantFilter("at", "gte")
    until = InstantFilter("at", "lt")


@describe(list="The project's marks, newest first.", destroy="Takes the mark off the time axis.")
class MarkViewSet(ResourceViewSet):
    model = TimeMark
    parent = Project
    serializer_class = MarkSerializer
    input_class = NewMark
    filterset_class = MarkFilterSet

    def get_queryset(self):
        return super().get_queryset().select_related("created_by").order_by("-at", "-pk")

    @extend_schema(responses={200: MarkSerializer, 201: MarkSerializer})
    def create(self, request, project):
        """Marks a deploy or another event. Sent twice, it is one mark: the second answer is 200."""
        row = self.parent_row()
        values = self.input(row)
        if "target" in values:
            values["target"] = find(Target, request, pk=values["target"])
        mark, is_new = set_mark(by=self.actor, project=row, **values)
        return self.answer(mark.pk, status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)

    def perform_destroy(self, mark):
        delete_mark(by=self.actor, mark=mark)


class TestHistoryQuery(fields.QuerySerializer):
    tag = serializers.CharField(required=False, help_text="Campaigns with this tag.")
    since = serializers.CharField(
        required=False, help_text="A day, such as 2026-11-01, or a mark, such as mark-12."
    )
    until = serializers.CharField(
        required=False, help_text="A day, which is included, or a mark, before which it ends."
    )
    metric = serializers.ChoiceField(
        required=False,
        choices=[*METRICS.items(), *ALSO_CALLED.items()],
        help_text="average is mean.",
    )

    @classmethod
    def chosen(cls, request, project: Project) -> HistoryFilter:
        query = cls(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        values = dict(query.validated_data)
        if (metric := values.get("metric")) in ALSO_CALLED:
            values["metric"] = ALSO_CALLED[metric]
        for name, reader in (("since", begin_of), ("until", end_of)):
            if name in values:
                try:
                    values[name] = reader(project, values[name])
                except ValueError as fault:
                    raise InvalidFields({name: str(fault)}) from None
        return HistoryFilter(**values)


class ProjectHistoryQuery(TestHistoryQuery):
    target = fields.IdField(required=False)
    plan = fields.IdField(required=False)
    arm = serializers.CharField(required=False, help_text="Such as https keep-alive.")


class ChangeSerializer(serializers.Serializer):
    """A new level of the metric. It began after campaign `after` and not later than `until`."""

    since = serializers.IntegerField(help_text="The first campaign of the new level.")
    after = serializers.IntegerField()
    until = serializers.IntegerField()
    before_us = serializers.FloatField(source="change.before")
    after_us = serializers.FloatField(source="change.after")
    ratio = serializers.FloatField(source="change.ratio")
    low = serializers.FloatField(source="change.low", help_text="Of the ratio's 95 % interval.")
    high = serializers.FloatField(source="change.high")
    p_value = serializers.FloatField(source="change.p_value")
    sentence = serializers.CharField()
    direction = serializers.ChoiceField(choices=[str(Word.SLOWER), str(Word.FASTER)])
    reference_ratio = serializers.FloatField(
        allow_null=True, help_text="Of the reference's change in the same range, if it has one."
    )
    causes = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="What was changed at the same time: name, before, after.",
    )


class AgainstSerializer(serializers.Serializer):
    """What a campaign is against its baseline, as it was judged when it ended."""

    baseline = serializers.CharField(help_text="Its name.")
    metric = serializers.ChoiceField(choices=["p95", "mean", "typical"])
    word = serializers.ChoiceField(choices=list(Word), allow_blank=True)
    why = serializers.CharField(allow_blank=True)
    ratio = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True, help_text="Of the ratio's 95 % interval.")
    high = serializers.FloatField(allow_null=True)


def _end(path: str, text: str = "") -> serializers.FloatField:
    return serializers.FloatField(source=f"ends_us.{path}", allow_null=True, help_text=text)


class PointSerializer(serializers.Serializer):
    """One campaign: means over its runs that count, times in µs."""

    campaign = serializers.IntegerField()
    name = serializers.CharField(source="campaign_name")
    test = serializers.IntegerField()
    started_at = serializers.DateTimeField(source="at")
    plan_version = serializers.IntegerField()
    runs = serializers.IntegerField(source="k")
    value_us = serializers.FloatField(allow_null=True)
    interval_us = serializers.ListField(child=serializers.FloatField(), allow_null=True)
    p50_us = _end("p50.high")
    p95_us = _end("p95.high")
    p99_us = _end("p99.high")
    mean_low_us = _end("mean.low", "The lower end, without the injector's part.")
    p50_low_us = _end("p50.low")
    p95_low_us = _end("p95.low")
    p99_low_us = _end("p99.low")
    requests = serializers.IntegerField(source="n")
    errors = serializers.IntegerField()
    measurement = serializers.CharField(source="trust", allow_blank=True)
    target_state = serializers.CharField(allow_blank=True)
    why_not_counted = serializers.SerializerMethodField()
    is_outlier = serializers.BooleanField(default=False)
    against = AgainstSerializer(allow_null=True)

    def get_why_not_counted(self, point: CampaignPoint) -> str:
        return why_not_counted(point)


class ExpectedSerializer(serializers.Serializer):
    """Where 99 % of further campaigns of this level lie, in µs."""

    level_us = serializers.FloatField(source="level")
    low_us = serializers.FloatField(source="low")
    high_us = serializers.FloatField(source="high")
    is_outlier = serializers.BooleanField(help_text="Whether the newest campaign lies outside.")


class HistoryInShortSerializer(serializers.Serializer):
    test = serializers.IntegerField(help_text="The newest one.")
    plan = serializers.IntegerField(source="named.plan.pk")
    plan_name = serializers.CharField(source="named.plan.name")
    target = serializers.IntegerField(source="named.endpoint.target_id")
    endpoint = serializers.CharField(source="named.endpoint.origin")
    connection_mode = serializers.CharField(source="named.key.connection_mode")
    injectors = serializers.IntegerField(source="named.key.injectors")
    standing = serializers.ChoiceField(choices=fields.STANDINGS)
    sentence = SentenceField()
    campaigns = serializers.IntegerField(
        source="named.history.n_counted", help_text="How many count."
    )
    newest = PointSerializer(source="named.history.newest", allow_null=True)
    expected = ExpectedSerializer(source="named.history.course.expected", allow_null=True)
    change = ChangeSerializer(allow_null=True, help_text="The last one.")


class MarkInShortSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    text = serializers.CharField()
    link = serializers.CharField(allow_blank=True)


class SearchedCapacitySerializer(serializers.Serializer):
    campaign = serializers.IntegerField(source="search.column.campaign.pk")
    started_at = serializers.DateTimeField(source="search.column.campaign.started_at")
    objective = serializers.ListField(child=serializers.CharField())
    ending = serializers.ChoiceField(source="search.report.ending", choices=fields.ENDINGS)
    capacity = ComparedRateSerializer(source="search.capacity", allow_null=True)
    at_least_per_s = serializers.FloatField(
        source="search.report.answer.at_least",
        allow_null=True,
        help_text="Passed, below all failed.",
    )
    below_per_s = serializers.FloatField(
        source="search.report.answer.below", allow_null=True, help_text="The lowest that failed."
    )
    before = serializers.IntegerField(
        source="before.column.campaign.pk",
        allow_null=True,
        help_text="The search that it is compared with: the one before it that "
        "found a capacity for the same objective.",
    )
    ratio = fields.CapacityRatioSerializer(source="against.ratio", allow_null=True)
    word = serializers.ChoiceField(choices=fields.CAPACITY_WORDS, allow_blank=True)


class TestHistorySerializer(HistoryInShortSerializer):
    changes = ChangeSerializer(many=True)
    points = PointSerializer(many=True)
    marks = MarkInShortSerializer(many=True, help_text="Deploys and the like, by time.")
    capacities = SearchedCapacitySerializer(
        many=True, help_text="What searches for its capacity found, newest first."
    )


class ProjectHistorySerializer(serializers.Serializer):
    project = serializers.IntegerField()
    tests = HistoryInShortSerializer(many=True)
    references = HistoryInShortSerializer(
        many=True, help_text="Tests of targets with the tag reference, whatever is asked for."
    )


def _test(request, test: Test) -> HistorySeries:
    by = TestHistoryQuery.chosen(request, test.campaign.project)
    return history_of(actor_of(request), test, by)


def _tests(request, project: Project) -> list[HistorySeries]:
    by = recent(ProjectHistoryQuery.chosen(request, project))
    return histories(actor_of(request), project, by)


def _in_short(series: HistorySeries) -> dict[str, Any]:
    history = series.history
    return {
        "test": history.newest and history.newest.test,
        "named": series,
        "standing": standing_of(history),
        "sentence": history_sentence(history, series.metric),
        "change": history.last_change and _change(history, history.last_change),
    }


def _change(history: TestHistory, change: Change) -> dict[str, Any]:
    points, reference = history.points, history.moved_beside(change)
    return {
        "change": change,
        "since": points[change.index].campaign,
        "after": points[history.before(change)].campaign,
        "until": points[change.latest].campaign,
        "sentence": plain_text(change_words(history, change)),
        "direction": direction_of(change),
        "reference_ratio": reference and reference.ratio,
        "causes": history.causes(change),
    }


class HistoryOfTest(APIView):
    @extend_schema(
        parameters=[TestHistoryQuery], responses=TestHistorySerializer, operation_id="tests_history"
    )
    def get(self, request, pk):
        """The test over all campaigns that have ended, oldest first, with its changes of level."""
        test = find(Test, request, pk=pk)
        series = _test(request, test)
        history = series.history
        searches = searches_of(actor_of(request), series.key)
        answer = {
            **_in_short(series),
            "changes": [_change(history, change) for change in history.course.changes],
            "points": history.points,
            "marks": series.marks,
            "capacities": [
                {
                    "search": search,
                    "before": before,
                    "against": against,
                    "objective": [rule.rule for rule in search.report.rules],
                    "word": against.word if against else "",
                }
                for search, before, against in over_time(searches)
            ],
        }
        data = TestHistorySerializer({**answer, "test": answer["test"] or test.pk}).data
        for index in history.course.outliers:
            data["points"][index]["is_outlier"] = True
        return Response(data)


@answers("tests_history_csv", CSV, Test, parameters=[TestHistoryQuery])
def history_of_test_csv(request, test: Test):
    """The same, a row per campaign, times in µs."""
    text = csv_of_history(_test(request, test))
    return text_file(f"history-of-test-{test.pk}.csv", text)


@answers("projects_history", ProjectHistorySerializer, Project, parameters=[ProjectHistoryQuery])
def history_of_project(request, project: Project):
    """Every test of the project in short; of the last 90 days unless a time is given."""
    rows = _tests(request, project)
    return {
        "project": project.pk,
        "tests": [_in_short(each) for each in rows if not each.is_of_reference],
        "references": [_in_short(each) for each in rows if each.is_of_reference],
    }


@answers("projects_history_csv", CSV, Project, parameters=[ProjectHistoryQuery])
def history_of_project_csv(request, project: Project):
    """The same, a row per test, times in µs."""
    text = csv_of_histories(_tests(request, project))
    return text_file(f"history-of-project-{project.pk}.csv", text)
