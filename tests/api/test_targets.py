import pytest

from campaigns.models import Target
from tests.api.conftest import client_of
from tests.factories import make_endpoint, make_project, make_target
from tests.injector.authority import CLIENT, issue

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
    made = answer.json()
    assert made["environment"] == [["CPU", "4 × Xeon"], ["OS", "Debian 12"]]
    assert {each["origin"] for each in made["endpoints"]} == {
        "http://127.0.0.1:8081",
        "https://127.0.0.1:8444",
    }
    assert api.get(f"{TARGETS}{made['id']}/").json() == made


def test_it_edits_a_target_and_keeps_the_endpoint_of_an_origin(api, project):
    made = api.post(TARGETS, body(project), format="json").json()
    kept = made["endpoints"][0]
    fields = {name: kept[name] for name in ("scheme", "host", "port", "verify_tls")}
    answer = api.put(
        f"{TARGETS}{made['id']}/", {"name": "renamed", "endpoints": [fields]}, format="json"
    )
    assert answer.status_code == 200
    assert answer.json()["name"] == "renamed"
    live = [each for each in answer.json()["endpoints"] if each["archived_at"] is None]
    assert [each["id"] for each in live] == [kept["id"]]


def test_it_lists_by_project_and_only_what_is_visible(api, project, alice):
    mine = make_target(project)
    other = make_target(make_project(owner=alice))
    make_target(make_project())
    ids = {row["id"] for row in api.get(TARGETS).json()["results"]}
    assert ids == {mine.pk, other.pk}
    rows = api.get(f"{TARGETS}?project={project.pk}").json()["results"]
    assert [row["id"] for row in rows] == [mine.pk]


def test_a_list_comes_in_pages(api, project):
    for _ in range(5):
        make_target(project)
    first = api.get(f"{TARGETS}?page_size=2").json()
    assert first["count"] == 5
    assert len(first["results"]) == 2
    assert first["previous"] is None
    last = api.get(f"{TARGETS}?page_size=2&page=3").json()
    assert len(last["results"]) == 1
    assert last["next"] is None


def test_no_page_is_larger_than_500(api, project):
    Target.objects.bulk_create(Target(project=project, name=f"{n}") for n in range(501))
    assert len(api.get(f"{TARGETS}?page_size=100000").json()["results"]) == 500


def test_a_foreign_project_is_as_absent_as_one_that_never_was(charlie, project):
    client = client_of(charlie)
    foreign = client.post(TARGETS, body(project), format="json")
    absent = client.post(TARGETS, {**body(project), "project": 10**9}, format="json")
    assert foreign.status_code == absent.status_code == 404
    assert foreign.content == absent.content


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
    issued = issue(usage=CLIENT)
    tls = {"min_version": "1.3", "client_certificate_pem": issued.pem}
    endpoint = {"scheme": "https", "host": "10.0.0.5", "port": 443, "tls": tls}
    given = body(project, endpoints=[{**endpoint, "client_key_pem": issued.key_pem}])
    answer = api.post(TARGETS, given, format="json")
    (made,) = answer.json()["endpoints"]
    assert (made["tls"]["min_version"], made["tls"]["alpn"]) == ("1.3", True)
    assert made["has_client_key"] is True
    assert "PRIVATE KEY" not in answer.content.decode()
