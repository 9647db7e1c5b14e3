"""The page that makes a job, and what jobs fetch."""

import re
import shlex

import pytest
import yaml
from django.urls import reverse
from django.utils import timezone

from campaigns.models import ApiToken
from tests.clients.conftest import client_module
from tests.factories import make_campaign, make_test
from tests.pages import shown_text

pytestmark = pytest.mark.django_db
NAME = 'Checkout\'s "200" $HOME `id`'


@pytest.fixture
def campaign(project):
    return make_test(make_campaign(project, name=NAME, started_at=timezone.now())).campaign


def jobs(client, project, **query) -> dict[str, str]:
    page = client.get(reverse("project-ci", args=[project.pk]), query)
    return {each.key: each.text for each in page.context["snippets"]}


def asked_by(command: str):
    """What the client understands of a command line."""
    words = shlex.split(command.replace("\\\n", " "))
    return client_module.parser().parse_args(words[words.index("run") :])


def test_every_job_measures_what_is_chosen_by_its_rules(as_editor, project, campaign):
    texts = jobs(as_editor, project, campaign=NAME, against="preview", slower="7.5", errors_over=2)
    rules = ["median slower than baseline by 7.5 %", "errors > 2 %"]
    github = yaml.safe_load(texts["github"])["jobs"]["benchmark"]["steps"][1]
    shell = texts["shell"].partition("doctor\n")[2]
    jenkins = re.search(r"sh '''(.*?)(?<!\\)'''", texts["jenkins"], re.S)[1].replace("\\\\", "\\")
    for command in (github["run"], shell, jenkins):
        options = asked_by(command)
        assert (options.campaign, options.fail_if, options.url) == (NAME, rules, "$PREVIEW_URL")
    assert set(github["env"]) == {"BENCHSITE_URL", "BENCHSITE_TOKEN", "GITHUB_TOKEN"}
    (job,) = yaml.safe_load(texts["gitlab"])["include"]
    assert job["inputs"] == {
        "campaign": NAME,
        "url": "$PREVIEW_URL",
        "fail-if": "\n".join(rules),
    }
    assert job["remote"].endswith(reverse("ci-gitlab-file"))


def test_what_github_would_replace_is_named_by_its_number(as_editor, project):
    evil = make_campaign(project, name="${{ secrets.X }}", started_at=timezone.now())
    assert f"--campaign {evil.pk}\n" in jobs(as_editor, project)["github"]


def test_a_token_is_shown_once_to_those_who_may_edit(client, bob, vera, project, campaign):
    address = reverse("project-ci", args=[project.pk])
    client.force_login(bob)
    answer = client.post(address)
    (token,) = ApiToken.objects.all()
    assert f"bs_pat_{token.lookup}_" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert "bs_pat_" not in client.get(address).content.decode()
    client.force_login(vera)
    assert client.post(address).status_code == 403
    assert "Create token" not in shown_text(client.get(address))


def test_wrong_numbers_leave_the_proposed_ones(as_editor, project, campaign):
    texts = jobs(as_editor, project, slower="much", errors_over="-1", against="moon")
    assert "by 5 %" in texts["shell"]
    assert "errors > 1 %" in texts["shell"]


def test_the_client_and_the_template_need_no_account(client):
    text = client.get(reverse("ci-client-file"))
    assert b"BENCHSITE_TOKEN" in text.getvalue()
    assert client.get("/ci/benchsite.py").status_code == 200
    spec, job = yaml.safe_load_all(client.get("/ci/gitlab.yml").getvalue())
    assert set(spec["spec"]["inputs"]) >= {"campaign", "url", "fail-if"}
    assert set(job["benchsite"]["artifacts"]["reports"]) == {
        *("junit", "load_performance", "codequality"),
    }
