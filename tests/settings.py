"""The site's settings for the tests: `make test` gives them to pytest with --ds."""

import os

from benchsite.settings import *

# Hashed names need a collected manifest; tests/test_static.py tests those by themselves.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
# A slow hash protects people's passwords; the cast has none worth it.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Programs that a test starts have the real settings.
os.environ["DJANGO_SETTINGS_MODULE"] = "benchsite.settings"
