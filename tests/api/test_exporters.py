"""Exporters over REST."""

import pytest

from campaigns.models import Exporter
from campaigns.services.vault import decrypt
from tests.factories import make_target

URL = "https://shop.internal:9100/metrics"


@pytest.fixture
def target(project):
    return make_target(project, "shop")


@pytest.fixture
def path(target) -> str:
    return f"/api/v1/targets/{target.pk}/exporters/"


def test_one_is_set_listed_changed_and_removed(api, path, target):
    made = api.post(path, {"url": "shop.internal:9100", "name": "shop-1"}, format="json")
    assert made.status_code == 201
    found = made.json()
    assert (found["target"], found["name"]) == (target.pk, "shop-1")
    assert found["url"] == "http://shop.internal:9100/metrics"
    assert found["asked_at"]
    assert [each["id"] for each in api.get(path).json()["results"]] == [found["id"]]
    one = f"/api/v1/exporters/{found['id']}/"
    changed = api.put(one, {"url": URL, "verify_tls": False, "is_server": True}, format="json")
    assert changed.json()["name"] == "shop.internal:9100"
    assert (changed.json()["verify_tls"], changed.json()["is_server"]) == (False, True)
    assert api.get(one).json()["url"] == URL
    assert api.delete(one).status_code == 204
    assert api.get(path).json()["results"] == []


def test_a_token_is_write_only(api, path):
    made = api.post(path, {"url": URL, "token": "s3cret"}, format="json").json()
    assert made["has_token"] is True
    assert "token" not in made
    one = f"/api/v1/exporters/{made['id']}/"
    assert "s3cret" not in api.get(one).content.decode()
    api.put(one, {"url": URL}, format="json")
    assert decrypt(Exporter.objects.get().token) == "s3cret"
    api.put(one, {"url": URL, "token": ""}, format="json")
    assert api.get(one).json()["has_token"] is False


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "url"),
        ({"url": "ftp://shop"}, "url"),
        ({"url": URL, "name": "x" * 101}, "name"),
        ({"url": "http://shop.internal", "token": "s3cret"}, "token"),
        ({"url": URL, "colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_is_said_by_field(api, path, body, field):
    answer = api.post(path, body, format="json")
    assert answer.status_code == 400
    assert field in answer.json()["error"]["fields"]
    assert "s3cret" not in answer.content.decode()
    assert not Exporter.objects.exists()
