"""GitHub's REST interface as its documentation has it, as far as the client uses it: check runs and
comments of issues. It refuses what GitHub refuses."""

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

REPOSITORY, TOKEN, MOST = "shop/shop", "ghs_of_the_job", 65_536
_STATUSES = {"queued", "in_progress", "completed"}
_CONCLUSIONS = {"success", "failure", "neutral", "cancelled", "skipped", "timed_out"}


@dataclass
class GitHubApi:
    """`permissions`: what the job's token may write."""

    port: int = 0
    permissions: set[str] = field(default_factory=lambda: {"checks", "pull-requests"})
    comments: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    history: list[str] = field(default_factory=list)  # the status of a check after each request

    def env(self, event: dict[str, Any], folder: Any) -> dict[str, str]:
        """Of a job, as GitHub sets it."""
        path = folder / "event.json"
        path.write_text(json.dumps(event))
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": f"http://127.0.0.1:{self.port}",
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_RUN_ID": "77",
            "GITHUB_SHA": "9" * 40,  # the merge, which is on no branch
            "GITHUB_HEAD_REF": "faster-cart",
            "GITHUB_EVENT_PATH": str(path),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "GITHUB_TOKEN": TOKEN,
        }

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        where = path.removeprefix(f"/repos/{REPOSITORY}/")
        if match := re.fullmatch(r"issues/(\d+)/comments", where):
            return self._comments(method, query, body)
        if match := re.fullmatch(r"issues/comments/(\d+)", where):
            return self._edit_comment(int(match[1]), body)
        if where == "check-runs" and method == "POST":
            return self._begin_check(body)
        if (match := re.fullmatch(r"check-runs/(\d+)", where)) and method == "PATCH":
            return self._end_check(int(match[1]), body)
        return 404, {"message": "Not Found"}

    def _comments(self, method: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        if method == "GET":
            size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
            return 200, self.comments[(page - 1) * min(size, 100) :][: min(size, 100)]
        if refusal := self._refusal("pull-requests", body["body"]):
            return refusal
        self.comments.append({"id": len(self.comments) + 1, "body": body["body"]})
        return 201, self.comments[-1]

    def _edit_comment(self, number: int, body: Any) -> tuple[int, Any]:
        if refusal := self._refusal("pull-requests", body["body"]):
            return refusal
        self.comments[number - 1]["body"] = body["body"]
        return 200, self.comments[number - 1]

    def _refusal(self, permission: str, text: str) -> tuple[int, Any] | None:
        if permission not in self.permissions:
            return 403, {"message": "Resource not accessible by integration"}
        if len(text) > MOST:
            return 422, {"message": "Body is too long (maximum is 65536 characters)"}
        return None

    def _begin_check(self, body: Any) -> tuple[int, Any]:
        if refusal := self._refusal("checks", ""):
            return refusal
        if not (body["name"] and re.fullmatch("[0-9a-f]{40}", body["head_sha"])):
            return 422, {"message": "Invalid request."}
        self.checks.append({"id": len(self.checks) + 1, **body})
        self.history.append(body["status"])
        return 201, self.checks[-1]

    def _end_check(self, number: int, body: Any) -> tuple[int, Any]:
        if refusal := self._refusal("checks", body["output"]["summary"]):
            return refusal
        is_whole = body["conclusion"] in _CONCLUSIONS and len(body["output"]["title"]) <= 255
        if body["status"] not in _STATUSES or not is_whole:
            return 422, {"message": "Invalid request."}
        self.checks[number - 1].update(body)
        self.history.append(body["status"])
        return 200, self.checks[number - 1]


@pytest.fixture
def github() -> Iterator[GitHubApi]:
    api = GitHubApi()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, reply = 401, {"message": "Bad credentials"}
            if self.headers["Authorization"] == f"Bearer {TOKEN}":
                query = dict(parse_qsl(parts.query))
                status, reply = api.answer(self.command, parts.path, query, body)
            text = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = handle_any

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    api.port = server.server_port
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()


def pull_request(head: str = REPOSITORY, sha: str = "8" * 40, number: int = 12) -> dict[str, Any]:
    """The event of one from this repository, or from a fork."""
    repo = {"full_name": head}
    return {"pull_request": {"number": number, "head": {"sha": sha, "repo": repo}}}
