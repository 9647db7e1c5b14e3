"""`If-Match`: a change is made only to what its sender has read."""

from collections.abc import Callable
from threading import Thread

import pytest
from django.db import connection

from campaigns.models import Exporter, OwnTlsProfile, SavedPlan, Target
from tests.cast import token_client
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_target,
    make_user,
)
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
_ENDPOINT = {"scheme": "http", "host": "10.0.0.5", "port": 80}


def _target(project) -> str:
    make_endpoint(target := make_target(project))
    return f"/api/v1/targets/{target.pk}/"


def _plan(project) -> str:
    return f"/api/v1/plans/{make_plan(project).plan_id}/"


def _campaign(project) -> str:
    return f"/api/v1/campaigns/{make_campaign(project).pk}/"


def _project(project) -> str:
    return f"/api/v1/projects/{project.pk}/"


def _exporter(project) -> str:
    exporter = Exporter.objects.create(
        target=make_target(project), name="shop-1", url="http://10.0.0.5:9100/metrics"
    )
    return f"/api/v1/exporters/{exporter.pk}/"


def _profile(project) -> str:
    profile = OwnTlsProfile.objects.create(project=project, name="ours")
    return f"/api/v1/tls-profiles/{profile.pk}/"


_CHANGES = {
    "target": (_target, "put", {"name": "{}", "endpoints": [_ENDPOINT]}),
    "plan": (_plan, "put", {"name": "{}", "spec": plan_spec()}),
    "tags of a campaign": (_campaign, "patch", {"tags": ["{}"]}),
    "name of a project": (_project, "patch", {"name": "{}"}),
    "exporter": (_exporter, "put", {"name": "{}", "url": "http://10.0.0.5:9100/metrics"}),
    "TLS profile": (_profile, "put", {"name": "{}"}),
}


@pytest.fixture(params=_CHANGES)
def row_and_change(request, project, api) -> tuple[str, Callable]:
    """The address of a row, and what changes it to another name or tag."""
    make, method, body = _CHANGES[request.param]
    address = make(project)

    def change(word: str, tag: str = ""):
        data = {
            key: [word] if value == ["{}"] else word if value == "{}" else value
            for key, value in body.items()
        }
        headers = {"If-Match": tag} if tag else {}
        return getattr(api, method)(address, data, format="json", headers=headers)

    return address, change


def test_what_was_changed_since_it_was_read_is_not_overwritten(api, row_and_change):
    address, change = row_and_change
    tag = api.get(address)["ETag"]
    assert change("first").status_code == 200
    state = api.get(address).json()
    answer = change("second", tag)
    assert answer.status_code == 412
    assert answer.json()["error"]["code"] == "changed"
    assert api.get(address).json() == state


def test_what_is_as_it_was_read_is_changed_and_the_answer_names_it_anew(api, row_and_change):
    address, change = row_and_change
    answer = change("first", api.get(address)["ETag"])
    assert answer.status_code == 200
    assert answer["ETag"] == api.get(address)["ETag"]
    assert change("second", answer["ETag"]).status_code == 200


def test_a_tag_that_compression_made_weak_is_the_same(api, row_and_change):
    address, change = row_and_change
    assert change("first", f"W/{api.get(address)['ETag']}").status_code == 200


def test_one_of_several_tags_and_any_at_all_will_do(api, row_and_change):
    address, change = row_and_change
    assert change("first", f'"other", {api.get(address)["ETag"]}').status_code == 200
    assert change("second", "*").status_code == 200
    assert change("third", "nonsense").status_code == 412


def test_what_was_changed_since_is_not_deleted(api, project):
    address = _target(project)
    tag = api.get(address)["ETag"]
    api.patch(address, {"tags": ["kept"]}, format="json")
    assert api.delete(address, headers={"If-Match": tag}).status_code == 412
    assert Target.objects.get().tags == ["kept"]
    assert api.delete(address, headers={"If-Match": api.get(address)["ETag"]}).status_code == 204


def test_a_refused_change_leaves_nothing_of_itself(api, project):
    """Name and tags are stored before it is archived."""
    make_plan(project, "taken")
    plan = make_plan(project, "free").plan
    address = f"/api/v1/plans/{plan.pk}/"
    tag = api.get(address)["ETag"]
    answer = api.patch(address, {"name": "taken"}, format="json", headers={"If-Match": tag})
    assert answer.status_code == 400
    assert SavedPlan.objects.get(pk=plan.pk).name == "free"


def test_others_learn_nothing_of_what_they_cannot_see(project):
    stranger = token_client(make_user("charlotte"))
    assert stranger.delete(_target(project), headers={"If-Match": "*"}).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_with_the_same_tag_one_wins():
    owner = make_user("owner")
    address = _target(make_project(owner=owner))
    programs = [token_client(owner) for _ in range(6)]
    tag = programs[0].get(address)["ETag"]
    answers: list[int] = []

    def change(number: int) -> None:
        body = {"name": f"by {number}", "endpoints": [_ENDPOINT]}
        answer = programs[number].put(address, body, format="json", headers={"If-Match": tag})
        answers.append(answer.status_code)
        connection.close()

    threads = [Thread(target=change, args=[number]) for number in range(len(programs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200, *[412] * 5]
