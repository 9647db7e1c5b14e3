"""What is said before a campaign starts: of addresses, slots and targets that are measured now."""

import pytest

from campaigns.queries.checks import checks_before_start
from campaigns.services import dispatch
from tests.factories import make_endpoint, make_target
from tests.services.engine import claim, host, machine, started

pytestmark = pytest.mark.django_db
ADDRESS = "10.0.0.5"


@pytest.fixture
def endpoint(project):
    return make_endpoint(make_target(project, "shop"), host=ADDRESS)


def checks(project, *endpoints, injectors=1) -> list[tuple[str, str]]:
    found = checks_before_start(project, endpoints, injectors)
    return [(check.shape, check.text) for check in found]


def shapes(project, *endpoints, injectors=1) -> list[str]:
    return [shape for shape, _ in checks(project, *endpoints, injectors=injectors)]


def test_where_all_is_well_each_line_says_so(project, endpoint):
    host(slots=2)
    assert shapes(project, endpoint) == ["good", "good"]


def test_an_address_outside_the_list_is_named_once(project, endpoint, settings):
    settings.ALLOWED_NETWORKS = ["10.0.0.0/8"]
    host(slots=1)
    outside = make_endpoint(endpoint.target, port=8443, host="192.0.2.7")
    assert shapes(project, endpoint, outside, outside) == ["bad", "good", "good"]
    assert checks(project, endpoint, outside)[0][1].startswith("192.0.2.7")


def test_a_name_is_looked_up_when_the_run_starts(project, endpoint):
    host(slots=1)
    assert "info" in shapes(project, make_endpoint(endpoint.target, host="shop.example"))


def test_more_slots_than_all_hosts_offer_are_never_free(project, endpoint):
    assert "bad" in shapes(project, endpoint), "no host is online"
    host(slots=2)
    assert "bad" in shapes(project, endpoint, injectors=3)


def test_what_is_measured_now_is_waited_for(project, endpoint):
    """Its slots, the target, and another target on the same machine."""
    host(slots=2)
    campaign = started(project, endpoint=endpoint)
    assert dispatch.admit_runs() == 1
    claim(campaign.runs.get())
    assert shapes(project, endpoint, injectors=2)[1:] == ["warn", "info"]
    neighbour = make_endpoint(make_target(project, "search"), port=9090, host=ADDRESS)
    assert shapes(project, neighbour)[1:] == ["good", "info"]
    elsewhere = make_endpoint(make_target(project, "mail"), host=machine(77))
    assert shapes(project, elsewhere) == ["good", "good"]
