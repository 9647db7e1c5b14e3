"""Try one request: ask for it, and read what came back."""

import pytest

from campaigns.services.probes import finish_probe
from tests.factories import make_endpoint, make_target


@pytest.fixture
def endpoint(project):
    return make_endpoint(make_target(project))


def ask(api, endpoint, **request):
    body = {"endpoint": endpoint.pk, "request": request}
    return api.post("/api/v1/probes/", body, format="json")


def test_a_request_is_taken_and_answered_later(api, endpoint):
    asked = ask(api, endpoint, method="POST", path="/add", body="<a/>")
    assert asked.status_code == 201
    probe = asked.json()
    assert (probe["answer"], probe["finished_at"]) == (None, None)
    assert probe["request"]["body"] == "<a/>"
    result = {"status": 404, "reason": "Not Found", "response_us": 1034, "parts_us": {"wait": 34}}
    finish_probe(probe_id=probe["id"], result=result)
    answer = api.get(f"/api/v1/probes/{probe['id']}/").json()["answer"]
    assert (answer["status"], answer["sentence"]) == (404, "404 Not Found.")
    assert answer["parts_us"] == {"wait": 34}, "in µs, as measured"


def test_probes_are_listed_by_endpoint(api, endpoint, project):
    ask(api, endpoint, path="/mine")
    ask(api, make_endpoint(make_target(project)), path="/other")
    rows = api.get(f"/api/v1/probes/?endpoint={endpoint.pk}").json()["results"]
    assert [row["request"]["path"] for row in rows] == ["/mine"]


def test_a_websocket_endpoint_takes_a_message(api, project):
    endpoint = make_endpoint(make_target(project), "ws", port=9000)
    asked = ask(api, endpoint, path="/chat", message="hello")
    assert asked.status_code == 201
    assert asked.json()["request"]["message"] == "hello"
