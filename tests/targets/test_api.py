"""Targets, their TLS profiles, and plans over REST."""

from dataclasses import fields

import pytest

from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.load import Load
from campaigns.domain.plan.plan import Plan, Timeouts
from campaigns.domain.plan.presets import PRESETS
from campaigns.domain.plan.session import Auth, Session, ThinkTime
from campaigns.domain.plan.step import Step, StepOrder
from campaigns.domain.plan.threshold import Threshold
from campaigns.domain.plan.variables import Variables
from campaigns.models import OwnTlsProfile, Target
from campaigns.plans import api as specs
from tests.factories import make_endpoint, make_plan, make_project, make_target
from tests.injector.authority import CLIENT, issue
from tests.values import plan_spec

TARGETS = "/api/v1/targets/"


def body(project, **fields):
    return {
        "project": project.pk,
        "name": "demo",
        "environment": [["CPU", "4 × Xeon"], ["OS", "Debian 12"]],
        "endpoints": [
            {"scheme": "http", "host": "127.0.0.1", "port": 8081},
            {"scheme": "https", "host": "127.0.0.1", "port": 8444, "verify_tls": False},
        ],
        **fields,
    }


def test_it_makes_a_target_with_its_endpoints(api, project):
    answer = api.post(TARGETS, body(project), format="json")
    assert answer.status_code == 201
    target = answer.json()
    assert target["environment"] == [["CPU", "4 × Xeon"], ["OS", "Debian 12"]]
    assert {each["origin"] for each in target["endpoints"]} == {
        "http://127.0.0.1:8081",
        "https://127.0.0.1:8444",
    }
    assert api.get(f"{TARGETS}{target['id']}/").json() == target


def test_it_edits_a_target_and_keeps_the_endpoint_of_an_origin(api, project):
    target = api.post(TARGETS, body(project), format="json").json()
    endpoint = target["endpoints"][0]
    fields = {name: endpoint[name] for name in ("scheme", "host", "port", "verify_tls")}
    answer = api.put(
        f"{TARGETS}{target['id']}/", {"name": "renamed", "endpoints": [fields]}, format="json"
    )
    assert answer.status_code == 200
    assert answer.json()["name"] == "renamed"
    live = [each for each in answer.json()["endpoints"] if each["archived_at"] is None]
    assert [each["id"] for each in live] == [endpoint["id"]]


def test_it_lists_by_project_and_only_what_is_visible(api, project, alice):
    mine = make_target(project)
    other = make_target(make_project(owner=alice))
    make_target(make_project())
    ids = {row["id"] for row in api.get(TARGETS).json()["results"]}
    assert ids == {mine.pk, other.pk}
    rows = api.get(f"{TARGETS}?project={project.pk}").json()["results"]
    assert [row["id"] for row in rows] == [mine.pk]


def test_no_page_is_larger_than_500(api, project):
    Target.objects.bulk_create(Target(project=project, name=f"{n}") for n in range(501))
    assert len(api.get(f"{TARGETS}?page_size=100000").json()["results"]) == 500


@pytest.mark.parametrize("field", ["archived_at", "created_at", "id"])
def test_no_other_field_can_be_set(api, project, field):
    answer = api.post(TARGETS, {**body(project), field: 1}, format="json")
    assert answer.status_code == 400
    assert field in answer.json()["error"]["fields"]


def test_a_target_cannot_be_moved_to_another_project(api, project, alice):
    target = make_target(project)
    make_endpoint(target)
    other = make_project(owner=alice)
    answer = api.put(f"{TARGETS}{target.pk}/", body(other), format="json")
    assert answer.status_code == 400
    target.refresh_from_db()
    assert target.project == project


def test_the_key_of_a_client_certificate_goes_in_and_never_out(api, project):
    identity = issue(usage=CLIENT)
    tls = {"min_version": "1.3", "client_certificate_pem": identity.pem}
    endpoint = {"scheme": "https", "host": "10.0.0.5", "port": 443, "tls": tls}
    data = body(project, endpoints=[{**endpoint, "client_key_pem": identity.key_pem}])
    answer = api.post(TARGETS, data, format="json")
    (row,) = answer.json()["endpoints"]
    assert (row["tls"]["min_version"], row["tls"]["alpn"]) == ("1.3", True)
    assert row["has_client_key"] is True
    assert "PRIVATE KEY" not in answer.content.decode()


GIVEN = {"name": "our clients", "max_version": "1.2", "groups": "x25519:P-256"}
ENDPOINT = {"scheme": "https", "host": "10.0.0.5", "port": 443}


@pytest.fixture
def path(project) -> str:
    return f"/api/v1/projects/{project.pk}/tls-profiles/"


def test_one_is_created_listed_changed_and_deleted(api, path, project):
    response = api.post(path, GIVEN, format="json")
    assert response.status_code == 201
    profile = response.json()
    assert (profile["project"], profile["name"]) == (project.pk, "our clients")
    assert profile["offers"] == {
        "min_version": None,
        "max_version": "1.2",
        "groups": "X25519:P-256",
        "ciphersuites": "",
        "ciphers": "",
        "signatures": "",
    }
    assert [each["id"] for each in api.get(path).json()["results"]] == [profile["id"]]
    one = f"/api/v1/tls-profiles/{profile['id']}/"
    after = api.put(one, {"name": "clients of 2026", "groups": "P-256"}, format="json").json()
    assert (after["name"], after["offers"]["max_version"]) == ("clients of 2026", None)
    assert api.get(one).json()["words"] == "Groups P-256."
    assert api.delete(one).status_code == 204
    assert not OwnTlsProfile.objects.exists()


def test_a_target_s_endpoint_names_it(api, path, project):
    profile = api.post(path, GIVEN, format="json").json()
    endpoint = ENDPOINT | {"tls": {"profile": "our clients"}}
    target = api.post(
        "/api/v1/targets/",
        {"project": project.pk, "name": "shop", "endpoints": [endpoint]},
        format="json",
    )
    assert target.status_code == 201
    assert target.json()["endpoints"][0]["tls"]["profile"] == "our clients"
    assert api.delete(f"/api/v1/tls-profiles/{profile['id']}/").status_code == 409


PLANS = "/api/v1/plans/"


def test_it_makes_a_plan_with_its_first_version(api, project):
    answer = api.post(
        PLANS, {"project": project.pk, "name": "add", "spec": plan_spec()}, format="json"
    )
    assert answer.status_code == 201
    plan = answer.json()
    assert plan["versions"] == [1]
    assert plan["latest"]["number"] == 1
    assert Plan.from_json(plan["latest"]["spec"]) == Plan.from_json(plan_spec())


def test_an_edit_makes_a_version_and_the_first_stays_as_it_was(api, project):
    plan = make_plan(project).plan
    slower = plan_spec(model="over", requests=100, over_s=100)
    answer = api.put(f"{PLANS}{plan.pk}/", {"name": plan.name, "spec": slower}, format="json")
    assert answer.json()["versions"] == [1, 2]
    first = api.get(f"{PLANS}{plan.pk}/versions/1/").json()
    assert first["spec"]["load"]["over_s"] == 10
    numbers = [row["number"] for row in api.get(f"{PLANS}{plan.pk}/versions/").json()["results"]]
    assert numbers == [1, 2]
    again = api.put(f"{PLANS}{plan.pk}/", {"name": "renamed", "spec": slower}, format="json")
    assert again.json()["versions"] == [1, 2]
    assert again.json()["name"] == "renamed"


def test_a_spec_of_another_shape_is_answered_and_does_not_break(api, project):
    for spec in [None, [], "text", 5, {"steps": [[]]}, {"load": []}]:
        answer = api.post(
            PLANS, {"project": project.pk, "name": "add", "spec": spec}, format="json"
        )
        assert answer.status_code == 400
        assert answer.json()["error"]["fields"]


def test_the_description_names_the_fields_of_the_domain():
    for serializer, value in [
        (specs.SpecSerializer, Plan),
        (specs.StepSerializer, Step),
        (specs.LoadSerializer, Load),
        (specs.TimeoutsSerializer, Timeouts),
        (specs.OrderSerializer, StepOrder),
        (specs.ThresholdSerializer, Threshold),
        (specs.SessionSerializer, Session),
        (specs.ThinkTimeSerializer, ThinkTime),
        (specs.AuthSerializer, Auth),
        (specs.ExchangeSerializer, Exchange),
        (specs.VariablesSerializer, Variables),
    ]:
        assert set(serializer().fields) == {field.name for field in fields(value)}


def test_every_preset_is_listed_with_its_question(api, project):
    rows = api.get("/api/v1/presets/").json()
    assert [row["key"] for row in rows] == list(PRESETS)
    assert all(row["question"] and row["group"] for row in rows)
