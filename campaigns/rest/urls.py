"""The REST API's URLs below /api/v1/, one line per URL with its methods."""

from typing import Any

from django.urls import path

from campaigns.campaigns.api import campaigns, tables
from campaigns.compare.api import comparison, comparison_csv
from campaigns.history.api import baselines, history
from campaigns.machines import api as machines
from campaigns.projects import api as projects
from campaigns.rest.schema import DocsView, SchemaView
from campaigns.runs import api as runs
from campaigns.search import api as search
from campaigns.targets import api as targets

LIST = {"get": "list"}
LIST_AND_CREATE = {"get": "list", "post": "create"}
READ = {"get": "retrieve"}
READ_AND_DELETE = {"get": "retrieve", "delete": "destroy"}
READ_AND_EDIT = {"get": "retrieve", "patch": "partial_update"}
READ_EDIT_DELETE = {**READ_AND_DELETE, "put": "update"}
ITEM = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
ITEM_AND_EDIT = {**ITEM, "put": "update"}
RESTORE, ARCHIVE = {"post": "restore"}, {"post": "archive"}


# What is done to a campaign, at an address of its own.
CAMPAIGN_ACTIONS = ("start", "try_again", "stop", "looked", "blocks", "repeat", "restore")


def _url(route: str, name: str, view: Any, actions: dict[str, str] | None = None):
    """`name` without its beginning, "api-". `actions` of a view set, by method."""
    if isinstance(view, type):
        view = view.as_view(actions) if actions else view.as_view()
    return path(route, view, name=f"api-{name}")


urlpatterns = [
    _url("projects/", "project-list", projects.ProjectViewSet, LIST),
    _url("projects/<int:pk>/", "project", projects.ProjectViewSet, ITEM),
    _url("projects/<int:pk>/restore/", "project-restore", projects.ProjectViewSet, RESTORE),
    _url("projects/<int:pk>/use/", "project-use", projects.use_of_project),
    _url("projects/<int:pk>/read-requests/", "project-read-requests", projects.RequestsOfText),
    _url("projects/<int:pk>/history/", "project-history", history.history_of_project),
    _url("projects/<int:pk>/history.csv", "project-history-csv", history.history_of_project_csv),
    _url(
        "projects/<int:project>/baselines/",
        "project-baselines",
        baselines.BaselineViewSet,
        LIST_AND_CREATE,
    ),
    _url("baselines/<int:pk>/", "baseline", baselines.BaselineViewSet, READ_AND_DELETE),
    _url("projects/<int:project>/marks/", "project-marks", history.MarkViewSet, LIST_AND_CREATE),
    _url("marks/<int:pk>/", "mark", history.MarkViewSet, READ_AND_DELETE),
    _url("tests/<int:pk>/history/", "test-history", history.HistoryOfTest),
    _url("tests/<int:pk>/history.csv", "test-history-csv", history.history_of_test_csv),
    _url("projects/<int:pk>/triage/", "project-triage", baselines.triage_of_project),
    _url("projects/<int:pk>/triage.csv", "project-triage-csv", baselines.triage_of_project_csv),
    _url("triage/<int:pk>/", "triage", baselines.TriageViewSet, READ_AND_EDIT),
    _url("targets/", "target-list", targets.TargetViewSet, LIST_AND_CREATE),
    _url("targets/<int:pk>/", "target", targets.TargetViewSet, ITEM_AND_EDIT),
    _url("targets/<int:pk>/ownership/", "target-ownership", targets.OwnershipOfTarget),
    _url(
        "targets/<int:target>/exporters/",
        "target-exporters",
        machines.ExporterViewSet,
        LIST_AND_CREATE,
    ),
    _url(
        "projects/<int:project>/tls-profiles/",
        "project-tls-profiles",
        targets.TlsProfileViewSet,
        LIST_AND_CREATE,
    ),
    _url("tls-profiles/<int:pk>/", "tls-profile", targets.TlsProfileViewSet, READ_EDIT_DELETE),
    _url("exporters/<int:pk>/", "exporter", machines.ExporterViewSet, READ_EDIT_DELETE),
    _url("targets/<int:pk>/restore/", "target-restore", targets.TargetViewSet, RESTORE),
    _url("targets/<int:pk>/archive/", "target-archive", targets.TargetViewSet, ARCHIVE),
    _url("plans/", "plan-list", projects.PlanViewSet, LIST_AND_CREATE),
    _url("plans/<int:pk>/", "plan", projects.PlanViewSet, ITEM_AND_EDIT),
    _url("plans/<int:pk>/restore/", "plan-restore", projects.PlanViewSet, RESTORE),
    _url("plans/<int:pk>/archive/", "plan-archive", projects.PlanViewSet, ARCHIVE),
    path("plans/<int:pk>/files/<slug:sha256>/", projects.file_of_plan, name="api-plan-file"),
    _url("plans/<int:plan>/versions/", "version-list", projects.PlanVersionViewSet, LIST),
    _url("plans/<int:plan>/versions/<int:number>/", "version", projects.PlanVersionViewSet, READ),
    _url("campaigns/", "campaign-list", campaigns.CampaignViewSet, LIST_AND_CREATE),
    _url("campaigns/estimate/", "campaign-estimate", campaigns.CampaignEstimate),
    _url("campaigns/<int:pk>/", "campaign", campaigns.CampaignViewSet, ITEM),
    *(
        _url(
            f"campaigns/<int:pk>/{name}/",
            f"campaign-{name}",
            campaigns.CampaignViewSet,
            {"post": action},
        )
        for action in CAMPAIGN_ACTIONS
        for name in [action.replace("_", "-")]
    ),
    _url("campaigns/<int:pk>/tables/", "campaign-tables", tables.campaign_tables),
    _url("campaigns/<int:pk>/tables.csv", "campaign-csv", tables.campaign_tables_csv),
    _url("campaigns/<int:pk>/wait/", "campaign-wait", campaigns.CampaignViewSet, {"get": "wait"}),
    _url("ladders/", "ladder-list", campaigns.LadderList),
    _url("searches/", "search-list", search.SearchList),
    _url("searches/estimate/", "search-estimate", search.SearchEstimate),
    _url("campaigns/<int:pk>/search/", "campaign-search", search.search_of_campaign),
    _url("campaigns/<int:pk>/search.csv", "campaign-search-csv", search.search_of_campaign_csv),
    _url("runs/", "run-list", runs.RunViewSet, LIST),
    _url("runs.csv", "run-list-csv", runs.RunsCsv, {"get": "file"}),
    _url("runs/<int:pk>/", "run", runs.RunViewSet, READ),
    _url("runs/<int:pk>/stop/", "run-stop", runs.RunViewSet, {"post": "stop"}),
    _url("runs/<int:pk>/seconds/", "run-seconds", runs.SecondViewSet, LIST),
    _url("runs/<int:pk>/minutes/", "run-minutes", machines.MinuteViewSet, LIST),
    _url(
        "runs/<int:pk>/machine-seconds/", "run-machine-seconds", machines.MachineSecondViewSet, LIST
    ),
    _url(
        "runs/<int:pk>/machine-seconds.csv", "run-machine-seconds-csv", machines.machine_seconds_csv
    ),
    _url(
        "runs/<int:pk>/machine-seconds.ndjson",
        "run-machine-seconds-ndjson",
        machines.machine_seconds_ndjson,
    ),
    _url("runs/<int:pk>/failures/", "run-failures", runs.run_failures),
    _url("runs/<int:pk>/requests/", "run-requests", runs.run_requests),
    _url("runs/<int:pk>/requests.csv", "run-requests-csv", runs.run_requests_csv),
    _url("runs/<int:pk>/tables/", "run-tables", tables.run_tables),
    _url("runs/<int:pk>/tables.csv", "run-csv", tables.run_tables_csv),
    _url("runs/<int:pk>/report.txt", "run-report-text", runs.run_report_text),
    _url("runs/<int:pk>/outputs/", "run-outputs", runs.ToolOutputViewSet, LIST_AND_CREATE),
    _url("outputs/<int:pk>/", "output", runs.ToolOutputViewSet, READ_AND_DELETE),
    _url("compare/", "comparison", comparison),
    _url("compare/tables.csv", "comparison-csv", comparison_csv),
    _url("probes/", "probe-list", targets.ProbeViewSet, LIST_AND_CREATE),
    _url("probes/<int:pk>/", "probe", targets.ProbeViewSet, READ),
    _url("injectors/", "injector-list", projects.injector_host_list),
    _url("presets/", "preset-list", projects.preset_list),
    _url("metrics/", "metric-list", runs.metric_list),
    _url("schema/", "schema", SchemaView),
    _url("docs/", "docs", DocsView),
]
