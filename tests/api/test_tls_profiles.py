"""TLS profiles of a project over REST."""

import pytest

from campaigns.models import OwnTlsProfile

GIVEN = {"name": "our clients", "max_version": "1.2", "groups": "x25519:P-256"}
ENDPOINT = {"scheme": "https", "host": "10.0.0.5", "port": 443}


@pytest.fixture
def path(project) -> str:
    return f"/api/v1/projects/{project.pk}/tls-profiles/"


def test_one_is_created_listed_changed_and_deleted(api, path, project):
    made = api.post(path, GIVEN, format="json")
    assert made.status_code == 201
    found = made.json()
    assert (found["project"], found["name"]) == (project.pk, "our clients")
    assert found["offers"] == {
        "min_version": None,
        "max_version": "1.2",
        "groups": "X25519:P-256",
        "ciphersuites": "",
        "ciphers": "",
        "signatures": "",
    }
    assert [each["id"] for each in api.get(path).json()["results"]] == [found["id"]]
    one = f"/api/v1/tls-profiles/{found['id']}/"
    changed = api.put(one, {"name": "clients of 2026", "groups": "P-256"}, format="json").json()
    assert (changed["name"], changed["offers"]["max_version"]) == ("clients of 2026", None)
    assert api.get(one).json()["words"] == "Groups P-256."
    assert api.delete(one).status_code == 204
    assert not OwnTlsProfile.objects.exists()


def test_a_target_s_endpoint_names_it(api, path, project):
    made = api.post(path, GIVEN, format="json").json()
    endpoint = ENDPOINT | {"tls": {"profile": "our clients"}}
    target = api.post(
        "/api/v1/targets/",
        {"project": project.pk, "name": "shop", "endpoints": [endpoint]},
        format="json",
    )
    assert target.status_code == 201
    assert target.json()["endpoints"][0]["tls"]["profile"] == "our clients"
    assert api.delete(f"/api/v1/tls-profiles/{made['id']}/").status_code == 409
