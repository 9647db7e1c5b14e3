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


def test_where_all_is_well_each_line_says_so(project, endpoint):
    host(slots=2)
    assert checks(project, endpoint) == [
        ("good", f"{ADDRESS} can be tested from here"),
        ("good", "2 of 2 injector slots are free"),
    ]


def test_an_installation_without_networks_says_which_setting_lists_them(
    project, endpoint, settings
):
    settings.ALLOWED_NETWORKS = []
    host(slots=1)
    (said,) = (text for shape, text in checks(project, endpoint) if shape == "bad")
    assert said.endswith("List networks in BENCHSITE_ALLOWED_NETWORKS.")


def test_an_address_outside_the_list_is_named_once(project, endpoint, settings):
    settings.ALLOWED_NETWORKS = ["10.0.0.0/8"]
    host(slots=1)
    outside = make_endpoint(endpoint.target, port=8443, host="192.0.2.7")
    said = checks(project, endpoint, outside, outside)
    assert said[-2] == ("good", f"{ADDRESS} can be tested from here")
    ((shape, refusal),) = said[:-2]
    assert shape == "bad"
    assert refusal.startswith("192.0.2.7")


def test_a_name_is_looked_up_when_the_run_starts(project, endpoint):
    host(slots=1)
    named = make_endpoint(endpoint.target, port=8443, host="shop.example")
    said = ("info", "shop.example is resolved and checked when the run starts")
    assert said in checks(project, named)


def test_without_a_host_it_says_how_to_start_one(project, endpoint):
    assert checks(project, endpoint)[-1] == (
        "bad",
        "No injector host is online. make run and docker compose up -d start one.",
    )


def test_more_slots_than_all_hosts_offer_are_never_free(project, endpoint):
    host(slots=2)
    assert ("bad", "Each run needs 3 injector slots, but only 2 are available.") in checks(
        project, endpoint, injectors=3
    )


def test_what_is_measured_now_is_waited_for(project, endpoint):
    """Its slots, the target, and another target on the same machine."""
    host(slots=2)
    campaign = started(project, endpoint=endpoint)
    assert dispatch.admit_runs() == 1
    claim(campaign.runs.get())
    assert checks(project, endpoint, injectors=2)[1:] == [
        ("warn", "1 of 2 injector slots is free; the first run waits for them."),
        ("info", "shop is being measured; the first run waits for it"),
    ]
    neighbour = make_endpoint(make_target(project, "search"), port=9090, host=ADDRESS)
    assert checks(project, neighbour)[1:] == [
        ("good", "1 of 2 injector slots is free"),
        ("info", f"{ADDRESS} is being measured; the first run waits for it"),
    ]
    elsewhere = make_endpoint(make_target(project, "mail"), host=machine(77))
    assert [shape for shape, _ in checks(project, elsewhere)] == ["good", "good"]
