"""One shape for everything that is refused, whoever refuses it."""

import pytest
from django.db import OperationalError
from rest_framework.exceptions import ValidationError
from rest_framework.test import APIClient

from campaigns.api import errors
from campaigns.domain.errors import InvalidPlan
from tests.api.conftest import client_of

TARGETS = "/api/v1/targets/"


def error_of(answer, status: int, code: str) -> dict:
    """The error, after a look that it has the shape and nothing else."""
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/json"
    body = answer.json()
    assert set(body) == {"error"}
    error = body["error"]
    assert set(error) == {"code", "message", "fields"}
    assert error["code"] == code
    assert error["message"]
    assert all(isinstance(text, str) for text in error["fields"].values())
    return error


def test_401(db):
    error_of(APIClient().get(TARGETS), 401, "unauthenticated")


def test_403(vera, project):
    body = {
        "project": project.pk,
        "name": "demo",
        "endpoints": [{"scheme": "http", "host": "127.0.0.1", "port": 8081}],
    }
    error_of(client_of(vera).post(TARGETS, body, format="json"), 403, "forbidden")


def test_404_of_a_row_and_of_an_address(api):
    error_of(api.get(f"{TARGETS}123456789/"), 404, "not_found")
    error_of(api.get("/api/v1/nothing/"), 404, "not_found")
    error_of(api.post("/api/v1/nothing/"), 404, "not_found")
    error_of(api.get("/api/v1/targets"), 404, "not_found")
    error_of(api.get("/api/v1/"), 404, "not_found")


def test_404_of_a_number_beyond_the_database_and_of_a_page_beyond_the_last(api):
    error_of(api.get(f"{TARGETS}{10**30}/"), 404, "not_found")
    error_of(api.get(f"{TARGETS}?page=77"), 404, "not_found")


@pytest.mark.parametrize("method", ["delete", "patch", "options", "put"])
def test_405(api, method):
    error_of(getattr(api, method)(TARGETS), 405, "method_not_allowed")


def test_406(api):
    error_of(api.get(TARGETS, HTTP_ACCEPT="text/html"), 406, "not_acceptable")


def test_413(api, settings):
    settings.MOST_BODY_BYTES = 100
    error_of(api.post(TARGETS, {"name": "x" * 200}, format="json"), 413, "too_large")


def test_415(api):
    answer = api.post(TARGETS, "name=x", content_type="application/x-www-form-urlencoded")
    error_of(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "",
        '{"name": NaN}',
        '{"port": 1e999}',
        '{"port": 99999999999999999999}',
        '{"port": ' + "9" * 5000 + "}",
        '{"name": "a\\u0000b"}',
        '{"name": "\\ud800"}',
        "[" * 100_000,
        b"\xff\xfe",
    ],
    ids=lambda text: repr(text[:20]),
)
def test_json_that_cannot_be_read_or_stored(api, text):
    answer = api.post(TARGETS, text, content_type="application/json")
    if text == "":
        error_of(answer, 400, "invalid")
    else:
        error_of(answer, 400, "parse_error")


@pytest.mark.parametrize("body", [[], "text", 1, None, True])
def test_a_body_that_is_no_object(api, body):
    error = error_of(api.post(TARGETS, body, format="json"), 400, "invalid")
    assert error["fields"]


def test_a_field_is_named_by_its_path(api, project):
    body = {
        "project": project.pk,
        "name": "",
        "endpoints": [
            {"scheme": "http", "host": "127.0.0.1", "port": 8081},
            {"scheme": "gopher", "host": "x", "port": 0},
        ],
        "colour": "red",
    }
    error = error_of(api.post(TARGETS, body, format="json"), 400, "invalid")
    assert error["fields"] == {
        "colour": "Unknown field. Available fields: name, environment, endpoints, tags, project."
    }
    del body["colour"]
    error = error_of(api.post(TARGETS, body, format="json"), 400, "invalid")
    assert set(error["fields"]) == {"name", "endpoints.1.scheme", "endpoints.1.port"}


def test_a_filter_that_makes_no_sense(api):
    error = error_of(api.get("/api/v1/runs/?state=sleeping&campaign=x"), 400, "invalid")
    assert set(error["fields"]) == {"state", "campaign"}


@pytest.mark.parametrize("noun", ["projects", "targets", "plans", "campaigns", "runs"])
def test_a_misspelt_filter_is_refused(api, noun):
    error = error_of(api.get(f"/api/v1/{noun}/?projekt=1"), 400, "invalid")
    assert set(error["fields"]) == {"projekt"}
    assert "page_size" in error["fields"]["projekt"]


@pytest.mark.parametrize(
    "address",
    [
        *("metrics/", "presets/", "injectors/", "runs/{run}/failures/", "runs/{run}/report.txt"),
        *("runs/{run}/machine-seconds.csv", "runs/{run}/machine-seconds.ndjson"),
    ],
)
def test_a_filter_that_an_address_has_not_is_refused(api, run, address):
    path = f"/api/v1/{address.format(run=run.pk)}"
    assert api.get(path).status_code == 200
    error = error_of(api.get(f"{path}?source=shop-1"), 400, "invalid")
    assert error["fields"]["source"].startswith("Unknown parameter.")


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("targets/?page_size=null", "page_size"),
        ("targets/?page_size=0", "page_size"),
        ("targets/?page=", "page"),
        ("runs/?until=", "until"),
        ("runs/?campaign=", "campaign"),
        ("targets/?archived=null", "archived"),
        ("runs/{run}/seconds/?step=0.5", "step"),
        ("campaigns/{campaign}/tables.csv?with=null", "with"),
        ("campaigns/{campaign}/tables/?metric=p42", "metric"),
        ("campaigns/{campaign}/tables.csv?metric=p42", "metric"),
    ],
)
def test_a_value_that_the_schema_forbids_is_refused(api, run, address, name):
    path = address.format(run=run.pk, campaign=run.campaign_id)
    assert name in error_of(api.get(f"/api/v1/{path}"), 400, "invalid")["fields"]


@pytest.mark.parametrize(
    "body", [{"name": 0}, {"name": True}, {"archived": 0}, {"archived": "yes"}, {"tags": [7]}]
)
def test_a_value_of_another_type_is_refused_and_not_converted(api, run, body):
    answer = api.patch(f"/api/v1/campaigns/{run.campaign_id}/", body, format="json")
    assert set(error_of(answer, 400, "invalid")["fields"]) == set(body)


def test_so_is_one_in_a_list_of_lists(api, project):
    body = {"project": project.pk, "name": "shop", "environment": [["CPU", 4]], "endpoints": []}
    assert (
        "environment" in error_of(api.post(TARGETS, body, format="json"), 400, "invalid")["fields"]
    )


@pytest.mark.parametrize("value", ["5", True])
def test_a_text_is_no_number(api, run, value):
    body = {"after": value, "blocks": 1}
    answer = api.post(f"/api/v1/campaigns/{run.campaign_id}/blocks/", body, format="json")
    assert set(error_of(answer, 400, "invalid")["fields"]) == {"after"}


def test_500_says_nothing_of_the_inside_and_the_log_does(api, monkeypatch, caplog):
    def fails(*_, **__):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("campaigns.api.access.VisibleViewSet.page_of", fails)
    answer = api.get(TARGETS)
    assert "secret" not in error_of(answer, 500, "internal")["message"]
    assert "secret detail" in caplog.text


def test_503_while_the_database_is_away(api, monkeypatch):
    def fails(*_, **__):
        raise OperationalError("connection refused to db.internal")

    monkeypatch.setattr("campaigns.api.access.VisibleViewSet.page_of", fails)
    assert "db.internal" not in error_of(api.get(TARGETS), 503, "unavailable")["message"]


def test_an_invalid_plan_is_told_field_by_field():
    answer = errors.one_error_shape(InvalidPlan({"load.over_s": "Needs a time."}), {})
    assert answer.status_code == 400
    assert answer.data["error"]["fields"] == {"spec.load.over_s": "Needs a time."}


def test_nested_details_become_paths():
    detail = ValidationError({"a": ["one.", "two."], "b": [{}, {"c": ["three."]}]}).detail
    assert errors.flat(detail) == {"a": "one. two.", "b.1.c": "three."}
