"""The cast's project and people for a file that makes dear rows once: it imports these fixtures
over those of tests/cast.py, and makes its rows for `project_of_the_file`."""

import pytest
from django.contrib.auth.models import User

from campaigns.models import Project
from tests.kept_rows import forget


@pytest.fixture
def project(project_of_the_file, db) -> Project:
    forget()
    return Project.objects.get(pk=project_of_the_file.pk)


@pytest.fixture
def alice(project) -> User:
    return project.memberships.get(role="owner").user


@pytest.fixture
def vera(project) -> User:
    return project.memberships.get(role="viewer").user
