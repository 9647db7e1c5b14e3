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
    """`env` of the runner; `ref` is what is pushed. `output` is that of the last step."""

    repository: Path
    workspace: Path
    ref: str
    env: dict[str, str]
    secrets: Mapping[str, str]
    output: str = ""
    context: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def run(self, workflow: str) -> int:
        """The exit code of the first step that fails, else 0."""
        (job,) = yaml.safe_load(workflow)["jobs"].values()
        self.workspace.mkdir()
        self.context = {"secrets": self.secrets, "github": {"token": self.env["GITHUB_TOKEN"]}}
        return next((code for step in job["steps"] if (code := self._step(step))), 0)

    def _step(self, step: dict[str, Any]) -> int:
        inputs = {name: self._fill(text) for name, text in step.get("with", {}).items()}
        uses = step.get("uses", "")
        if uses.startswith("actions/checkout@"):
            where, ref = self.workspace / inputs["path"], inputs.get("ref", self.ref)
            return self._command(f"git -C {self.repository} worktree add -q -f {where} {ref}")
        if "/clients/github@" in uses:
            return self._composite(yaml.safe_load((ACTION / "action.yml").read_text()), inputs)
        return self._command(self._fill(step["run"]), step.get("env", {}))

    def _composite(self, action: dict[str, Any], inputs: dict[str, str]) -> int:
        assert set(inputs) <= set(action["inputs"]), "an input that the action does not have"
        usual = {name: self._fill(each["default"]) for name, each in action["inputs"].items()}
        self.context["inputs"] = {**usual, **inputs}
        self.context["github"] = {**self.context["github"], "action_path": str(ACTION)}
        steps = action["runs"]["steps"]
        return max(self._command(each["run"], each["env"]) for each in steps)

    def _fill(self, text: str) -> str:
        context = {**self.context, "env": self._env_of_job()}
        return _EXPRESSION.sub(lambda match: context[match[1]][match[2]], text)

    def _env_of_job(self) -> dict[str, str]:
        path = Path(self.env["GITHUB_ENV"])
        lines = path.read_text().splitlines() if path.exists() else []
        return dict(line.split("=", 1) for line in lines)

    def _command(self, command: str, env: Mapping[str, str] | None = None) -> int:
        """As GitHub runs bash."""
        own = {name: self._fill(text) for name, text in (env or {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
            cwd=self.workspace,
            env={**os.environ, **self.env, **self._env_of_job(), **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        self.output = done.stdout
        return done.returncode
