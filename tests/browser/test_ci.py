"""The example of docs/ci.md, step by step: a scratch repository whose server gets slower, GitHub's
interface, and a whole installation that measures."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from django.conf import settings

from tests.clients.actions import Job
from tests.clients.github_api import github as github
from tests.clients.github_api import pull_request

pytestmark = pytest.mark.long

DOCS = Path(settings.BASE_DIR) / "docs" / "ci.md"
SERVER = """\
import sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # else the body waits for the acknowledgement of the head
    def do_GET(self):
        time.sleep({seconds})
        self.send_response({status})
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
        self.wfile.flush()
    def log_message(self, *_): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"{{sys.argv[1]}}=http://127.0.0.1:{{server.server_port}}/", flush=True)
server.serve_forever()
"""
# Writes the address once the server listens; it ends with the test.
DEPLOY = """\
#!/bin/bash
cd "$(dirname "$0")"
python3 server.py "$1" > address 2> /dev/null < /dev/null & echo $! >> "$PIDS"
until [ -s address ]; do sleep 0.1; done
cat address >> "$GITHUB_ENV"
"""


def examples() -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", DOCS.read_text(), re.S)


class Repository:
    """A scratch one; `push` commits a server on a branch."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._git("init", "-q", "-b", "main")

    def push(self, branch: str, seconds: float, status: int = 200) -> str:
        self._git("checkout", "-q", "-B", branch)
        (self.folder / "server.py").write_text(SERVER.format(seconds=seconds, status=status))
        (self.folder / "deploy.sh").write_text(DEPLOY)
        (self.folder / "deploy.sh").chmod(0o755)
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", f"takes {seconds} s")
        sha = self._git("rev-parse", "HEAD")
        self._git("checkout", "-q", "--detach")
        return sha

    def _git(self, *words: str) -> str:
        who = ("-c", "user.name=t", "-c", "user.email=t@shop.test")
        done = subprocess.run(
            ["git", *who, *words], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()


@pytest.fixture
def push(site, new_project, github, tmp_path):
    """Runs the job of a push to the pull request: its exit code, and what its last step said."""
    rest = new_project()
    (tmp_path / "shop").mkdir()
    repository = Repository(tmp_path / "shop")
    repository.push("main", 0.020)
    numbers = iter(range(100))
    pids = tmp_path / "pids"

    def run(seconds: float, status: int = 200) -> Job:
        sha, folder = repository.push("slow", seconds, status), tmp_path / str(next(numbers))
        folder.mkdir()
        env = github.env(pull_request(sha=sha), folder)
        env |= {"GITHUB_ENV": str(folder / "env"), "PIDS": str(pids), "BENCHSITE_URL": site.url}
        secrets = {"BENCHSITE_TOKEN": rest.token}
        job = Job(repository.folder, folder / "work", sha, env, secrets)
        workflow = examples()[0].replace("https://bench.example", site.url)
        short = f"--rate 100 --seconds 20 --comment --check --project {rest.project}"
        job.code = job.run(f"{workflow.rstrip()}\n          arguments: {short}\n")
        return job

    yield run
    for pid in pids.read_text().split():
        os.kill(int(pid), 9)


def test_a_slower_commit_fails_its_job_and_the_next_push_edits_the_comment(push, github, site):
    job = push(0.026)
    assert job.code == 1, job.output
    (comment,), (check,) = github.comments, github.checks
    # Both ends of the interval, or one where they read alike.
    bounds = re.search(r" is (.*?) slower than ", comment["body"])[1]
    assert all(15 < float(size) < 40 for size in re.findall(r"[\d.]+", bounds)), bounds
    assert "at the median. The limit is 10 %." in comment["body"]
    assert f"[See the result]({site.url}/campaigns/" in comment["body"]
    assert (check["conclusion"], check["head_sha"]) == ("failure", job.ref)

    job = push(0.020)
    assert job.code == 0, job.output
    assert len(github.comments) == 1
    headline = github.comments[0]["body"].splitlines()[1]
    assert headline.startswith(("**No test is slower", "**Too close to call"))
    assert github.checks[-1]["conclusion"] in {"success", "neutral"}

    job = push(0.020, status=503)
    assert job.code == 4, job.output
    assert "Could not measure. 503 Service Unavailable" in github.comments[0]["body"]


@pytest.fixture
def busy_machine():
    """A program on each core that wants all of it."""
    programs = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    yield
    for each in programs:
        each.kill()
        each.wait()


def test_on_a_busy_machine_a_job_fails_and_passes_rightly(push, github, busy_machine):
    job = push(0.026)
    assert job.code == 1, job.output
    assert " slower than " in github.comments[0]["body"]
    job = push(0.020)
    assert job.code == 0, job.output


def test_the_gitlab_job_writes_its_reports(site, new_project, tmp_path):
    rest = new_project()
    spec, template = yaml.safe_load_all(
        (settings.BASE_DIR / "clients" / "gitlab" / "benchsite.yml").read_text()
    )
    (include,) = yaml.safe_load(examples()[1])["include"]
    assert set(include["inputs"]) <= set(spec["spec"]["inputs"])
    inputs = {name: each["default"] for name, each in spec["spec"]["inputs"].items()}
    inputs |= {"url": site.demo_http}
    inputs |= {"against": site.demo_http.replace("127.0.0.1", "localhost")}
    inputs |= {
        "arguments": f"--rate 200 --seconds 20 --project {rest.project}",
        "fail-if": "errors > 1 %",
    }
    job = template["benchsite"]
    env = {
        name: re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda match: inputs[match[1]], text)
        for name, text in job["variables"].items()
    }
    env |= {"BENCHSITE_URL": site.url, "BENCHSITE_TOKEN": rest.token, "CI_COMMIT_SHA": "7" * 40}
    done = subprocess.run(
        ["sh", "-ec", "\n".join(job["script"])],
        cwd=tmp_path,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    reports = {name: tmp_path / path for name, path in job["artifacts"]["reports"].items()}
    suite = ElementTree.parse(reports["junit"]).getroot()  # noqa: S314  (our own)
    assert suite.get("failures") == "0"
    assert json.loads(reports["load_performance"].read_text())["metrics"]["http_reqs"]["rate"] > 0
    assert json.loads(reports["codequality"].read_text()) == []
    (campaign,) = rest.get(f"campaigns/?project={rest.project}")["results"]
    assert campaign["commit"] == "7" * 40
