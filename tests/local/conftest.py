"""Runs the code of `local` in processes of its own: it adopts and ends orphans, also ours."""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass
class Script:
    """A program that uses `local`, started in a folder that any account may enter."""

    folder: Path
    processes: list[subprocess.Popen]

    def start(self, code: str, **options) -> subprocess.Popen:
        process = subprocess.Popen(
            [*self._as(options.pop("uid", None)), sys.executable, "-c", code, str(self.folder)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,
        )
        self.processes.append(process)
        return process

    def run(self, code: str, **options) -> str:
        """Its output; a failure of the script is a failure of the test."""
        process = self.start(code, **options)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
        return output

    @staticmethod
    def _as(uid: int | None) -> list[str]:
        if uid is None:
            return []
        return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


@contextmanager
def folder_for_servers():
    """A folder that lets nobody through to PostgreSQL's data; pytest's own never stay so."""
    folder = Path(tempfile.mkdtemp(prefix="benchsite-local-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def folder():
    with folder_for_servers() as folder:
        yield folder


@pytest.fixture
def script(folder):
    script = Script(folder, [])
    yield script
    for process in script.processes:
        process.kill()
        process.wait()
