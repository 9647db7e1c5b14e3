"""The REST API's URLs below /api/v1/, one line per URL with its methods."""

from django.urls import path, re_path

from campaigns.api.baselines import BaselineViewSet
from campaigns.api.campaigns import CampaignViewSet, LadderList
from campaigns.api.comparisons import ComparisonCsv, ComparisonView
from campaigns.api.estimates import CampaignEstimate
from campaigns.api.exporters import ExporterViewSet
from campaigns.api.history import (
    HistoryOfProject,
    HistoryOfProjectCsv,
    HistoryOfTest,
    HistoryOfTestCsv,
    MarkViewSet,
)
from campaigns.api.machine_seconds import (
    AgentSeconds,
    MachineSecondsCsv,
    MachineSecondsNdjson,
    MachineSecondViewSet,
    MinuteViewSet,
)
from campaigns.api.plans import PlanVersionViewSet, PlanViewSet, PresetList
from campaigns.api.projects import InjectorHostList, ProjectViewSet, UseOfProject
from campaigns.api.runs import (
    MetricList,
    RunFailures,
    RunReportText,
    RunsCsv,
    RunViewSet,
    SecondViewSet,
    ToolOutputViewSet,
)
from campaigns.api.schema import DocsView, NothingHere, SchemaView
from campaigns.api.searches import SearchEstimate, SearchList, SearchOfCampaign, SearchOfCampaignCsv
from campaigns.api.tables import CampaignTables, CampaignTablesCsv, RunTables, RunTablesCsv
from campaigns.api.targets import OwnershipOfTarget, ProbeViewSet, TargetViewSet
from campaigns.api.tls_profiles import TlsProfileViewSet
from campaigns.api.triage import TriageOfProject, TriageOfProjectCsv, TriageOne

LIST = {"get": "list"}
LIST_AND_CREATE = {"get": "list", "post": "create"}
READ = {"get": "retrieve"}
READ_AND_DELETE = {"get": "retrieve", "delete": "destroy"}
DELETE = {"delete": "destroy"}
READ_EDIT_DELETE = {**READ_AND_DELETE, "put": "update"}
ITEM = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
ITEM_AND_EDIT = {**ITEM, "put": "update"}


def _post(view, action: str):
    return view.as_view({"post": action})


urlpatterns = [
    path("projects/", ProjectViewSet.as_view(LIST), name="api-project-list"),
    path("projects/<int:pk>/", ProjectViewSet.as_view(ITEM), name="api-project"),
    path("projects/<int:pk>/use/", UseOfProject.as_view(), name="api-project-use"),
    path("projects/<int:pk>/history/", HistoryOfProject.as_view(), name="api-project-history"),
    path(
        "projects/<int:pk>/history.csv",
        HistoryOfProjectCsv.as_view(),
        name="api-project-history-csv",
    ),
    path(
        "projects/<int:project>/baselines/",
        BaselineViewSet.as_view(LIST_AND_CREATE),
        name="api-project-baselines",
    ),
    path("baselines/<int:pk>/", BaselineViewSet.as_view(READ_AND_DELETE), name="api-baseline"),
    path(
        "projects/<int:project>/marks/",
        MarkViewSet.as_view(LIST_AND_CREATE),
        name="api-project-marks",
    ),
    path("marks/<int:pk>/", MarkViewSet.as_view(READ_AND_DELETE), name="api-mark"),
    path("tests/<int:pk>/history/", HistoryOfTest.as_view(), name="api-test-history"),
    path("tests/<int:pk>/history.csv", HistoryOfTestCsv.as_view(), name="api-test-history-csv"),
    path("projects/<int:pk>/triage/", TriageOfProject.as_view(), name="api-project-triage"),
    path(
        "projects/<int:pk>/triage.csv", TriageOfProjectCsv.as_view(), name="api-project-triage-csv"
    ),
    path("triage/<int:pk>/", TriageOne.as_view(), name="api-triage"),
    path("targets/", TargetViewSet.as_view(LIST_AND_CREATE), name="api-target-list"),
    path("targets/<int:pk>/", TargetViewSet.as_view(ITEM_AND_EDIT), name="api-target"),
    path("targets/<int:pk>/ownership/", OwnershipOfTarget.as_view(), name="api-target-ownership"),
    path(
        "targets/<int:target>/exporters/",
        ExporterViewSet.as_view(LIST_AND_CREATE),
        name="api-target-exporters",
    ),
    path(
        "projects/<int:project>/tls-profiles/",
        TlsProfileViewSet.as_view(LIST_AND_CREATE),
        name="api-project-tls-profiles",
    ),
    path(
        "tls-profiles/<int:pk>/",
        TlsProfileViewSet.as_view(READ_EDIT_DELETE),
        name="api-tls-profile",
    ),
    path("exporters/<int:pk>/", ExporterViewSet.as_view(READ_EDIT_DELETE), name="api-exporter"),
    path("targets/<int:pk>/archive/", _post(TargetViewSet, "archive"), name="api-target-archive"),
    path("plans/", PlanViewSet.as_view(LIST_AND_CREATE), name="api-plan-list"),
    path("plans/<int:pk>/", PlanViewSet.as_view(ITEM_AND_EDIT), name="api-plan"),
    path("plans/<int:pk>/archive/", _post(PlanViewSet, "archive"), name="api-plan-archive"),
    path("plans/<int:plan>/versions/", PlanVersionViewSet.as_view(LIST), name="api-version-list"),
    path(
        "plans/<int:plan>/versions/<int:number>/",
        PlanVersionViewSet.as_view(READ),
        name="api-version",
    ),
    path("campaigns/", CampaignViewSet.as_view(LIST_AND_CREATE), name="api-campaign-list"),
    path("campaigns/estimate/", CampaignEstimate.as_view(), name="api-campaign-estimate"),
    path("campaigns/<int:pk>/", CampaignViewSet.as_view(ITEM), name="api-campaign"),
    path("campaigns/<int:pk>/start/", _post(CampaignViewSet, "start"), name="api-campaign-start"),
    path(
        "campaigns/<int:pk>/try-again/",
        _post(CampaignViewSet, "try_again"),
        name="api-campaign-try-again",
    ),
    path("campaigns/<int:pk>/stop/", _post(CampaignViewSet, "stop"), name="api-campaign-stop"),
    path(
        "campaigns/<int:pk>/looked/", _post(CampaignViewSet, "looked"), name="api-campaign-looked"
    ),
    path(
        "campaigns/<int:pk>/blocks/", _post(CampaignViewSet, "blocks"), name="api-campaign-blocks"
    ),
    path(
        "campaigns/<int:pk>/repeat/", _post(CampaignViewSet, "repeat"), name="api-campaign-repeat"
    ),
    path("campaigns/<int:pk>/tables/", CampaignTables.as_view(), name="api-campaign-tables"),
    path("campaigns/<int:pk>/tables.csv", CampaignTablesCsv.as_view(), name="api-campaign-csv"),
    path("ladders/", LadderList.as_view(), name="api-ladder-list"),
    path("searches/", SearchList.as_view(), name="api-search-list"),
    path("searches/estimate/", SearchEstimate.as_view(), name="api-search-estimate"),
    path("campaigns/<int:pk>/search/", SearchOfCampaign.as_view(), name="api-campaign-search"),
    path(
        "campaigns/<int:pk>/search.csv",
        SearchOfCampaignCsv.as_view(),
        name="api-campaign-search-csv",
    ),
    path("runs/", RunViewSet.as_view(LIST), name="api-run-list"),
    path("runs.csv", RunsCsv.as_view({"get": "file"}), name="api-run-list-csv"),
    path("runs/<int:pk>/", RunViewSet.as_view(READ), name="api-run"),
    path("runs/<int:pk>/stop/", _post(RunViewSet, "stop"), name="api-run-stop"),
    path("runs/<int:pk>/seconds/", SecondViewSet.as_view(LIST), name="api-run-seconds"),
    path("runs/<int:pk>/minutes/", MinuteViewSet.as_view(LIST), name="api-run-minutes"),
    path(
        "runs/<int:pk>/machine-seconds/",
        MachineSecondViewSet.as_view(LIST),
        name="api-run-machine-seconds",
    ),
    path(
        "runs/<int:pk>/machine-seconds.csv",
        MachineSecondsCsv.as_view(),
        name="api-run-machine-seconds-csv",
    ),
    path(
        "runs/<int:pk>/machine-seconds.ndjson",
        MachineSecondsNdjson.as_view(),
        name="api-run-machine-seconds-ndjson",
    ),
    path("runs/<int:pk>/failures/", RunFailures.as_view(), name="api-run-failures"),
    path("runs/<int:pk>/tables/", RunTables.as_view(), name="api-run-tables"),
    path("runs/<int:pk>/tables.csv", RunTablesCsv.as_view(), name="api-run-csv"),
    path("runs/<int:pk>/report.txt", RunReportText.as_view(), name="api-run-report-text"),
    path(
        "runs/<int:pk>/outputs/", ToolOutputViewSet.as_view(LIST_AND_CREATE), name="api-run-outputs"
    ),
    path("outputs/<int:pk>/", ToolOutputViewSet.as_view(READ_AND_DELETE), name="api-output"),
    path("compare/", ComparisonView.as_view(), name="api-comparison"),
    path("compare/tables.csv", ComparisonCsv.as_view(), name="api-comparison-csv"),
    path("probes/", ProbeViewSet.as_view(LIST_AND_CREATE), name="api-probe-list"),
    path("probes/<int:pk>/", ProbeViewSet.as_view(READ), name="api-probe"),
    path("agents/seconds/", AgentSeconds.as_view(), name="api-agent-seconds"),
    path("injectors/", InjectorHostList.as_view(), name="api-injector-list"),
    path("presets/", PresetList.as_view(), name="api-preset-list"),
    path("metrics/", MetricList.as_view(), name="api-metric-list"),
    path("schema/", SchemaView.as_view(), name="api-schema"),
    path("docs/", DocsView.as_view(), name="api-docs"),
    re_path(r"", NothingHere.as_view(), name="api-nothing-here"),
]
