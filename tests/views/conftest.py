"""Who looks at the pages, and what they may measure."""

import pytest

from tests.factories import make_endpoint, make_plan, make_target


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


@pytest.fixture
def target(project):
    """A target with HTTP and HTTPS."""
    target = make_target(project, "checkout-api")
    make_endpoint(target, "http")
    make_endpoint(target, "https")
    return target


@pytest.fixture
def version(project):
    """The only version of a plan."""
    return make_plan(project, "Prices")
