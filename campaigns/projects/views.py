"""Projects. What projects use of their caps: of one for its owners, of all for administrators.
Hosts that need a proof or an approval: on the page of their target, and for administrators. A
project's TLS profiles: those that come with benchsite, and its own. For CI: the page of a project's
settings that makes a job, and the files that jobs fetch. And the agent's file, which targets'
machines fetch."""

import json
import shlex
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from campaigns.accounts.tokens import create_token
from campaigns.campaigns.queries.campaign_list import latest_by_name
from campaigns.core.access import (
    Edit,
    actor_of,
    acts_on,
    answers_refusals,
    for_administrators,
    labels_of,
    render_page,
    saved_by,
    signed_in_form,
    signed_in_get,
    signed_in_safe,
    takes_a_form,
    whole,
)
from campaigns.core.permissions import Action, Actor, Role, Scope, require
from campaigns.domain.caps import PROJECT_CAPS, RATE
from campaigns.domain.plan.tls_options import PROFILES
from campaigns.history.queries.baselines import own_baselines, with_baselines
from campaigns.items.queries import items as queries
from campaigns.items.views.items import TRASH, items_context, trash_list
from campaigns.models import Campaign, HostClaim, OwnTlsProfile, Project, Target
from campaigns.operations import queries as operations
from campaigns.operations.services.caps import content_of, set_caps
from campaigns.probes.queries.probes import endpoints_by_profile
from campaigns.probes.views import field_page
from campaigns.projects import services
from campaigns.projects.forms import CapsForm, JobForm, ProjectForm
from campaigns.targets import services as targets
from campaigns.targets.forms import TlsProfileForm
from campaigns.targets.queries import current_permits


@signed_in_safe
def project_list(request):
    """Home: the only project opens by itself; without one the first use creates it."""
    if request.GET.get("view") == TRASH:
        return trash_list(request, "project")
    context = items_context(request, "project")
    if not context["n_all"]:
        return field_page(request, None)
    if context["counts"][""] == 1 and not request.GET and not context["undo"]:
        return redirect("campaign-list", project=context["page"].rows[0].pk)
    mine = queries.list_projects(actor_of(request)).filter(archived_at=None).order_by("name")
    context["editable"] = mine.filter(role__in=(Role.OWNER, Role.EDITOR))
    return render(request, "projects/list.html", context)


@signed_in_form
def project_new(request):
    form = ProjectForm(request.POST or None)
    if project := saved_by(form, services.create_project, by=actor_of(request)):
        messages.success(request, f"Project {project.name} created. Next, add a target.")
        return redirect("target-list", project=project.pk)
    return render_page(request, "projects/new.html", form=form)


@signed_in_safe(Project)
def project_detail(request: HttpRequest, actor: Actor, project: Project):
    """What an address shortened to its project leads to."""
    return redirect("campaign-list", project=project.pk)


@signed_in_get(Project, Action.ADMINISTER)
def project_use(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    context = {
        "uses": operations.use_of(project),
        "most_per_s": _most_per_s(),
        "stored": operations.stored_of(project),
        "growth": operations.growth(project),
        "growth_days": operations.GROWTH_DAYS,
    }
    return render_page(request, "operations/project_caps.html", project, **context)


@for_administrators
@require_GET
def caps(request: HttpRequest) -> HttpResponse:
    projects = list(Project.objects.order_by("name", "pk"))
    uses = operations.uses_of(projects)
    context = {
        "caps": PROJECT_CAPS,
        "rows": [(project, uses[project.pk]) for project in projects],
        "most_per_s": _most_per_s(),
    }
    return render(request, "operations/caps.html", context)


@takes_a_form
@for_administrators
def caps_edit(request: HttpRequest, project: int) -> HttpResponse:
    row, actor = get_object_or_404(Project, pk=project), actor_of(request)
    edit = Edit(request, lambda: content_of(row), {cap.name: cap.title for cap in PROJECT_CAPS})
    form = CapsForm(request.POST or None, project=row)
    is_saved = form.is_valid() and edit.save(
        set_caps, by=actor, project=row, caps=form.cleaned_data
    )
    if is_saved:
        messages.success(request, f"The caps of {row.name} are set.")
        return redirect("caps")
    # Not "project": the top bar would offer the places of one that the administrator may not see.
    context = {"capped": row, "form": form, "uses": operations.use_of(row), "edit": edit}
    return render_page(request, "operations/caps_edit.html", **context)


def _most_per_s() -> str:
    most = operations.most_requests_per_s()
    return "no cap" if most is None else RATE.words(most)


@acts_on(Target.objects.select_related("project"), "target-detail", part="#ownership")
def target_ownership(request: HttpRequest, by: Actor, target: Target) -> str:
    """`do` is token, check, ask or withdraw."""
    claim = targets.claim_host(by=by, target=target, host=request.POST.get("host", ""))
    match request.POST.get("do"):
        case "token":
            return f"Put the file on {claim.host}, then check it."
        case "check":
            return _check_in_words(by, claim)
        case "ask":
            targets.ask_approval(by=by, claim=claim, reason=request.POST.get("reason", ""))
            return f"{claim.host} is on the administrators' list."
        case "withdraw":
            return f"{_withdrawn(request, claim)} The next run needs another."
    raise Http404


@for_administrators
@require_GET
def ownership(request: HttpRequest) -> HttpResponse:
    waiting = HostClaim.objects.exclude(approval_asked_at=None).select_related("project")
    context = {
        "waiting": waiting.order_by("approval_asked_at", "pk"),
        "permits": current_permits().select_related("claim__project").order_by("-pk"),
    }
    return render(request, "targets/ownership.html", context)


@for_administrators
@require_POST
@answers_refusals(lambda request, **kwargs: "ownership")
def ownership_decide(request: HttpRequest, claim: int) -> HttpResponse:
    """`do` is approve, refuse, check or withdraw."""
    actor = actor_of(request)
    row = get_object_or_404(HostClaim.objects.select_related("project"), pk=claim)
    reason = request.POST.get("reason", "")
    match request.POST.get("do"):
        case "approve":
            places = request.POST.getlist("place")
            targets.approve(by=actor, claim=row, seen=places, reason=reason)
            message = f"{row.host} is approved for {row.project.name}."
        case "refuse":
            targets.refuse(by=actor, claim=row, reason=reason)
            message = f"{row.host} is refused. {row.project.name} reads why."
        case "check":
            message = _check_in_words(actor, row)
        case "withdraw":
            message = _withdrawn(request, row)
        case _:
            raise Http404
    messages.success(request, message)
    return redirect("ownership")


def _check_in_words(actor: Actor, claim: HostClaim) -> str:
    targets.check_host(by=actor, claim=claim)
    return f"A worker looks at {claim.host} now. Reload this page in a few seconds."


def _withdrawn(request: HttpRequest, claim: HostClaim) -> str:
    number, reason = (request.POST.get(name, "") for name in ("permit", "reason"))
    permit = get_object_or_404(claim.permits, pk=whole(number))
    targets.withdraw(by=actor_of(request), permit=permit, reason=reason)
    return f"The {permit.kind} for {claim.host} is withdrawn."


_ROWS = OwnTlsProfile.objects.select_related("project")


@signed_in_safe(Project)
def tls_profile_list(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    endpoint_names, own = endpoints_by_profile(project), project.tls_profiles.all()
    context = {"own": [(each, endpoint_names.get(each.name, ())) for each in own]}
    context["ready"] = PROFILES.values()
    return render_page(request, "targets/tls_profiles.html", project, **context)


@signed_in_form(Project, Action.EDIT)
def tls_profile_new(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """`?from=KEY`: filled in with what a profile that comes with benchsite offers."""
    start = PROFILES.get(request.GET.get("from", ""))
    form = TlsProfileForm(request.POST or None, initial=start and start.offers)
    if profile := saved_by(form, targets.create_profile, by=actor, project=project):
        messages.success(request, f"{profile.name} created. Endpoints of targets can name it now.")
        return redirect("tls-profile-list", project=project.pk)
    return render_page(request, "targets/tls_profile_form.html", project, form=form)


@signed_in_form(_ROWS, Action.EDIT)
def tls_profile_edit(request: HttpRequest, actor: Actor, profile: OwnTlsProfile) -> HttpResponse:
    edit = Edit(request, lambda: targets.content_of_profile(profile), labels_of(TlsProfileForm))
    form = TlsProfileForm(request.POST or None, initial=targets.content_of_profile(profile))
    is_saved = saved_by(form, edit.save, service=targets.change_profile, by=actor, profile=profile)
    if is_saved:
        messages.success(
            request, f"{is_saved.name} saved. Runs that were queued keep what they had."
        )
        return redirect("tls-profile-list", project=profile.project_id)
    endpoints = endpoints_by_profile(profile.project).get(profile.name, ())
    context = {"form": form, "edit": edit, "profile": profile, "endpoints": endpoints}
    return render_page(request, "targets/tls_profile_form.html", profile.project, **context)


@acts_on(_ROWS, "tls-profile-list", "project_id")
def tls_profile_delete(request: HttpRequest, by: Actor, profile: OwnTlsProfile) -> str:
    targets.delete_profile(by=by, profile=profile)
    return f"{profile.name} deleted. Results are kept as they are."


_CLIENTS = settings.BASE_DIR / "clients"
TOKEN_DAYS = 90


@require_GET
def ci_client_file(request: HttpRequest) -> HttpResponse:
    """The client as one file. It holds nothing of this installation."""
    text = (_CLIENTS / "python" / "benchsite.py").read_bytes()
    return HttpResponse(text, content_type="text/x-python; charset=utf-8")


@require_GET
def agent_file(request: HttpRequest) -> HttpResponse:
    """The agent as one file. It holds nothing of this installation."""
    text = (settings.BASE_DIR / "workers" / "agent.py").read_bytes()
    return HttpResponse(text, content_type="text/x-python; charset=utf-8")


@require_GET
def ci_gitlab_file(request: HttpRequest) -> HttpResponse:
    text = (_CLIENTS / "gitlab" / "benchsite.yml").read_bytes()
    return HttpResponse(text, content_type="text/yaml; charset=utf-8")


@never_cache
@signed_in_form(Project)
def project_ci(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """What is chosen is in the address. A new token's text is only in the answer to the POST."""
    text = ""
    if request.method == "POST":
        require(actor, Action.EDIT, project)
        name = f"CI of {project.name}"[:100]
        _, text = create_token(by=actor, name=name, scope=Scope.WRITE, days=TOKEN_DAYS)
    campaigns = latest_by_name(actor, project)
    form = JobForm(request.GET or None, campaigns=campaigns)
    job = form.job()
    campaign = campaigns.get(job["campaign"])
    site = request.build_absolute_uri("/").rstrip("/")
    context = {
        "form": form,
        "chosen": campaign,
        "has_baseline": campaign and bool(with_baselines(campaign) or own_baselines(campaign)),
        "snippets": snippets(site, campaign, job) if campaign else [],
        "text": text,
        "token_days": TOKEN_DAYS,
    }
    return render_page(request, "projects/ci.html", project, **context)


@dataclass(frozen=True, slots=True)
class Snippet:
    """A job for one CI system; `place` is the file that it belongs to."""

    key: str
    title: str
    place: str
    text: str


def snippets(site: str, campaign: Campaign, job: dict[str, str]) -> list[Snippet]:
    """`job` as from `JobForm.job`."""
    # GitHub and GitLab would replace these by values of their own.
    is_safe = not any(mark in campaign.name for mark in ("${{", "$[["))
    name = campaign.name if is_safe else str(campaign.pk)
    rules = [f"median slower than baseline by {job['slower']} %", f"errors > {job['errors']} %"]
    options = [f"--campaign {shlex.quote(name)}"]
    options += ['--url "$PREVIEW_URL"'] if job["against"] == "preview" else []
    options += [f"--fail-if {shlex.quote(rule)}" for rule in rules]
    values = {"site": site, "name": name, "options": options, "rules": rules}
    values["is_preview"] = job["against"] == "preview"
    return [make(**values) for make in (_github, _gitlab, _jenkins, _shell)]


def _github(site: str, options: list[str], **_: Any) -> Snippet:
    lines = "\n".join(f"          {each}" for each in [*options, "--comment --check"])
    text = f"""\
name: benchmark
on: pull_request
permissions: {{ checks: write, pull-requests: write }}
jobs:
  benchmark:
    runs-on: ubuntu-latest
    steps:
      - run: curl -fsSO {site}/ci/benchsite.py
      - run: >-
          python3 benchsite.py run
{lines}
        env:
          BENCHSITE_URL: {site}
          BENCHSITE_TOKEN: ${{{{ secrets.BENCHSITE_TOKEN }}}}
          GITHUB_TOKEN: ${{{{ github.token }}}}
"""
    return Snippet("github", "GitHub Actions", ".github/workflows/benchmark.yml", text)


def _gitlab(site: str, name: str, rules: list[str], is_preview: bool, **_: Any) -> Snippet:
    url = "\n      url: $PREVIEW_URL" if is_preview else ""
    text = f"""\
include:
  - remote: {site}/ci/gitlab.yml
    inputs:
      campaign: {json.dumps(name, ensure_ascii=False)}{url}
      fail-if: {json.dumps(chr(10).join(rules))}
variables:
  BENCHSITE_URL: {site}
"""
    return Snippet("gitlab", "GitLab CI", ".gitlab-ci.yml", text)


def _jenkins(site: str, options: list[str], **_: Any) -> Snippet:
    command = " \\\n            ".join(
        ["python3 benchsite.py run", *options, "--junit benchsite.xml"]
    )
    # Groovy reads a backslash and three quotes in its own way.
    command = command.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    text = f"""\
pipeline {{
  agent any
  environment {{
    BENCHSITE_URL = '{site}'
    BENCHSITE_TOKEN = credentials('benchsite-token')
  }}
  stages {{
    stage('benchmark') {{
      steps {{
        sh 'curl -fsSO {site}/ci/benchsite.py'
        sh '''{command}'''
      }}
    }}
  }}
  post {{ always {{ junit 'benchsite.xml' }} }}
}}
"""
    return Snippet("jenkins", "Jenkins", "Jenkinsfile", text)


def _shell(site: str, options: list[str], **_: Any) -> Snippet:
    command = " \\\n  ".join(["python3 benchsite.py run", *options])
    text = f"""\
export BENCHSITE_URL={site} BENCHSITE_TOKEN=…
curl -fsSO "$BENCHSITE_URL/ci/benchsite.py"
python3 benchsite.py doctor
{command}
"""
    return Snippet("shell", "Shell", "", text)
