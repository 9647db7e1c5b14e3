"""A throw-away installation in the hand of a program: a project and the REST API with its token."""

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from local.paths import ROOT
from tests.browser.rest import Rest

_MAKE_PROJECT = """
from django.contrib.auth.models import User
from campaigns.permissions import Actor
from campaigns.services.projects import create_project
from campaigns.services.tokens import create_token
admin = Actor(user=User.objects.get(username={username!r}))
print(create_token(by=admin, name="study", scope="write", days=1)[1])
print(create_project(by=admin, name={project!r}).pk)
"""


def rest_of(site: Mapping[str, Any], project: str) -> Rest:
    """`site`: what `local.stage.staged` yields; `project`: the name of the new one."""
    made = subprocess.run(
        [
            *(sys.executable, "manage.py", "shell", "-v", "0", "-c"),
            _MAKE_PROJECT.format(username=site["username"], project=project),
        ],
        cwd=ROOT,
        env=site["env"],
        check=True,
        capture_output=True,
        text=True,
    )
    token, number = made.stdout.split()
    return Rest(site["url"], token, int(number))
