"""The study of several servers: its file sets on each of them."""

import pytest

from campaigns.domain.errors import Forbidden, Refused
from campaigns.permissions import NOBODY
from campaigns.services.campaigns import create_file_set_study, create_machine_study
from tests.factories import make_endpoint, make_target

pytestmark = pytest.mark.django_db


def server(project, name, *hosts):
    target = make_target(project, name)
    for host in hosts:
        make_endpoint(target, host=host)
    return target


def cells_of(campaign):
    tests = campaign.tests.select_related("plan_version__plan", "endpoint__target")
    return [(test.plan_version.plan.name, test.endpoint.target.name) for test in tests]


def test_each_server_gets_every_file_set_of_its_place_five_times(project, as_bob):
    targets = [server(project, "apache", "127.0.0.1", "10.1.2.3"), server(project, "nginx", "::1")]
    draft = create_file_set_study(by=as_bob, project=project, targets=targets)
    assert (draft.state, draft.repeats, draft.order) == ("draft", 5, "blocks")
    assert cells_of(draft) == [
        *(("L1", "apache"), ("L1", "nginx"), ("L2", "apache"), ("L2", "nginx")),
        *(("L3", "apache"), ("L3", "nginx")),
        *(("R1", "apache"), ("R2", "apache"), ("R3", "apache")),
    ]
    assert {test.connection_mode for test in draft.tests.all()} == {"new"}


def test_plans_are_made_once(project, as_bob):
    targets = [server(project, name, "10.1.2.3") for name in ("apache", "nginx")]
    for _ in range(2):
        create_file_set_study(by=as_bob, project=project, targets=targets)
    names = project.plans.order_by("name").values_list("name", flat=True)
    assert list(names) == ["R1", "R2", "R3"]


def test_it_compares_at_least_two_servers_over_http(project, as_bob):
    alone, bare = server(project, "apache", "10.1.2.3"), server(project, "bare")
    with pytest.raises(Refused, match="2 to 8 targets"):
        create_file_set_study(by=as_bob, project=project, targets=[alone])
    with pytest.raises(Refused, match="bare has no HTTP endpoint"):
        create_file_set_study(by=as_bob, project=project, targets=[alone, bare])
    assert not project.plans.exists()


def test_with_the_machine_one_server_gets_them_for_as_long_as_in_the_study(project, as_bob):
    shop = server(project, "shop", "127.0.0.1")
    for _ in range(2):
        draft = create_machine_study(by=as_bob, project=project, target=shop)
    assert (draft.state, draft.repeats, draft.order) == ("draft", 5, "blocks")
    names = ["L1 for 5 s", "L2 for 25 s", "L3 for 5 s"]
    assert cells_of(draft) == [(name, "shop") for name in names]
    plans = [test.plan_version.value() for test in draft.tests.order_by("position")]
    assert [plan.load.duration_s for plan in plans] == [5, 25, 5]
    assert [plan.load.requests for plan in plans] == [None] * 3
    assert [len(plan.steps) for plan in plans] == [1, 5, 5]


def test_who_may_not_edit_makes_none(project):
    with pytest.raises(Forbidden):
        create_file_set_study(by=NOBODY, project=project, targets=[])
    with pytest.raises(Forbidden):
        create_machine_study(by=NOBODY, project=project, target=server(project, "shop"))
