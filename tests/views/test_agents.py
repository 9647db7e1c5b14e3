"""How an agent is started and revoked on the page of its target."""

import io
import re
import subprocess
import sys
import zipfile

import pytest

from campaigns.models import Agent
from campaigns.services.agents import authenticate_agent
from tests.factories import make_endpoint, make_target
from tests.views.pages import target_page


@pytest.fixture
def target(project):
    target = make_target(project, "shop")
    make_endpoint(target, "http", 8081)
    make_endpoint(target, "https", 8444)
    return target


def test_the_line_to_copy_is_shown_once(client, bob, target):
    client.force_login(bob)
    answer = client.post(f"/targets/{target.pk}/agents/")
    line = re.search(r'<code id="agent-line">(.*?)</code>', answer.content.decode())[1]
    assert re.fullmatch(
        r"curl -fsSO http://testserver/agent\.pyz &amp;&amp; BENCHSITE_AGENT_TOKEN=(bs_agent_\S+) "
        r"python3 agent\.pyz --url http://testserver --watch :8081,:8444",
        line,
    )
    assert "no-store" in answer["Cache-Control"]
    agent = authenticate_agent(text=re.search(r"bs_agent_\S+", line)[0])
    assert agent.target == target
    assert "BENCHSITE_AGENT_TOKEN" not in target_page(client, target)
    assert "Waiting" in target_page(client, target)


def test_a_revoked_agent_leaves_the_page(client, bob, target):
    agent = Agent.objects.create(target=target, lookup="a" * 16, host="shop-1")
    client.force_login(bob)
    client.post(f"/agents/{agent.pk}/revoke/")
    assert "shop-1" not in target_page(client, target)


def test_the_program_is_one_file_that_runs_by_itself(client, db, tmp_path):
    answer = client.get("/agent.pyz")
    assert zipfile.is_zipfile(io.BytesIO(answer.content))
    file = tmp_path / "agent.pyz"
    file.write_bytes(answer.content)
    command = [sys.executable, "-I", str(file), "--url", "http://127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, env={}, check=False)
    assert done.returncode == 2
    assert "BENCHSITE_AGENT_TOKEN" in done.stderr
