"""A job of GitHub Actions, step by step, as far as the documentation's example goes: checkouts of
one repository, commands, and our own composite action."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

ACTION = Path(settings.BASE_DIR) / "clients" / "github"
_EXPRESSION = re.compile(r"\$\{\{ *([\w-]+)\.([\w-]+) *\}\}")


@dataclass
class Job:
    """`env` of the runner; `ref` is what is pushed. `said` is the output of the last step."""

    repository: Path
    workspace: Path
    ref: str
    env: dict[str, str]
    secrets: Mapping[str, str]
    said: str = ""
    known: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def run(self, workflow: str) -> int:
        """The exit code of the first step that fails, else 0."""
        (job,) = yaml.safe_load(workflow)["jobs"].values()
        self.workspace.mkdir()
        self.known = {"secrets": self.secrets, "github": {"token": self.env["GITHUB_TOKEN"]}}
        return next((code for step in job["steps"] if (code := self._step(step))), 0)

    def _step(self, step: dict[str, Any]) -> int:
        given = {name: self._filled(text) for name, text in step.get("with", {}).items()}
        uses = step.get("uses", "")
        if uses.startswith("actions/checkout@"):
            where, ref = self.workspace / given["path"], given.get("ref", self.ref)
            return self._command(f"git -C {self.repository} worktree add -q -f {where} {ref}")
        if "/clients/github@" in uses:
            return self._composite(yaml.safe_load((ACTION / "action.yml").read_text()), given)
        return self._command(self._filled(step["run"]), step.get("env", {}))

    def _composite(self, action: dict[str, Any], given: dict[str, str]) -> int:
        assert set(given) <= set(action["inputs"]), "an input that the action does not have"
        usual = {name: self._filled(each["default"]) for name, each in action["inputs"].items()}
        self.known["inputs"] = {**usual, **given}
        self.known["github"] = {**self.known["github"], "action_path": str(ACTION)}
        steps = action["runs"]["steps"]
        return max(self._command(each["run"], each["env"]) for each in steps)

    def _filled(self, text: str) -> str:
        known = {**self.known, "env": self._env_of_job()}
        return _EXPRESSION.sub(lambda match: known[match[1]][match[2]], text)

    def _env_of_job(self) -> dict[str, str]:
        path = Path(self.env["GITHUB_ENV"])
        lines = path.read_text().splitlines() if path.exists() else []
        return dict(line.split("=", 1) for line in lines)

    def _command(self, command: str, env: Mapping[str, str] | None = None) -> int:
        """As GitHub runs bash."""
        own = {name: self._filled(text) for name, text in (env or {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
            cwd=self.workspace,
            env={**os.environ, **self.env, **self._env_of_job(), **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        self.said = done.stdout
        return done.returncode
