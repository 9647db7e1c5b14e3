"""Every page's path, grouped by noun. A view's name is its URL's name."""

from django.urls import path

from campaigns.views import (
    accounts,
    audit,
    campaign_new,
    campaigns,
    comparisons,
    context,
    health,
    history,
    items,
    live_pages,
    measure,
    plans,
    projects,
    runs,
    search_new,
    shares,
    targets,
    triage,
)

TARGET, PLAN = {"noun": "target"}, {"noun": "plan"}


def _item_urls(noun: str, list_path: str) -> list:
    """What campaigns, plans, targets and projects have in common."""
    named = {"noun": noun}
    return [
        path(f"{noun}s/<int:{noun}>/rename/", items.item_rename, named, name=f"{noun}-rename"),
        path(f"{list_path}bulk/", items.item_bulk, named, name=f"{noun}-bulk"),
    ]


health_urls = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
]

audit_urls = [
    path("audit/", audit.audit_all, name="audit-all"),
    path("audit.csv", audit.audit_all_csv, name="audit-all-csv"),
    path("projects/<int:project>/audit/", audit.audit, name="audit"),
    path("projects/<int:project>/audit.csv", audit.audit_csv, name="audit-csv"),
]

account_urls = [
    path("login/", accounts.login, name="login"),
    path("logout/", accounts.logout, name="logout"),
    path("account/password/", accounts.password_change, name="password-change"),
    path("account/tokens/", accounts.token_list, name="token-list"),
    path("account/tokens/<int:token>/revoke/", accounts.token_revoke, name="token-revoke"),
]

project_urls = [
    path("", projects.project_list, name="project-list"),
    path("projects/new/", projects.project_new, name="project-new"),
    path("projects/<int:project>/", projects.project_detail, name="project-detail"),
    *_item_urls("project", "projects/"),
    path("projects/<int:project>/members/", projects.project_members, name="project-members"),
    path("projects/<int:project>/use/", projects.project_use, name="project-use"),
    path("projects/<int:project>/stop/", health.project_stop, name="project-stop"),
    path(
        "memberships/<int:membership>/role/",
        projects.membership_role,
        name="membership-role",
    ),
    path(
        "memberships/<int:membership>/remove/",
        projects.membership_remove,
        name="membership-remove",
    ),
]

measure_urls = [
    path("measure/", measure.measure, name="measure"),
    path("projects/<int:project>/measure/", measure.project_measure, name="project-measure"),
    path("targets/<int:target>/measure/", measure.target_measure, name="target-measure"),
    path("probes/<int:probe>/accept/", measure.certificate_accept, name="probe-accept"),
]

target_urls = [
    path("projects/<int:project>/targets/", targets.target_list, name="target-list"),
    path("projects/<int:project>/targets/new/", targets.target_new, name="target-new"),
    path("targets/<int:target>/", targets.target_detail, name="target-detail"),
    path("targets/<int:target>/edit/", targets.target_edit, name="target-edit"),
    *_item_urls("target", "projects/<int:project>/targets/"),
    path("targets/<int:target>/archive/", items.item_archive, TARGET, name="target-archive"),
    path("targets/<int:target>/ownership/", projects.target_ownership, name="target-ownership"),
    path("targets/<int:target>/agents/", targets.agent_new, name="agent-new"),
    path("agents/<int:agent>/revoke/", targets.agent_revoke, name="agent-revoke"),
    path("agent.pyz", targets.agent_file, name="agent-file"),
    path("targets/<int:target>/exporters/", targets.exporter_new, name="exporter-new"),
    path("exporters/<int:exporter>/", targets.exporter_edit, name="exporter-edit"),
    path("exporters/<int:exporter>/check/", targets.exporter_check, name="exporter-check"),
    path("exporters/<int:exporter>/remove/", targets.exporter_remove, name="exporter-remove"),
    path(
        "projects/<int:project>/tls-profiles/",
        projects.tls_profile_list,
        name="tls-profile-list",
    ),
    path(
        "projects/<int:project>/tls-profiles/new/",
        projects.tls_profile_new,
        name="tls-profile-new",
    ),
    path("tls-profiles/<int:profile>/", projects.tls_profile_edit, name="tls-profile-edit"),
    path(
        "tls-profiles/<int:profile>/delete/",
        projects.tls_profile_delete,
        name="tls-profile-delete",
    ),
    path("endpoints/<int:endpoint>/probe/", targets.probe_new, name="probe-new"),
    path("probes/<int:probe>/", targets.probe_detail, name="probe-detail"),
]

plan_urls = [
    path("projects/<int:project>/plans/", plans.plan_list, name="plan-list"),
    path("projects/<int:project>/plans/new/", plans.plan_new, name="plan-new"),
    path("projects/<int:project>/plans/preview/", plans.plan_preview, name="plan-preview"),
    path("plans/<int:plan>/", plans.plan_detail, name="plan-detail"),
    path("plans/<int:plan>/edit/", plans.plan_edit, name="plan-edit"),
    *_item_urls("plan", "projects/<int:project>/plans/"),
    path("plans/<int:plan>/archive/", items.item_archive, PLAN, name="plan-archive"),
]

glossary_urls = [
    path("glossary/", context.glossary, name="glossary"),
]

injector_urls = [
    path("injectors/", health.injector_host_list, name="injector-list"),
]

load_urls = [
    path("load/", health.load_page, name="load"),
    path("load/stop/", health.load_stop, name="load-stop"),
    path("load/allow/", health.load_allow, name="load-allow"),
    path("load/runs/<int:run>/stop/", health.load_run_stop, name="load-run-stop"),
]

caps_urls = [
    path("caps/", projects.caps, name="caps"),
    path("caps/<int:project>/", projects.caps_edit, name="caps-edit"),
    path("storage/", health.storage, name="storage"),
    path("ownership/", projects.ownership, name="ownership"),
    path("ownership/<int:claim>/", projects.ownership_decide, name="ownership-decide"),
]

campaign_urls = [
    path("projects/<int:project>/campaigns/", campaigns.campaign_list, name="campaign-list"),
    path("projects/<int:project>/campaigns/new/", campaign_new.campaign_new, name="campaign-new"),
    path(
        "projects/<int:project>/campaigns/estimate/",
        campaign_new.campaign_estimate,
        name="campaign-estimate",
    ),
    path("projects/<int:project>/ladders/new/", search_new.ladder_new, name="ladder-new"),
    path(
        "projects/<int:project>/ladders/estimate/",
        search_new.ladder_estimate,
        name="ladder-estimate",
    ),
    path("projects/<int:project>/searches/new/", search_new.search_new, name="search-new"),
    path(
        "projects/<int:project>/searches/estimate/",
        search_new.search_estimate,
        name="search-estimate",
    ),
    path("campaigns/<int:campaign>/", campaigns.campaign_detail, name="campaign-detail"),
    *_item_urls("campaign", "projects/<int:project>/campaigns/"),
    path("campaigns/<int:campaign>/start/", campaigns.campaign_start, name="campaign-start"),
    path(
        "campaigns/<int:campaign>/try-again/",
        campaigns.campaign_try_again,
        name="campaign-try-again",
    ),
    path("campaigns/<int:campaign>/stop/", campaigns.campaign_stop, name="campaign-stop"),
    path("campaigns/<int:campaign>/repeat/", campaigns.campaign_repeat, name="campaign-repeat"),
    path("campaigns/<int:campaign>/blocks/", campaigns.campaign_blocks, name="campaign-blocks"),
    path("campaigns/<int:campaign>/stream/", live_pages.campaign_stream, name="campaign-stream"),
    path("campaigns/<int:campaign>/tables.csv", campaigns.campaign_csv, name="campaign-csv"),
]

run_urls = [
    path("projects/<int:project>/runs/", runs.run_list, name="run-list"),
    path("projects/<int:project>/runs.csv", runs.run_list_csv, name="run-list-csv"),
    path("runs/<int:run>/", runs.run_detail, name="run-detail"),
    path("runs/<int:run>/stop/", runs.run_stop, name="run-stop"),
    path("runs/<int:run>/stream/", live_pages.run_stream, name="run-stream"),
    path("runs/<int:run>/tables.csv", runs.run_csv, name="run-csv"),
    path("runs/<int:run>/points.json", runs.run_points, name="run-points"),
    path("runs/<int:run>/seconds.csv", runs.run_seconds_csv, name="run-seconds-csv"),
    path(
        "runs/<int:run>/machine-seconds.csv",
        runs.run_machine_seconds_csv,
        name="run-machine-seconds-csv",
    ),
    path("runs/<int:run>/report.txt", runs.run_report_text, name="run-report-text"),
    path("runs/<int:run>/outputs/", runs.output_new, name="output-new"),
    path("outputs/<int:output>/", runs.output_text, name="output-text"),
    path("outputs/<int:output>/delete/", runs.output_delete, name="output-delete"),
    path("compare/", comparisons.comparison, name="comparison"),
    path("compare/tables.csv", comparisons.comparison_csv, name="comparison-csv"),
]

history_urls = [
    path("projects/<int:project>/history/", history.history, name="history"),
    path("projects/<int:project>/history.csv", history.history_csv, name="history-csv"),
    path("tests/<int:test>/history/", history.history_test, name="history-test"),
    path("tests/<int:test>/history.csv", history.history_test_csv, name="history-test-csv"),
    path("projects/<int:project>/triage/", triage.triage_list, name="triage-list"),
    path("projects/<int:project>/triage.csv", triage.triage_csv, name="triage-csv"),
    path("triage/<int:entry>/", triage.triage_judge, name="triage-judge"),
    path("campaigns/<int:campaign>/baseline/", history.campaign_baseline, name="campaign-baseline"),
    path("tests/<int:test>/baseline/", history.history_baseline, name="history-baseline"),
    path("baselines/<int:baseline>/release/", history.baseline_release, name="baseline-release"),
    path("projects/<int:project>/marks/", history.mark_list, name="mark-list"),
    path("marks/<int:mark>/delete/", history.mark_delete, name="mark-delete"),
]

share_urls = [
    path("projects/<int:project>/shares/", shares.share_list, name="share-list"),
    path("campaigns/<int:campaign>/share/", shares.campaign_share, name="campaign-share"),
    path("runs/<int:run>/share/", shares.run_share, name="run-share"),
    path("shares/<int:share>/revoke/", shares.share_revoke, name="share-revoke"),
    path("compare/share/", shares.comparison_share, name="comparison-share"),
    path("s/<str:token>/", shares.share_view, name="share-view"),
    path("s/<str:token>/stream/", live_pages.share_stream, name="share-stream"),
]

urlpatterns = [
    *account_urls,
    *project_urls,
    *campaign_urls,
    *run_urls,
    *history_urls,
    *share_urls,
    *measure_urls,
    *target_urls,
    *plan_urls,
    *injector_urls,
    *load_urls,
    *audit_urls,
    *caps_urls,
    *glossary_urls,
    *health_urls,
]
