"""The REST API's URLs below /api/v1/, one line per URL with its methods."""

from typing import Any

from django.urls import path, re_path

from campaigns.campaigns.api.campaigns import CampaignEstimate, CampaignViewSet, LadderList
from campaigns.campaigns.api.tables import (
    campaign_tables,
    campaign_tables_csv,
    run_tables,
    run_tables_csv,
)
from campaigns.compare.api import comparison, comparison_csv
from campaigns.history.api.baselines import (
    BaselineViewSet,
    TriageViewSet,
    triage_of_project,
    triage_of_project_csv,
)
from campaigns.history.api.history import (
    HistoryOfTest,
    MarkViewSet,
    history_of_project,
    history_of_project_csv,
    history_of_test_csv,
)
from campaigns.machines.api import (
    ExporterViewSet,
    MachineSecondViewSet,
    MinuteViewSet,
    machine_seconds_csv,
    machine_seconds_ndjson,
)
from campaigns.projects.api import (
    PlanVersionViewSet,
    PlanViewSet,
    ProjectViewSet,
    RequestsOfText,
    file_of_plan,
    injector_host_list,
    preset_list,
    use_of_project,
)
from campaigns.rest.schema import DocsView, NothingHere, SchemaView
from campaigns.runs.api import (
    RunsCsv,
    RunViewSet,
    SecondViewSet,
    ToolOutputViewSet,
    metric_list,
    run_failures,
    run_report_text,
    run_requests,
    run_requests_csv,
)
from campaigns.search.api import (
    SearchEstimate,
    SearchList,
    search_of_campaign,
    search_of_campaign_csv,
)
from campaigns.targets.api import OwnershipOfTarget, ProbeViewSet, TargetViewSet, TlsProfileViewSet

LIST = {"get": "list"}
LIST_AND_CREATE = {"get": "list", "post": "create"}
READ = {"get": "retrieve"}
READ_AND_DELETE = {"get": "retrieve", "delete": "destroy"}
READ_AND_EDIT = {"get": "retrieve", "patch": "partial_update"}
DELETE = {"delete": "destroy"}
READ_EDIT_DELETE = {**READ_AND_DELETE, "put": "update"}
ITEM = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
ITEM_AND_EDIT = {**ITEM, "put": "update"}


# What is done to a campaign, at an address of its own.
CAMPAIGN_ACTIONS = ("start", "try_again", "stop", "looked", "blocks", "repeat", "restore")


def _url(route: str, name: str, view: Any, actions: dict[str, str] | None = None):
    """`name` without its beginning, "api-". `actions` of a view set, by method."""
    if isinstance(view, type):
        view = view.as_view(actions) if actions else view.as_view()
    return path(route, view, name=f"api-{name}")


urlpatterns = [
    _url("projects/", "project-list", ProjectViewSet, LIST),
    _url("projects/<int:pk>/", "project", ProjectViewSet, ITEM),
    _url("projects/<int:pk>/restore/", "project-restore", ProjectViewSet, {"post": "restore"}),
    _url("projects/<int:pk>/use/", "project-use", use_of_project),
    _url("projects/<int:pk>/read-requests/", "project-read-requests", RequestsOfText),
    _url("projects/<int:pk>/history/", "project-history", history_of_project),
    _url("projects/<int:pk>/history.csv", "project-history-csv", history_of_project_csv),
    _url(
        "projects/<int:project>/baselines/", "project-baselines", BaselineViewSet, LIST_AND_CREATE
    ),
    _url("baselines/<int:pk>/", "baseline", BaselineViewSet, READ_AND_DELETE),
    _url("projects/<int:project>/marks/", "project-marks", MarkViewSet, LIST_AND_CREATE),
    _url("marks/<int:pk>/", "mark", MarkViewSet, READ_AND_DELETE),
    _url("tests/<int:pk>/history/", "test-history", HistoryOfTest),
    _url("tests/<int:pk>/history.csv", "test-history-csv", history_of_test_csv),
    _url("projects/<int:pk>/triage/", "project-triage", triage_of_project),
    _url("projects/<int:pk>/triage.csv", "project-triage-csv", triage_of_project_csv),
    _url("triage/<int:pk>/", "triage", TriageViewSet, READ_AND_EDIT),
    _url("targets/", "target-list", TargetViewSet, LIST_AND_CREATE),
    _url("targets/<int:pk>/", "target", TargetViewSet, ITEM_AND_EDIT),
    _url("targets/<int:pk>/ownership/", "target-ownership", OwnershipOfTarget),
    _url("targets/<int:target>/exporters/", "target-exporters", ExporterViewSet, LIST_AND_CREATE),
    _url(
        "projects/<int:project>/tls-profiles/",
        "project-tls-profiles",
        TlsProfileViewSet,
        LIST_AND_CREATE,
    ),
    _url("tls-profiles/<int:pk>/", "tls-profile", TlsProfileViewSet, READ_EDIT_DELETE),
    _url("exporters/<int:pk>/", "exporter", ExporterViewSet, READ_EDIT_DELETE),
    _url("targets/<int:pk>/restore/", "target-restore", TargetViewSet, {"post": "restore"}),
    _url("targets/<int:pk>/archive/", "target-archive", TargetViewSet, {"post": "archive"}),
    _url("plans/", "plan-list", PlanViewSet, LIST_AND_CREATE),
    _url("plans/<int:pk>/", "plan", PlanViewSet, ITEM_AND_EDIT),
    _url("plans/<int:pk>/restore/", "plan-restore", PlanViewSet, {"post": "restore"}),
    _url("plans/<int:pk>/archive/", "plan-archive", PlanViewSet, {"post": "archive"}),
    path("plans/<int:pk>/files/<slug:sha256>/", file_of_plan, name="api-plan-file"),
    _url("plans/<int:plan>/versions/", "version-list", PlanVersionViewSet, LIST),
    _url("plans/<int:plan>/versions/<int:number>/", "version", PlanVersionViewSet, READ),
    _url("campaigns/", "campaign-list", CampaignViewSet, LIST_AND_CREATE),
    _url("campaigns/estimate/", "campaign-estimate", CampaignEstimate),
    _url("campaigns/<int:pk>/", "campaign", CampaignViewSet, ITEM),
    *(
        _url(f"campaigns/<int:pk>/{name}/", f"campaign-{name}", CampaignViewSet, {"post": action})
        for action in CAMPAIGN_ACTIONS
        for name in [action.replace("_", "-")]
    ),
    _url("campaigns/<int:pk>/tables/", "campaign-tables", campaign_tables),
    _url("campaigns/<int:pk>/tables.csv", "campaign-csv", campaign_tables_csv),
    _url("campaigns/<int:pk>/wait/", "campaign-wait", CampaignViewSet, {"get": "wait"}),
    _url("ladders/", "ladder-list", LadderList),
    _url("searches/", "search-list", SearchList),
    _url("searches/estimate/", "search-estimate", SearchEstimate),
    _url("campaigns/<int:pk>/search/", "campaign-search", search_of_campaign),
    _url("campaigns/<int:pk>/search.csv", "campaign-search-csv", search_of_campaign_csv),
    _url("runs/", "run-list", RunViewSet, LIST),
    _url("runs.csv", "run-list-csv", RunsCsv, {"get": "file"}),
    _url("runs/<int:pk>/", "run", RunViewSet, READ),
    _url("runs/<int:pk>/stop/", "run-stop", RunViewSet, {"post": "stop"}),
    _url("runs/<int:pk>/seconds/", "run-seconds", SecondViewSet, LIST),
    _url("runs/<int:pk>/minutes/", "run-minutes", MinuteViewSet, LIST),
    _url("runs/<int:pk>/machine-seconds/", "run-machine-seconds", MachineSecondViewSet, LIST),
    _url("runs/<int:pk>/machine-seconds.csv", "run-machine-seconds-csv", machine_seconds_csv),
    _url(
        "runs/<int:pk>/machine-seconds.ndjson", "run-machine-seconds-ndjson", machine_seconds_ndjson
    ),
    _url("runs/<int:pk>/failures/", "run-failures", run_failures),
    _url("runs/<int:pk>/requests/", "run-requests", run_requests),
    _url("runs/<int:pk>/requests.csv", "run-requests-csv", run_requests_csv),
    _url("runs/<int:pk>/tables/", "run-tables", run_tables),
    _url("runs/<int:pk>/tables.csv", "run-csv", run_tables_csv),
    _url("runs/<int:pk>/report.txt", "run-report-text", run_report_text),
    _url("runs/<int:pk>/outputs/", "run-outputs", ToolOutputViewSet, LIST_AND_CREATE),
    _url("outputs/<int:pk>/", "output", ToolOutputViewSet, READ_AND_DELETE),
    _url("compare/", "comparison", comparison),
    _url("compare/tables.csv", "comparison-csv", comparison_csv),
    _url("probes/", "probe-list", ProbeViewSet, LIST_AND_CREATE),
    _url("probes/<int:pk>/", "probe", ProbeViewSet, READ),
    _url("injectors/", "injector-list", injector_host_list),
    _url("presets/", "preset-list", preset_list),
    _url("metrics/", "metric-list", metric_list),
    _url("schema/", "schema", SchemaView),
    _url("docs/", "docs", DocsView),
    re_path(r"", NothingHere.as_view(), name="api-nothing-here"),
]
