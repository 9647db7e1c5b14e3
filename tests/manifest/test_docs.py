"""The example of docs/as-code.md, by the shell against a real server."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.accounts.tokens import create_token
from campaigns.core.permissions import Actor, Scope
from campaigns.manifest.services import apply_manifest
from campaigns.models import PlanVersion, Schedule
from tests.factories import make_plan, make_project
from tests.schedules.test_docs import API

DOC = (Path(__file__).resolve().parents[2] / "docs" / "as-code.md").read_text()


def block(kind: str, number: int = 0) -> str:
    return re.findall(rf"^```{kind}\n(.*?)^```", DOC, re.MULTILINE | re.DOTALL)[number]


@pytest.mark.django_db(transaction=True)
def test_the_example_does_what_it_says(live_server, project, alice, tmp_path):
    who = Actor(user=alice)
    _, token = create_token(by=who, name="job", scope=Scope.WRITE, days=1)
    (tmp_path / "benchsite.yaml").write_text(block("yaml"))
    (tmp_path / "python3").symlink_to(sys.executable)
    script = block("sh").replace("https://bench.example", live_server.url)
    script = script.replace("bs_pat_…", token)
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/local/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.partition("Applied: 4 created.\n")[2] == block("text")
    assert PlanVersion.objects.get().value().load.duration_s == 300
    schedule = Schedule.objects.get()
    assert (schedule.cron, schedule.template.tests.count()) == ("30 2 * * 1-5", 4)
    file = (tmp_path / "exported.yaml").read_text()
    empty = make_project(owner=alice)
    assert apply_manifest(by=who, project=empty, text=file).sentence == "4 created"
    assert apply_manifest(by=who, project=empty, text=file).sentence == ""


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed; the example needs it")
def test_an_export_is_applied_over_rest(live_server, project, alice, tmp_path):
    make_plan(project)
    _, token = create_token(by=Actor(user=alice), name="job", scope=Scope.WRITE, days=1)
    sets = f"SITE={live_server.url}/api/v1 TOKEN={token} PROJECT={project.pk}"
    script = "\n".join([sets, API, block("sh", 1)])
    done = subprocess.run(["bash", "-ec", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == '"The project is as the file says."\n', done.stderr
