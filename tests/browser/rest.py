"""An installation's REST API in the hand of a test: makes what a test of pages is about."""

import json
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
MAKE_TOKEN = """
from django.contrib.auth.models import User
from campaigns.permissions import Actor
from campaigns.services.projects import create_project
from campaigns.services.tokens import create_token
admin = Actor(user=User.objects.get(username={username!r}))
project = create_project(by=admin, name={project!r})
print(project.pk, create_token(by=admin, name="test", scope="write", days=1)[1])
"""


@dataclass(frozen=True)
class Rest:
    url: str
    token: str
    project: int

    def get(self, path: str) -> Any:
        return self._call("GET", path)

    def post(self, path: str, data: dict | None = None) -> Any:
        return self._call("POST", path, data or {})

    def make_target(self, name: str, *endpoints: dict) -> list[int]:
        """The ids of its endpoints."""
        target = self.post(
            "targets/", {"project": self.project, "name": name, "endpoints": list(endpoints)}
        )
        return [endpoint["id"] for endpoint in target["endpoints"]]

    def make_plan(self, name: str, path: str = "/", total_s: float = 1.0, **load) -> int:
        spec = {
            "steps": [{"method": "GET", "path": path}],
            "load": load,
            "connection_mode": "new",
            "timeouts": {"connect_s": total_s, "tls_s": total_s, "total_s": total_s},
        }
        return self.post("plans/", {"project": self.project, "name": name, "spec": spec})["id"]

    def start(self, name: str, *cells: tuple[int, int], repeats: int = 1) -> int:
        """A started campaign of (plan, endpoint) cells; its id."""
        campaign = self.post(
            "campaigns/",
            {
                "project": self.project,
                "name": name,
                "repeats": repeats,
                "pause_s": 0,
                "cells": [{"plan": plan, "endpoint": endpoint} for plan, endpoint in cells],
            },
        )["id"]
        self.post(f"campaigns/{campaign}/start/")
        return campaign

    def runs(self, campaign: int) -> list[dict]:
        return self.get(f"runs/?campaign={campaign}")["results"]

    def wait_for_state(self, campaign: int, state: str, seconds: float) -> list[dict]:
        """The campaign's runs, once all of them are in this state."""
        until = time.monotonic() + seconds
        while True:
            runs = self.runs(campaign)
            if runs and all(run["state"] == state for run in runs):
                return runs
            states = [(run["state"], run["reason"]) for run in runs]
            assert time.monotonic() < until, f"after {seconds:g} s: {states}"
            time.sleep(0.2)

    def _call(self, method: str, path: str, data: dict | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}",
            method=method,
            data=None if data is None else json.dumps(data).encode(),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)


def sign_in(site, project: str) -> Rest:
    """A token of the administrator, and a project of its own for the test."""
    done = subprocess.run(
        [
            sys.executable,
            "manage.py",
            "shell",
            "-c",
            MAKE_TOKEN.format(username=site.username, project=project),
        ],
        cwd=ROOT,
        env=site.env,
        check=True,
        capture_output=True,
        text=True,
    )
    number, token = done.stdout.split()[-2:]
    return Rest(site.url, token, int(number))
