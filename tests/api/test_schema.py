import re

import pytest
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator

from campaigns.api.urls import urlpatterns


@pytest.fixture(scope="module")
def schema():
    return SchemaGenerator().get_schema(public=True)


def test_the_description_is_valid_openapi_and_leaves_nothing_to_guess(tmp_path):
    target = tmp_path / "schema.yml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(target))
    assert target.read_text().startswith("openapi: 3.")


def test_every_address_is_described(schema):
    undescribed = {"schema/", "docs/", ""}
    described = {
        re.sub(r"\{\w+\}", "{}", path.removeprefix("/api/v1/")) for path in schema["paths"]
    }
    mine = {re.sub(r"<\w+:\w+>", "{}", str(each.pattern)) for each in urlpatterns}
    assert described == mine - undescribed


def test_every_operation_is_refused_in_the_one_shape(schema):
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            refusals = {s: each for s, each in operation["responses"].items() if s >= "400"}
            assert {"401", "429", "503"} <= set(refusals), (method, path)
            refusals.pop("414", None)  # the web server's own
            for refusal in refusals.values():
                content = refusal["content"]["application/json"]
                assert content["schema"] == {"$ref": "#/components/schemas/Error"}, (method, path)


def test_no_operation_that_reads_takes_a_body(schema):
    for operations in schema["paths"].values():
        assert set(operations) <= {"get", "post", "put", "patch", "delete"}
        for method in ("get", "delete"):
            assert "requestBody" not in operations.get(method, {})


def test_anybody_may_read_the_description_and_its_page(client, db):
    answer = client.get("/api/v1/schema/")
    assert answer.status_code == 200
    assert answer.json()["info"]["title"] == "benchsite"
    assert client.get("/api/v1/docs/").status_code == 200


def test_the_docs_page_keeps_to_the_content_security_policy(client, db):
    answer = client.get("/api/v1/docs/")
    page = answer.content.decode()
    assert "'unsafe-inline'" not in answer["Content-Security-Policy"]
    assert "<style" not in page
    assert " style=" not in page
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"(?:src|href)=\"(?:https?:)?//", page) == []


def test_the_script_of_the_docs_page_is_a_script(client, db):
    answer = client.get("/api/v1/docs/?script=")
    assert answer["Content-Type"].startswith("application/javascript")
    assert "SwaggerUIBundle" in answer.content.decode()
