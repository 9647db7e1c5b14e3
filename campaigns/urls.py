"""Every page's path, grouped by noun. A view's name is its URL's name."""

from collections.abc import Callable

from django.http import HttpResponse
from django.urls import URLPattern, path

from campaigns.campaigns.views import campaign_new, campaigns
from campaigns.compare import views as comparisons
from campaigns.core import context
from campaigns.history.views import history, triage
from campaigns.items.views import items
from campaigns.live import views as live_pages
from campaigns.notifications import views as notifications
from campaigns.operations import views as operations
from campaigns.plans import views as plans
from campaigns.probes import views as measure
from campaigns.projects import views as projects
from campaigns.runs.views import runs
from campaigns.search.views import search_new
from campaigns.shares import views as shares
from campaigns.targets import views as targets

TARGET, PLAN = {"noun": "target"}, {"noun": "plan"}


def page(route: str, view: Callable[..., HttpResponse]) -> URLPattern:
    return path(route, view, name=view.__name__.replace("_", "-"))


def _item_urls(noun: str, list_path: str) -> list:
    """What campaigns, plans, targets and projects have in common."""
    kwargs = {"noun": noun}
    return [
        path(f"{noun}s/<int:{noun}>/rename/", items.item_rename, kwargs, name=f"{noun}-rename"),
        path(f"{list_path}bulk/", items.item_bulk, kwargs, name=f"{noun}-bulk"),
    ]


urlpatterns = [
    page("account/time-zone/", context.time_zone),
    page("account/notifications/", notifications.account_notifications),
    page("projects/<int:project>/notifications/", notifications.project_notifications),
    page("channels/<int:channel>/", notifications.channel_detail),
    page("channels/<int:channel>/action/", notifications.channel_action),
    page("", projects.project_list),
    page("projects/new/", projects.project_new),
    page("projects/<int:project>/", projects.project_detail),
    *_item_urls("project", "projects/"),
    page("projects/<int:project>/use/", projects.project_use),
    page("projects/<int:project>/stop/", operations.project_stop),
    page("projects/<int:project>/ci/", projects.project_ci),
    page("ci/benchsite.py", projects.ci_client_file),
    page("ci/gitlab.yml", projects.ci_gitlab_file),
    page("projects/<int:project>/campaigns/", campaigns.campaign_list),
    page("projects/<int:project>/campaigns/new/", campaign_new.campaign_new),
    page("projects/<int:project>/campaigns/estimate/", campaign_new.campaign_estimate),
    page("projects/<int:project>/ladders/new/", search_new.ladder_new),
    page("projects/<int:project>/ladders/estimate/", search_new.ladder_estimate),
    page("projects/<int:project>/searches/new/", search_new.search_new),
    page("projects/<int:project>/searches/estimate/", search_new.search_estimate),
    page("campaigns/<int:campaign>/", campaigns.campaign_detail),
    *_item_urls("campaign", "projects/<int:project>/campaigns/"),
    page("campaigns/<int:campaign>/start/", campaigns.campaign_start),
    page("campaigns/<int:campaign>/try-again/", campaigns.campaign_try_again),
    page("campaigns/<int:campaign>/stop/", campaigns.campaign_stop),
    page("campaigns/<int:campaign>/repeat/", campaigns.campaign_repeat),
    page("campaigns/<int:campaign>/blocks/", campaigns.campaign_blocks),
    page("campaigns/<int:campaign>/stream/", live_pages.campaign_stream),
    page("campaigns/<int:campaign>/tables.csv", campaigns.campaign_csv),
    page("projects/<int:project>/runs/", runs.run_list),
    page("projects/<int:project>/runs.csv", runs.run_list_csv),
    page("runs/<int:run>/", runs.run_detail),
    page("runs/<int:run>/stop/", runs.run_stop),
    page("runs/<int:run>/stream/", live_pages.run_stream),
    page("runs/<int:run>/tables.csv", runs.run_csv),
    page("runs/<int:run>/points.json", runs.run_points),
    page("runs/<int:run>/seconds.csv", runs.run_seconds_csv),
    page("runs/<int:run>/machine-seconds.csv", runs.run_machine_seconds_csv),
    page("runs/<int:run>/requests.csv", runs.run_requests_csv),
    page("runs/<int:run>/report.txt", runs.run_report_text),
    page("examples/<int:example>/", runs.example_reply),
    page("runs/<int:run>/outputs/", runs.output_new),
    page("outputs/<int:output>/", runs.output_text),
    page("outputs/<int:output>/delete/", runs.output_delete),
    page("compare/", comparisons.comparison),
    page("compare/tables.csv", comparisons.comparison_csv),
    page("projects/<int:project>/history/", history.history),
    page("projects/<int:project>/history.csv", history.history_csv),
    page("tests/<int:test>/history/", history.history_test),
    page("tests/<int:test>/history.csv", history.history_test_csv),
    page("projects/<int:project>/triage/", triage.triage_list),
    page("projects/<int:project>/triage.csv", triage.triage_csv),
    page("triage/<int:entry>/", triage.triage_edit),
    page("campaigns/<int:campaign>/baseline/", history.campaign_baseline),
    page("tests/<int:test>/baseline/", history.history_baseline),
    page("baselines/<int:baseline>/release/", history.baseline_release),
    page("projects/<int:project>/marks/", history.mark_list),
    page("marks/<int:mark>/delete/", history.mark_delete),
    page("projects/<int:project>/shares/", shares.share_list),
    page("campaigns/<int:campaign>/share/", shares.campaign_share),
    page("runs/<int:run>/share/", shares.run_share),
    page("shares/<int:share>/revoke/", shares.share_revoke),
    page("compare/share/", shares.comparison_share),
    page("s/<str:token>/", shares.share_view),
    page("s/<str:token>/stream/", live_pages.share_stream),
    page("s/<str:token>/tables.csv", shares.share_csv),
    page("s/<str:token>/badge.svg", shares.share_badge),
    page("tests/<int:test>/badge/", shares.test_badge),
    page("measure/", measure.measure),
    page("projects/<int:project>/measure/", measure.project_measure),
    page("targets/<int:target>/measure/", measure.target_measure),
    path("probes/<int:probe>/accept/", measure.certificate_accept, name="probe-accept"),
    page("projects/<int:project>/targets/", targets.target_list),
    page("projects/<int:project>/targets/new/", targets.target_new),
    page("targets/<int:target>/", targets.target_detail),
    page("targets/<int:target>/edit/", targets.target_edit),
    *_item_urls("target", "projects/<int:project>/targets/"),
    path("targets/<int:target>/archive/", items.item_archive, TARGET, name="target-archive"),
    page("targets/<int:target>/ownership/", projects.target_ownership),
    page("agent.py", projects.agent_file),
    page("targets/<int:target>/exporters/", targets.exporter_new),
    page("exporters/<int:exporter>/", targets.exporter_edit),
    page("exporters/<int:exporter>/check/", targets.exporter_check),
    page("exporters/<int:exporter>/remove/", targets.exporter_remove),
    page("projects/<int:project>/tls-profiles/", projects.tls_profile_list),
    page("projects/<int:project>/tls-profiles/new/", projects.tls_profile_new),
    page("tls-profiles/<int:profile>/", projects.tls_profile_edit),
    page("tls-profiles/<int:profile>/delete/", projects.tls_profile_delete),
    page("endpoints/<int:endpoint>/probe/", targets.probe_new),
    page("probes/<int:probe>/", targets.probe_detail),
    page("projects/<int:project>/plans/", plans.plan_list),
    page("projects/<int:project>/plans/new/", plans.plan_new),
    page("projects/<int:project>/plans/paste/", measure.plan_paste),
    page("projects/<int:project>/plans/preview/", plans.plan_preview),
    page("projects/<int:project>/plans/try/", plans.plan_try),
    page("plans/<int:plan>/", plans.plan_detail),
    page("plans/<int:plan>/edit/", plans.plan_edit),
    page("plans/<int:plan>/files/<slug:sha256>/", plans.plan_file),
    *_item_urls("plan", "projects/<int:project>/plans/"),
    path("plans/<int:plan>/archive/", items.item_archive, PLAN, name="plan-archive"),
    path("injectors/", operations.injector_host_list, name="injector-list"),
    path("load/", operations.load_page, name="load"),
    page("load/stop/", operations.load_stop),
    page("load/allow/", operations.load_allow),
    page("load/runs/<int:run>/stop/", operations.load_run_stop),
    path("audit/", operations.audit, name="audit-all"),
    path("audit.csv", operations.audit_csv, name="audit-all-csv"),
    page("projects/<int:project>/audit/", operations.audit),
    page("projects/<int:project>/audit.csv", operations.audit_csv),
    page("caps/", projects.caps),
    page("caps/<int:project>/", projects.caps_edit),
    page("storage/", operations.storage),
    page("ownership/", projects.ownership),
    page("ownership/<int:claim>/", projects.ownership_decide),
    page("glossary/", context.glossary),
    page("healthz", operations.healthz),
    page("readyz", operations.readyz),
    page("metrics", operations.metrics),
]
