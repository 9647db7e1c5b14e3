"""Who may do what at every address: the table that tests/test_access.py and
tests/test_access_of_rest.py hold the site to.

An address is a URL's name; each of its methods needs one of the rights below. A method that is not
listed writes nothing for anybody.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.access_world import DEAD_TOKENS, Rows

ROLES = {"vera": "viewer", "oscar": "operator", "bob": "editor", "alice": "owner"}
TOKENS = {"alice's read token", "alice's run token", "alice's write token"}
# Adam administers the installation, sam is staff: of the project neither is a member.
STRANGERS = {"adam", "sam", "charlie", "charlie's write token"}
# Dana edited the project until her account was disabled.
NOBODY = {"anonymous", "visitor", "dana"}
EVERYBODY = NOBODY | STRANGERS | set(ROLES) | TOKENS | DEAD_TOKENS | {"vera's write token"}

_LOOK = set(ROLES) | TOKENS | {"vera's write token"}
_RUN = {"oscar", "bob", "alice", "alice's run token", "alice's write token"}
# right → who has it. Written out by hand: it must not follow campaigns.core.permissions.
MAY: dict[str, set[str]] = {
    "nothing": EVERYBODY,  # needs nothing
    "account": EVERYBODY - NOBODY - DEAD_TOKENS,
    "view": _LOOK,
    "run": _RUN,
    "stop": _RUN,
    "edit": {"bob", "alice", "alice's write token"},
    "share": {"bob", "alice"},
    "manage": {"alice"},
    "administer": {"alice", "alice's write token"},
    "installation": {"adam"},  # an administrator; to others it does not exist
    # What belongs to a user: viewers have it as well, but no token that only reads or runs.
    "channel": {"bob", "alice"},  # editors; to others it does not exist
    "own": {"alice"},  # what belongs to alice herself; to others it does not exist
}


@dataclass(frozen=True)
class Rule:
    """`body` makes what is sent; `rows` names another row than the address's own noun."""

    right: str
    body: Callable[[Rows], dict[str, Any]] = lambda rows: {}
    rows: tuple[tuple[str, str], ...] = ()


def _always(body: dict[str, Any]) -> Callable[[Rows], dict[str, Any]]:
    return lambda rows: body


_member = _always({"username": "charlie", "role": "viewer"})
_target = _always(
    {
        "name": "another",
        "environment": [],
        "endpoints": [{"scheme": "http", "host": "127.0.0.1", "port": 8081}],
    }
)
_address = _always({"what": "http://127.0.0.1:8081/"})


def _plan(rows: Rows) -> dict[str, Any]:
    return {"name": "another", "spec": rows["version"].spec}


def _new(describe: Callable[[Rows], dict[str, Any]]) -> Callable[[Rows], dict[str, Any]]:
    return lambda rows: {**describe(rows), "project": rows["project"].pk}


def _campaign(rows: Rows) -> dict[str, Any]:
    cell = {"plan": rows["plan"].pk, "endpoint": rows["endpoint"].pk}
    return {"name": "another", "cells": [cell]}


def _search(rows: Rows) -> dict[str, Any]:
    cell = _campaign(rows)["cells"][0]
    rates = {"start_per_s": 10, "limit_per_s": 100}
    return {"name": "another", "cell": cell, "objective": ["p95 < 1 s"], **rates}


def _ladder(rows: Rows) -> dict[str, Any]:
    return {"name": "another", **_campaign(rows)["cells"][0]}


def _probe(rows: Rows) -> dict[str, Any]:
    return {"endpoint": rows["endpoint"].pk, "request": {"path": "/"}}


_host = _always({"host": "shop.example"})
_exporter = _always({"url": "http://127.0.0.1:9100/metrics", "name": "another"})
_tls_profile = _always({"name": "another", "max_version": "1.2"})


_OWN_PROFILE = (("tls", "profile"),)
_acknowledgement = _always({"acknowledged": True})
_baseline_name = _always({"name": "release 1.5", "seen": 10**9})


def _baseline(rows: Rows) -> dict[str, Any]:
    return {**_baseline_name(rows), "in": rows["test"].pk}


def _baseline_of_campaign(rows: Rows) -> dict[str, Any]:
    return {"name": "release 1.5", "campaign": rows["campaign"].pk}


_mark = _always({"text": "version 1.4.3 deployed"})
_note = _always({"text": "why"})


def _new_note(rows: Rows) -> dict[str, Any]:
    return {"text": "why", "campaign": rows["campaign"].pk}


def _schedule(rows: Rows) -> dict[str, Any]:
    sent = {"name": "weekly", "template": rows["campaign"].pk, "zone": "UTC"}
    return sent | {"cron": "0 2 * * 1", "result_within_h": 6}


def _schedule_form(rows: Rows) -> dict[str, Any]:
    return _schedule(rows) | {"every": "cron"}


_output = _always({"text": " Performance counter stats for 'server':\n\n   1,204  page-faults\n"})


VIEW, EDIT, RUN, STOP = Rule("view"), Rule("edit"), Rule("run"), Rule("stop")
SHARE, MANAGE, OPEN_TO_ALL, ACCOUNT = (
    Rule("share"),
    Rule("manage"),
    Rule("nothing"),
    Rule("account"),
)
INSTALLATION = Rule("installation")
OWN = Rule("own")
SEARCH = Rule("view", rows=(("campaign", "search"),))
START = Rule("run", rows=(("campaign", "draft"),))
TRY_AGAIN = Rule("run", rows=(("campaign", "held"),))
MORE_BLOCKS = Rule("run", lambda rows: {"after": 1, "blocks": 1})
STOP_CAMPAIGN = Rule("stop", rows=(("campaign", "waiting"),))
STOP_RUN = Rule("stop", rows=(("run", "queued"),))


def _archive(noun: str) -> Rule:
    """Archive the one that is ticked in a list."""
    right = "administer" if noun == "project" else "edit"
    return Rule(right, lambda rows: {"pk": rows[noun].pk, "do": "archive"})


DELETE_DRAFT = Rule("edit", rows=(("campaign", "draft"),))
TAG = Rule("edit", lambda rows: {"tags": ["nightly"]})
TAG_PROJECT = Rule("administer", TAG.body)
ADMINISTER = Rule("administer")
CONFIRM = Rule("nothing", rows=(("key", "email_key"),))

# What only shows something, to whoever sees the project.
_SHOWN_PAGES = (
    *("project-detail", "target-list", "target-detail", "tls-profile-list"),
    *("probe-detail", "plan-list", "plan-detail", "campaign-list", "campaign-detail"),
    *("campaign-stream", "campaign-csv", "run-list", "run-list-csv", "run-detail"),
    *("history", "history-csv", "history-test", "history-test-csv", "triage-list"),
    *("triage-csv", "run-stream", "run-csv", "run-points", "run-seconds-csv"),
    *("run-machine-seconds-csv", "run-report-text", "output-text", "comparison"),
    *("run-requests-csv", "example-reply", "plan-file"),
    *("comparison-csv", "share-list"),
)
# What everybody with an account changes of it.
_OF_ONESELF = (
    *("profile", "account_change_password", "account_set_password", "account_reauthenticate"),
    *("mfa_reauthenticate", "mfa_reauthenticate_webauthn", "mfa_activate_totp"),
    *("mfa_add_webauthn", "mfa_deactivate_totp", "mfa_generate_recovery_codes"),
    "socialaccount_connections",
)
PAGES: dict[str, dict[str, Rule]] = {
    **{name: {"GET": VIEW} for name in _SHOWN_PAGES},
    "account_login": {"GET": OPEN_TO_ALL, "POST": OPEN_TO_ALL},
    "account_logout": {"POST": OPEN_TO_ALL},
    "mfa_authenticate": {"GET": OPEN_TO_ALL, "POST": OPEN_TO_ALL},
    "mfa_login_webauthn": {"GET": OPEN_TO_ALL, "POST": OPEN_TO_ALL},
    "account_reset_password": {"GET": OPEN_TO_ALL, "POST": OPEN_TO_ALL},
    "account_reset_password_from_key": {"GET": OPEN_TO_ALL, "POST": OPEN_TO_ALL},
    "account_confirm_email": {"GET": CONFIRM, "POST": CONFIRM},
    "provider-login": {"POST": OPEN_TO_ALL},
    "openid_connect_callback": {"GET": OPEN_TO_ALL},
    **{name: {"GET": ACCOUNT, "POST": ACCOUNT} for name in _OF_ONESELF},
    "mfa_index": {"GET": ACCOUNT},
    "mfa_view_recovery_codes": {"GET": ACCOUNT},
    "passkey-remove": {"POST": OWN},
    "sessions-end": {"POST": ACCOUNT},
    "invitation-accept": {"GET": OPEN_TO_ALL, "POST": OPEN_TO_ALL},
    "invitation-revoke": {"POST": MANAGE},
    "user-list": {"GET": INSTALLATION},
    "user-new": {"GET": INSTALLATION, "POST": INSTALLATION},
    "user-detail": {"GET": INSTALLATION},
    "user-action": {"POST": Rule("installation", lambda rows: {"do": "disable"})},
    "healthz": {"GET": OPEN_TO_ALL},
    "readyz": {"GET": OPEN_TO_ALL},
    "metrics": {"GET": OPEN_TO_ALL},  # of the addresses that the settings name
    "time-zone": {"GET": OPEN_TO_ALL, "POST": OPEN_TO_ALL},
    "token-list": {"GET": ACCOUNT, "POST": ACCOUNT},
    "token-revoke": {"POST": Rule("own")},
    "account-notifications": {"GET": ACCOUNT, "POST": ACCOUNT},
    "project-notifications": {"GET": EDIT, "POST": EDIT},
    "channel-detail": {"GET": Rule("channel"), "POST": Rule("channel")},
    "channel-action": {"POST": Rule("channel", lambda rows: {"do": "pause"})},
    "injector-list": {"GET": ACCOUNT},
    "audit": {"GET": OWN},
    "audit-csv": {"GET": OWN},
    "audit-all": {"GET": INSTALLATION},
    "audit-all-csv": {"GET": INSTALLATION},
    "load": {"GET": INSTALLATION},
    "load-stop": {"POST": INSTALLATION},
    "load-allow": {"POST": INSTALLATION},
    "load-run-stop": {"POST": Rule("installation", rows=(("run", "queued"),))},
    "caps": {"GET": INSTALLATION},
    "caps-edit": {"GET": INSTALLATION, "POST": INSTALLATION},
    "storage": {"GET": INSTALLATION},
    "ownership": {"GET": INSTALLATION},
    "ownership-decide": {"POST": Rule("installation", lambda rows: {"do": "check"})},
    "glossary": {"GET": OPEN_TO_ALL},
    "project-list": {"GET": ACCOUNT},
    "project-new": {"GET": ACCOUNT, "POST": Rule("account", lambda rows: {"name": "mine"})},
    "measure": {"GET": ACCOUNT, "POST": Rule("account", _address)},
    "project-measure": {"GET": EDIT, "POST": Rule("edit", _address)},
    "target-measure": {"GET": VIEW, "POST": EDIT},
    "probe-accept": {"POST": EDIT},
    "project-rename": {"GET": ADMINISTER, "POST": ADMINISTER},
    "project-bulk": {"POST": _archive("project")},
    "project-members": {"GET": VIEW, "POST": Rule("manage", _member)},
    "project-use": {"GET": ADMINISTER},
    "project-stop": {"POST": ADMINISTER},
    "membership-role": {"POST": Rule("manage", lambda rows: {"role": "editor"})},
    "membership-remove": {"POST": MANAGE},
    "target-new": {"GET": EDIT, "POST": EDIT},
    "target-edit": {"GET": EDIT, "POST": EDIT},
    "target-rename": {"GET": EDIT, "POST": EDIT},
    "target-bulk": {"POST": _archive("target")},
    "target-archive": {"POST": EDIT},
    "target-ownership": {"POST": Rule("edit", lambda rows: {"do": "token", **_host(rows)})},
    "agent-file": {"GET": OPEN_TO_ALL},
    "ci-client-file": {"GET": OPEN_TO_ALL},
    "manifest-schema-file": {"GET": OPEN_TO_ALL},
    "ci-gitlab-file": {"GET": OPEN_TO_ALL},
    "project-ci": {"GET": VIEW, "POST": EDIT},
    "project-manifest": {"GET": VIEW, "POST": Rule("edit", _always({"text": "version: 1"}))},
    "project-manifest-file": {"GET": VIEW},
    "exporter-new": {"GET": EDIT, "POST": Rule("edit", _exporter)},
    "exporter-edit": {"GET": EDIT, "POST": Rule("edit", _exporter)},
    "exporter-check": {"POST": EDIT},
    "exporter-remove": {"POST": EDIT},
    "tls-profile-new": {"GET": EDIT, "POST": Rule("edit", _tls_profile)},
    "tls-profile-edit": {"GET": EDIT, "POST": Rule("edit", _tls_profile)},
    "tls-profile-delete": {"POST": EDIT},
    "probe-new": {"POST": RUN},
    "plan-new": {"GET": EDIT, "POST": EDIT},
    "plan-paste": {"GET": EDIT, "POST": Rule("edit", _address)},
    "plan-edit": {"GET": EDIT, "POST": EDIT},
    "plan-rename": {"GET": EDIT, "POST": EDIT},
    "plan-bulk": {"POST": _archive("plan")},
    "plan-archive": {"POST": EDIT},
    "plan-preview": {"POST": EDIT},
    "plan-try": {"POST": EDIT},
    "campaign-new": {"GET": EDIT, "POST": EDIT},
    "campaign-estimate": {"POST": EDIT},
    "ladder-new": {"GET": EDIT, "POST": EDIT},
    "ladder-estimate": {"POST": EDIT},
    "search-new": {"GET": EDIT, "POST": EDIT},
    "search-estimate": {"POST": EDIT},
    "campaign-rename": {"GET": EDIT, "POST": EDIT},
    "campaign-bulk": {"POST": _archive("campaign")},
    "campaign-start": {"POST": START},
    "campaign-try-again": {"POST": TRY_AGAIN},
    "campaign-stop": {"POST": STOP_CAMPAIGN},
    "campaign-repeat": {"POST": EDIT},
    "campaign-blocks": {"POST": MORE_BLOCKS},
    "campaign-share": {"POST": SHARE},
    "run-stop": {"POST": STOP_RUN},
    "triage-edit": {"POST": Rule("edit", _acknowledgement)},
    "campaign-baseline": {"POST": Rule("edit", _baseline_name)},
    "history-baseline": {"POST": Rule("edit", _baseline)},
    "baseline-release": {"POST": EDIT},
    "mark-list": {"GET": VIEW, "POST": Rule("edit", _mark)},
    "mark-delete": {"POST": EDIT},
    "campaign-note": {"POST": Rule("edit", _note)},
    "run-note": {"POST": Rule("edit", _note)},
    "test-note": {"POST": Rule("edit", _note)},
    "note-detail": {"GET": EDIT, "POST": Rule("edit", _note)},
    "note-delete": {"POST": EDIT},
    "schedule-list": {"GET": VIEW, "POST": Rule("edit", _schedule_form)},
    "schedule-preview": {"POST": VIEW},
    "schedule-detail": {"GET": VIEW, "POST": Rule("edit", _schedule_form)},
    "schedule-run": {"POST": EDIT},
    "schedule-switch": {"POST": EDIT},
    "schedule-delete": {"POST": EDIT},
    "run-share": {"POST": SHARE},
    "output-new": {"POST": Rule("edit", _output)},
    "output-delete": {"POST": EDIT},
    "comparison-share": {"POST": SHARE},
    "share-revoke": {"POST": SHARE},
    "share-view": {"GET": OPEN_TO_ALL},
    "share-csv": {"GET": OPEN_TO_ALL},
    "share-stream": {"GET": OPEN_TO_ALL},
    "share-badge": {"GET": OPEN_TO_ALL},
    "test-badge": {"POST": SHARE},
}

# What only shows something, to whoever sees the project.
_SHOWN_API = (
    *("api-project-history", "api-project-history-csv", "api-test-history"),
    *("api-test-history-csv", "api-project-triage", "api-project-triage-csv"),
    *("api-version-list", "api-version", "api-plan-file", "api-comparison", "api-comparison-csv"),
    *("api-probe", "api-campaign-tables", "api-campaign-csv", "api-run"),
    *("api-run-seconds", "api-run-minutes", "api-run-machine-seconds"),
    *("api-run-machine-seconds-csv", "api-run-machine-seconds-ndjson"),
    *("api-run-requests", "api-run-requests-csv"),
    *("api-run-failures", "api-run-tables", "api-run-csv", "api-run-report-text"),
)
API: dict[str, dict[str, Rule]] = {
    **{name: {"GET": VIEW} for name in _SHOWN_API},
    "api-project-list": {"GET": ACCOUNT},
    "api-project": {"GET": VIEW, "PATCH": TAG_PROJECT, "DELETE": ADMINISTER},
    "api-project-use": {"GET": ADMINISTER},
    "api-project-read-requests": {"POST": Rule("edit", _always({"text": "curl http://a/"}))},
    "api-project-baselines": {"GET": VIEW, "POST": Rule("edit", _baseline_of_campaign)},
    "api-baseline": {"GET": VIEW, "DELETE": EDIT},
    "api-project-marks": {"GET": VIEW, "POST": Rule("edit", _mark)},
    "api-mark": {"GET": VIEW, "DELETE": EDIT},
    "api-note-list": {"GET": ACCOUNT, "POST": Rule("edit", _new_note)},
    "api-note": {"GET": VIEW, "PUT": Rule("edit", _note), "DELETE": EDIT},
    "api-project-manifest": {"POST": Rule("edit", _always({"version": 1}))},
    "api-project-manifest-file": {"GET": VIEW},
    "api-project-schedules": {"GET": VIEW, "POST": Rule("edit", _schedule)},
    "api-schedule": {"GET": VIEW, "PUT": Rule("edit", _schedule), "DELETE": EDIT},
    "api-schedule-run": {"POST": EDIT},
    "api-schedule-pause": {"POST": EDIT},
    "api-schedule-resume": {"POST": EDIT},
    "api-triage": {"GET": VIEW, "PATCH": Rule("edit", _acknowledgement)},
    "api-target-list": {"GET": ACCOUNT, "POST": Rule("edit", _new(_target))},
    "api-target": {"GET": VIEW, "PUT": Rule("edit", _target), "PATCH": TAG, "DELETE": EDIT},
    "api-target-ownership": {"GET": VIEW, "POST": Rule("edit", _host)},
    "api-target-exporters": {"GET": VIEW, "POST": Rule("edit", _exporter)},
    "api-exporter": {"GET": VIEW, "PUT": Rule("edit", _exporter), "DELETE": EDIT},
    "api-project-tls-profiles": {"GET": VIEW, "POST": Rule("edit", _tls_profile)},
    "api-tls-profile": {
        "GET": Rule("view", rows=_OWN_PROFILE),
        "PUT": Rule("edit", _tls_profile, rows=_OWN_PROFILE),
        "DELETE": Rule("edit", rows=_OWN_PROFILE),
    },
    "api-target-archive": {"POST": Rule("edit")},
    "api-target-restore": {"POST": Rule("edit", rows=(("target", "deleted_target"),))},
    "api-plan-list": {"GET": ACCOUNT, "POST": Rule("edit", _new(_plan))},
    "api-plan": {"GET": VIEW, "PUT": Rule("edit", _plan), "PATCH": TAG, "DELETE": EDIT},
    "api-plan-archive": {"POST": EDIT},
    "api-project-restore": {"POST": Rule("administer", rows=(("project", "deleted_project"),))},
    "api-plan-restore": {"POST": Rule("edit", rows=(("plan", "deleted_plan"),))},
    "api-campaign-estimate": {"POST": Rule("edit", _new(_campaign))},
    "api-probe-list": {"GET": ACCOUNT, "POST": Rule("run", _probe)},
    "api-injector-list": {"GET": ACCOUNT},
    "api-preset-list": {"GET": ACCOUNT},
    "api-campaign-list": {"GET": ACCOUNT, "POST": Rule("edit", _new(_campaign))},
    "api-campaign": {"GET": VIEW, "PATCH": TAG, "DELETE": DELETE_DRAFT},
    "api-campaign-wait": {"GET": VIEW},
    "api-campaign-start": {"POST": START},
    "api-campaign-try-again": {"POST": TRY_AGAIN},
    "api-campaign-stop": {"POST": STOP_CAMPAIGN},
    "api-campaign-looked": {"POST": EDIT},
    "api-campaign-restore": {"POST": Rule("edit", rows=(("campaign", "deleted_campaign"),))},
    "api-campaign-repeat": {"POST": EDIT},
    "api-campaign-blocks": {"POST": MORE_BLOCKS},
    "api-search-estimate": {"POST": Rule("edit", _new(_search))},
    "api-ladder-list": {"POST": Rule("edit", _new(_ladder))},
    "api-search-list": {"POST": Rule("edit", _new(_search))},
    "api-campaign-search": {"GET": SEARCH},
    "api-campaign-search-csv": {"GET": SEARCH},
    "api-run-list": {"GET": ACCOUNT},
    "api-run-list-csv": {"GET": ACCOUNT},
    "api-run-stop": {"POST": STOP_RUN},
    "api-run-outputs": {"GET": VIEW, "POST": Rule("edit", _output)},
    "api-output": {"GET": VIEW, "DELETE": EDIT},
    "api-metric-list": {"GET": ACCOUNT},
    "api-schema": {"GET": OPEN_TO_ALL},
    "api-docs": {"GET": OPEN_TO_ALL},
    "api-nothing-here": {},
}

TABLE = {**PAGES, **API}
