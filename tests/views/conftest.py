"""Who looks at the pages, and what they may measure."""

import pytest

from campaigns.models import Campaign
from tests.factories import make_endpoint, make_plan, make_project, make_target, make_user
from tests.kept_rows import forget
from tests.searches import limit_of, search_through, searching


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
def adam(client):
    """The browser of an administrator."""
    client.force_login(make_user("adam", is_superuser=True))
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


@pytest.fixture(scope="module")
def search_of_the_file(rows_of_the_file) -> Campaign:
    campaign = searching(make_project("Searched", owner=make_user("searcher")))
    search_through(campaign, limit_of(1850))
    return campaign


@pytest.fixture
def searched(search_of_the_file, db) -> Campaign:
    """A search that has found some 1,850 requests/s; what a test changes of it is undone."""
    forget()
    return Campaign.objects.get(pk=search_of_the_file.pk)


@pytest.fixture
def as_searcher(client, searched):
    """The browser of the owner of what was searched."""
    client.force_login(searched.project.memberships.get(role="owner").user)
    return client
