"""What is said before a campaign starts."""

from types import SimpleNamespace

import pytest

from campaigns.campaigns.queries.checks import (
    Room,
    checks_before_start,
    machine_rule_checks,
    room_checks,
    room_of,
)
from campaigns.domain.plan.estimates import LOCAL_PORTS, estimate_campaign
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.engine.services import dispatch
from campaigns.models import Endpoint, Exporter
from tests.engine.scenes import claim, host, machine, others_use, started
from tests.factories import make_endpoint, make_run, make_target
from tests.values import plan_spec

pytestmark = pytest.mark.django_db

ADDRESS = "10.0.0.5"


@pytest.fixture
def endpoint(project):
    return make_endpoint(make_target(project, "shop"), host=ADDRESS)


def checks(project, *endpoints, injectors=1) -> list[tuple[str, str]]:
    return [
        (check.shape, check.text) for check in checks_before_start(project, endpoints, injectors)
    ]


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
    """Its slots, the target once for all its runs, and another target on the same machine."""
    host(slots=2)
    campaign = started(project, endpoint=endpoint)
    assert dispatch.admit_runs() == 1
    run = campaign.runs.get()
    claim(run)
    make_run(run.test, 2, state="running", leader=run)
    assert shapes(project, endpoint, injectors=2)[1:] == ["warn", "info"]
    neighbour = make_endpoint(make_target(project, "search"), port=9090, host=ADDRESS)
    assert shapes(project, neighbour)[1:] == ["good", "info"]
    elsewhere = make_endpoint(make_target(project, "mail"), host=machine(77))
    assert shapes(project, elsewhere) == ["good", "good"]


AMPLE = Room(ports=60_000, open_files=20_000, reuses_ports=False)


def machine_of(is_alive=True, **facts):
    return SimpleNamespace(is_alive=is_alive, facts=facts)


def texts(room=AMPLE, repeats=1, mode=ConnectionMode.NEW, **load):
    usual = {"model": "open", "rate_per_s": 500, "duration_s": 60}
    plan = Plan.from_json({"steps": [{"method": "GET", "path": "/"}], "load": usual | load})
    estimate = estimate_campaign([(plan, mode, 1)], repeats=repeats, pause_s=0)
    return [check.text for check in room_checks(estimate, room)]


def test_the_least_of_the_hosts_that_answer_counts():
    hosts = [
        machine_of(local_ports="32768 60999", open_files=1024, time_wait_reuse="1"),
        machine_of(local_ports="1024\t65535", open_files=20_000, time_wait_reuse="1"),
        machine_of(is_alive=False, local_ports="1 2", open_files=3, time_wait_reuse="0"),
    ]
    assert room_of(hosts) == Room(28_232, 1024, reuses_ports=True)


def test_a_host_that_says_nothing_has_what_is_usual():
    for facts in [{}, {"local_ports": "", "open_files": -1}, {"local_ports": "x"}]:
        assert room_of([machine_of(**facts)]) == Room(LOCAL_PORTS, None, reuses_ports=False)


def test_what_fits_is_no_check():
    assert texts() == []


def test_too_many_new_connections_for_the_ports_of_a_minute():
    (text,) = texts(Room(20_000, None, reuses_ports=False))
    assert "30,000 local ports" in text
    assert "has 20,000" in text
    assert "2 times as many injector hosts" in text


def test_ports_that_are_used_again_suffice():
    for room, mode in [
        (Room(20_000, None, reuses_ports=True), ConnectionMode.NEW),
        (Room(20_000, None, reuses_ports=False), ConnectionMode.KEEP_ALIVE),
    ]:
        assert texts(room, mode=mode) == []


def test_too_many_open_files():
    (text,) = texts(Room(60_000, 4096, reuses_ports=False))
    assert "10,064 open files, but its limit is 4,096" in text


def test_more_rows_than_pages_can_bear():
    (text,) = texts(repeats=30, rate_per_s=1, duration_s=40_000)
    assert "1,200,000 rows, about 2 GB" in text


RULE = {"metric": "target_cpu", "limit": 80, "unit": "%"}


@pytest.fixture
def shop(project) -> Endpoint:
    return make_endpoint(make_target(project, "shop"))


def plan(*rules: dict) -> Plan:
    return Plan.from_json({**plan_spec(), "thresholds": list(rules)})


def rule_checks(*cells) -> list[tuple[str, str]]:
    return [(each.shape, each.text) for each in machine_rule_checks(cells)]


def test_a_target_that_nobody_watches_is_named_once(shop):
    ((shape, text),) = rule_checks((plan(RULE), shop), (plan(RULE), shop))
    assert (shape, "shop" in text) == ("warn", True)


def test_an_exporter_that_is_not_known_to_tell_nothing_is_enough(shop):
    url = "http://127.0.0.1:9800/metrics"
    exporter = Exporter.objects.create(target=shop.target, name="shop-1", url=url)
    assert rule_checks((plan(RULE), shop)) == []
    exporter.problem = "It refuses connections."
    exporter.save()
    assert rule_checks((plan(RULE), shop))


def test_what_disturbs_the_only_host_is_said_before_the_start(project, endpoint):
    host(slots=2, use=others_use(0.45))
    assert "warn" not in shapes(project, endpoint)
    host(slots=2, use=others_use(0.9))
    assert (
        "warn",
        "python3 report.py uses 90\u202f% of this machine's CPU. "
        "Medians stay reliable; p99 may not.",
    ) in checks(project, endpoint)


def test_of_several_hosts_the_busy_one_is_named(project, endpoint):
    host(slots=2, name="lab-1", use=others_use(0.1))
    host(slots=2, name="lab-2", use=others_use(0.9))
    assert any("of lab-2's CPU" in text for _, text in checks(project, endpoint))
