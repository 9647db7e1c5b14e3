"""An installation's REST API in the hand of a test: makes what a test of pages is about."""

import json
import time
import urllib.request
from dataclasses import dataclass
from typing import Any

ASK_EVERY_S = 0.5  # an answer takes the server some 20 ms


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

    def make_plan(self, name: str, *paths: str, total_s: float = 1.0, **load) -> int:
        """A plan with a step for each path, or for "/" alone."""
        spec = {
            "steps": [{"method": "GET", "path": path} for path in paths or ("/",)],
            "load": load,
            "connection_mode": "new",
            "timeouts": {"connect_s": total_s, "tls_s": total_s, "total_s": total_s},
        }
        return self.post("plans/", {"project": self.project, "name": name, "spec": spec})["id"]

    def start(
        self, name: str, *cells: tuple[int, int], repeats: int = 1, keeps_going: bool = False
    ) -> int:
        """A campaign of (plan, endpoint) cells, started without its first requests; its id."""
        campaign = self.post(
            "campaigns/",
            {
                "project": self.project,
                "name": name,
                "repeats": repeats,
                "pause_s": 0,
                "keeps_going": keeps_going,
                "cells": [{"plan": plan, "endpoint": endpoint} for plan, endpoint in cells],
            },
        )["id"]
        self.post(f"campaigns/{campaign}/start/", {"anyway": True})
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
            time.sleep(ASK_EVERY_S)

    def _call(self, method: str, path: str, data: dict | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}",
            method=method,
            data=None if data is None else json.dumps(data).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)
