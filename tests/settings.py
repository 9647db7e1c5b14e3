"""The site's settings for the tests: `make test` gives them to pytest with --ds."""

import os

from jinja2 import ChainableUndefined, FileSystemBytecodeCache

# The workers of a run compile each template once between them.
compiled = os.environ["BENCHSITE_VAR"]
# A worker of a parallel run has a Redis and a folder of its own; its database is pytest-django's.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["REDIS_URL"] = os.environ[f"REDIS_URL_{worker}"]
    os.environ["BENCHSITE_VAR"] += f"/{worker}"

from benchsite.settings import *

# `make test` has a migrated database, which is copied; without it each is migrated.
template = os.environ.get("TESTS_TEMPLATE")
DATABASES["default"]["TEST"] = {"TEMPLATE": template, "MIGRATE": template is None}

# The machines that tests only talk about.
ALLOWED_NETWORKS += ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]

# Hashed names need a collected manifest; tests/test_static.py tests those by themselves.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
# By this name the live server of tests knows that it has static files to serve.
INSTALLED_APPS = [
    "django.contrib.staticfiles" if app == "benchsite.staticfiles.StaticFilesConfig" else app
    for app in INSTALLED_APPS
]


class Missing(ChainableUndefined):
    """What a template prints, counts or goes through must be there; it may ask whether it is."""

    __slots__ = ()
    __iter__ = __str__ = __len__ = __html__ = ChainableUndefined._fail_with_undefined_error


TEMPLATES[0]["OPTIONS"]["undefined"] = Missing
TEMPLATES[0]["OPTIONS"]["bytecode_cache"] = FileSystemBytecodeCache(compiled)

# A slow hash protects people's passwords; the cast has none worth it.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# A provider that nobody serves; tests that start one name it.
SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"] = [
    {
        "provider_id": "oidc",
        "name": "Example SSO",
        "client_id": "benchsite",
        "secret": "secret",
        "settings": {"server_url": "http://127.0.0.1:9"},
    }
]

# Programs that a test starts have the real settings.
os.environ["DJANGO_SETTINGS_MODULE"] = "benchsite.settings"
