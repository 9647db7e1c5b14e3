"""What a web process has loaded before it takes requests: all that its first reader needs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.db import connection
from django.urls import reverse

from tests.factories import make_campaign, make_run, make_test
from tests.live.test_streams_served import cookie_of
from tests.measured import measure

ROOT = Path(__file__).resolve().parent.parent
# Asks the application as a web server does, without anything that would load more.
FIRST_REQUESTS = """
import json, sys
from wsgiref.util import setup_testing_defaults
from benchsite.wsgi import application
from campaigns.rest.schema import described
from django.template.base import Template

modules, templates, compile_ = set(sys.modules), [], Template.compile_nodelist
n_before = described.cache_info().misses

def note_and_compile(template):
    templates.append(template.name)
    return compile_(template)

Template.compile_nodelist = note_and_compile
statuses = []
for path in sys.argv[2:]:
    # An open copy of a page asks for its regions, without the names of static files.
    environ = {"PATH_INFO": path, "HTTP_COOKIE": sys.argv[1]}
    environ["HTTP_X_REQUESTED_WITH"] = "XMLHttpRequest"
    setup_testing_defaults(environ)
    answer = application(environ, lambda status, headers: statuses.append(status))
    b"".join(answer)
    answer.close()
n_schemas = described.cache_info().misses - n_before
print(json.dumps([statuses, sorted(set(sys.modules) - modules), templates, n_schemas]))
"""


# What takes time to load; of Django some small modules follow.
LOADED_AHEAD = {"benchsite", "campaigns", "numpy", "re2", "rest_framework"}


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_the_first_requests_of_a_process_load_no_code_and_compile_no_page(project, alice):
    run = make_run(make_test(make_campaign(project)))
    measure(run, 12_000)
    pages = [reverse("run-detail", args=[run.pk]), reverse("api-run", args=[run.pk])]
    addresses = [*pages, reverse("api-schema")]
    statuses, modules, templates, schemas = first_requests(cookie_of(alice), *addresses)
    assert statuses == ["200 OK"] * 3
    assert schemas == 0
    assert [name for name in modules if name.partition(".")[0] in LOADED_AHEAD] == []
    assert [name for name in templates if not name.startswith("django/forms/")] == []


def first_requests(cookie: str, *paths: str) -> tuple[list[str], list[str], list[str], int]:
    """The answers' statuses; the modules that were imported and templates compiled for them, and
    how often the API's schema was made."""
    database = urlsplit(os.environ["DATABASE_URL"])
    of_test = database._replace(path=f"/{connection.settings_dict['NAME']}")
    env = {**os.environ, "DATABASE_URL": urlunsplit(of_test)}
    command = [sys.executable, "-c", FIRST_REQUESTS, cookie, *paths]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return tuple(json.loads(done.stdout.splitlines()[-1]))
