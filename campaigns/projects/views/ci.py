"""For CI: the page of a project's settings that makes a job, and the files that jobs fetch. And the
agent's file, which targets' machines fetch."""

import json
import shlex
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from campaigns.accounts.tokens import create_token
from campaigns.campaigns.queries.campaign_list import latest_by_name
from campaigns.core.access import render_page, signed_in_form
from campaigns.core.permissions import Action, Actor, Scope, require
from campaigns.history.queries.baselines import own_baselines, with_baselines
from campaigns.models import Campaign, Project
from campaigns.projects.forms import JobForm

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
