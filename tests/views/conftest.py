"""Who looks at the pages."""

import pytest


@pytest.fixture
def as_editor(client, project, bob):
    """Bob's browser: he may edit the project."""
    client.force_login(bob)
    return client


@pytest.fixture
def viewer(client, project, vera):
    """Vera's browser: she may look."""
    client.force_login(vera)
    return client
