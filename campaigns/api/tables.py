"""The tables of a campaign and of a run: the figures of the pages, as JSON and as CSV."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import find
from campaigns.api.fields import ID
from campaigns.api.parsers import CSV, AnyAccept
from campaigns.api.table_serializers import (
    CampaignTablesSerializer,
    OverheadTableSerializer,
    RemedySerializer,
    RunTablesSerializer,
    ShownAnswerSerializer,
)
from campaigns.domain.errors import InvalidFields
from campaigns.domain.shown.ladder import LADDER_METRICS, MEAN
from campaigns.domain.shown.results import Answer, RunReport, TestAnswer
from campaigns.domain.shown.sentences import plain_text
from campaigns.exports.files import (
    campaign_tables_file,
    run_tables_file,
    text_stream,
    unless_known,
    wants_blocks,
)
from campaigns.exports.runs import csv_of_campaign
from campaigns.live.memory import answer_of, final_key, report_of
from campaigns.live.waiting import without_connection
from campaigns.models import Campaign, Run
from campaigns.queries.arm_pairs import chosen_tests
from campaigns.queries.baselines import campaign_against
from campaigns.queries.machine_runs import machine_tables, target_side
from campaigns.queries.references import reference_sentence
from campaigns.queries.target_matrix import relative_column

_CHOICE = [
    OpenApiParameter("compare", ID, description="A test: the candidate of the only comparison."),
    OpenApiParameter("with", ID, description="The test it is compared with: the baseline."),
    OpenApiParameter(
        "metric",
        str,
        enum=LADDER_METRICS,
        description="What the rungs of a ladder are compared by. Default: mean.",
    ),
    OpenApiParameter(
        "relative",
        {"type": "integer", "minimum": 1, "maximum": 999},
        description="The column of a matrix, or the arm of a sweep, that differences are of. "
        "Default: 1.",
    ),
]
_KNOWN = ("compare", "with", "metric", "relative", "format")


class CampaignTables(APIView):
    @extend_schema(
        parameters=_CHOICE, responses=CampaignTablesSerializer, operation_id="campaigns_tables"
    )
    def get(self, request, pk):
        """The answer so far; complete when the campaign is done."""
        campaign = find(Campaign, request, pk=pk)
        return Response(_campaign_json(campaign, _answer(request, campaign)))


class RunTables(APIView):
    @extend_schema(responses=RunTablesSerializer, operation_id="runs_tables")
    def get(self, request, pk):
        """All steps together and each one, response time parts, errors by kind, injector vitals."""
        run = find(Run, request, pk=pk)
        return Response(_run_json(run, report_of(run)))


_FORMAT = OpenApiParameter(
    "format", str, enum=["runs", "blocks"], description="Default: runs. blocks: the page's tables."
)


class CampaignTablesCsv(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(parameters=[_FORMAT, *_CHOICE], responses=CSV, operation_id="campaigns_csv")
    def get(self, request, pk):
        """One row per run, times in µs; with format=blocks all tables, one after another."""
        campaign = find(Campaign, request, pk=pk)
        # Refused also where they choose nothing.
        chosen_tests(campaign, request.query_params)
        _check_words(request.query_params)
        if not wants_blocks(request.query_params):
            runs = without_connection(csv_of_campaign(campaign))
            name = f"campaign-{campaign.pk}.csv"
            return unless_known(request, final_key(campaign), lambda: text_stream(name, runs))
        return campaign_tables_file(campaign, _answer(request, campaign))


class RunTablesCsv(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(responses=CSV, operation_id="runs_csv")
    def get(self, request, pk):
        """All tables, one after another, each with a title and units in its header."""
        run = find(Run, request, pk=pk)
        return run_tables_file(run, report_of(run))


def _answer(request, campaign: Campaign) -> Answer:
    chosen = chosen_tests(campaign, request.query_params)
    asked = request.query_params
    _check_words(asked)
    answer = answer_of(campaign, chosen, relative_column(asked), asked.get("metric", MEAN))
    n_columns = _n_columns(answer)
    if 1 < n_columns < relative_column(asked):
        raise InvalidFields({"relative": f"Write the number of a column, from 1 to {n_columns}."})
    return answer


def _check_words(asked: Mapping[str, str]) -> None:
    """Unlike a page, which may come from an old link, a program is told what it misspelt."""
    known = ", ".join(_KNOWN)
    faults = {name: f"Unknown parameter. Known: {known}." for name in asked if name not in _KNOWN}
    if asked.get("metric", MEAN) not in LADDER_METRICS:
        faults["metric"] = f"Choose one of: {', '.join(LADDER_METRICS)}."
    if asked.get("relative", "1") != str(relative_column(asked)):
        faults["relative"] = "Write the number of a column, from 1."
    if faults:
        raise InvalidFields(faults)


def _n_columns(answer: Answer) -> int:
    """The columns of the matrix, or the arms of the sweep that has most of them."""
    if answer.matrix:
        return len(answer.matrix.columns)
    arms = Counter((each.plan_label, each.field) for each in answer.sweeps)
    return max(arms.values(), default=0)


def _campaign_json(campaign: Campaign, answer: Answer) -> dict[str, Any]:
    of_target = target_side(campaign, answer)
    machine_means, machine_runs = of_target.machine_means, of_target.machine_runs
    return {
        "campaign": campaign.pk,
        "sentence": plain_text(answer.sentence),
        "against": plain_text(campaign_against(campaign)),
        "grounds": answer.grounds,
        **_first_lines(answer),
        "threshold_state": answer.threshold_state,
        "n_done": answer.n_done,
        "n_runs": answer.n_runs,
        "has_word": answer.has_word,
        "reference": reference_sentence(campaign),
        "tests": [_test_json(test) for test in answer.tests],
        "references": [_test_json(test) for test in answer.references],
        "overheads": OverheadTableSerializer(answer.overheads, many=True).data,
        "exchanges": [table.to_json() for table in answer.exchanges],
        "matrix": answer.matrix.table.to_json() if answer.matrix else None,
        "network": _network_json(answer),
        "ladder": [table.to_json() for table in answer.ladder.tables] if answer.ladder else [],
        "sweeps": [sweep.table.to_json() for sweep in answer.sweeps],
        "cpu": [table.to_json() for table in of_target.cpu],
        "bytes": [table.to_json() for table in of_target.network],
        "counters": [table.to_json() for table in of_target.counters],
        "machine_means": machine_means.to_json() if machine_means else None,
        "machine_runs": machine_runs.to_json() if machine_runs else None,
    }


def _network_json(answer: Answer) -> dict[str, Any] | None:
    table = answer.matrix and answer.matrix.network_table
    return table.to_json() if table else None


def _test_json(test: TestAnswer) -> dict[str, Any]:
    return {
        "test": test.test_id,
        "label": test.label,
        "scheme": test.scheme,
        "connection_mode": test.connection_mode,
        "plan": test.plan_label,
        "measurement": test.trust,
        "target_state": test.target_state,
        "threshold_state": test.threshold_state,
        "table": test.table.to_json(),
    }


def _first_lines(told: Answer | RunReport) -> dict[str, Any]:
    return {
        "answers": ShownAnswerSerializer(told.answers, many=True).data,
        "remedies": RemedySerializer(told.remedies, many=True).data,
    }


def _run_json(run: Run, report: RunReport) -> dict[str, Any]:
    return {
        "run": run.pk,
        "sentence": plain_text(report.sentence),
        "grounds": report.grounds,
        **_first_lines(report),
        "judgement": report.judged and report.judged.to_json(),
        "threshold_state": run.threshold_state or "",
        "tables": [table.to_json() for table in (*report.tables, *machine_tables(run))],
    }
