"""The client as a module, which talks to the REST interface without sockets, and to GitHub's."""

import importlib.util
import io
import sys
import urllib.error
from pathlib import Path

import pytest
from django.conf import settings

from tests.cast import token_client
from tests.clients.github_api import github as github
from tests.clients.github_api import pull_request

CLIENT = Path(settings.BASE_DIR) / "clients" / "python" / "benchsite.py"
SITE = "https://bench.example"


def load_client():
    spec = importlib.util.spec_from_file_location("benchsite_client", CLIENT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


client_module = load_client()


@pytest.fixture
def job(monkeypatch, tmp_path, alice, github):
    """Runs the client with these arguments in a job of a pull request, as alice: its exit code."""
    api, real = token_client(alice), client_module.Api._once

    def once(self, method, path, body):
        if not self.base.startswith(SITE):
            return real(self, method, path, body)
        is_file = isinstance(body, bytes)
        how = {"content_type": "application/yaml"} if is_file else {"format": "json"}
        answer = getattr(api, method.lower())(f"/api/v1/{path}", body, **how)
        content = answer.getvalue()
        if answer.status_code >= 400:
            fault = urllib.error.HTTPError(path, answer.status_code, "", {}, io.BytesIO(content))
            raise client_module._http_error(fault, path)
        return content.decode()

    monkeypatch.setattr(client_module.Api, "_once", once)
    monkeypatch.setattr(client_module.signal, "signal", lambda *_: None)
    monkeypatch.setenv("BENCHSITE_URL", SITE)
    monkeypatch.setenv("BENCHSITE_TOKEN", "bs_pat_of_alice")
    monkeypatch.chdir(tmp_path)
    for name, value in github.env(pull_request(), tmp_path).items():
        monkeypatch.setenv(name, value)
    return lambda *arguments: client_module.main(list(arguments))
