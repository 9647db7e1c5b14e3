"""The example of docs/schedules.md, by the shell against a real server."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from campaigns.accounts.tokens import create_token
from campaigns.core.permissions import Actor, Scope
from campaigns.models import Schedule
from tests.engine.scenes import draft

DOC = (Path(__file__).resolve().parents[2] / "docs" / "schedules.md").read_text()
API = (
    'api() { curl -sS -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" "$@"; }'
)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed; the example needs it")
def test_the_example_does_what_it_says(live_server, project, alice):
    _, token = create_token(by=Actor(user=alice), name="job", scope=Scope.WRITE, days=1)
    (example,) = re.findall(r"^```sh\n(.*?)^```", DOC, re.MULTILINE | re.DOTALL)
    names = {"SITE": f"{live_server.url}/api/v1", "TOKEN": token, "PROJECT": project.pk}
    names["CAMPAIGN_ID"] = draft(project).pk
    sets = [f"{name}={value}" for name, value in names.items()]
    script = "\n".join(["set -e", *sets, API, example])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout[: done.stdout.index("}") + 1])
    assert answer == {"next_at": answer["next_at"], "silent_since": None, "outcomes": []}
    schedule = Schedule.objects.get()
    assert (schedule.cron, schedule.zone) == ("30 2 * * 1-5", "Europe/Paris")
    assert schedule.next_at is not None
    assert schedule.firings.get().campaign.is_under_way
