"""The API's description, its page and docs/api.md have every address, with an example of each."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from drf_spectacular.generators import SchemaGenerator
from rest_framework import serializers

from campaigns.manifest import api as manifest
from campaigns.notes import api as notes
from campaigns.rest.fields import AboveField, InputSerializer, SecondsField
from campaigns.rest.urls import urlpatterns
from campaigns.schedules import api as schedules

PATTERNS = [*manifest.urlpatterns, *notes.urlpatterns, *schedules.urlpatterns, *urlpatterns]


@pytest.fixture(scope="module")
def schema():
    return SchemaGenerator().get_schema(public=True)


def test_every_address_is_described(schema):
    exempt = {"schema/", "docs/", ""}
    paths = {re.sub(r"\{\w+\}", "{}", path.removeprefix("/api/v1/")) for path in schema["paths"]}
    mine = {re.sub(r"<\w+:\w+>", "{}", str(each.pattern)) for each in PATTERNS}
    assert paths == mine - exempt


def test_every_operation_is_refused_in_the_one_shape(schema):
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            refusals = {s: each for s, each in operation["responses"].items() if s >= "400"}
            assert {"401", "429", "503"} <= set(refusals), (method, path)
            refusals.pop("414", None)  # the web server's own
            for refusal in refusals.values():
                content = refusal["content"]["application/json"]
                assert content["schema"] == {"$ref": "#/components/schemas/Error"}, (method, path)


def test_whatever_changes_or_deletes_takes_if_match(schema):
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            names = [each["name"] for each in operation.get("parameters", ())]
            takes_it = method in {"put", "patch", "delete"}
            assert ("If-Match" in names, "412" in operation["responses"]) == (takes_it,) * 2, path


def test_no_operation_that_reads_takes_a_body(schema):
    for operations in schema["paths"].values():
        assert set(operations) <= {"get", "post", "put", "patch", "delete"}
        for method in ("get", "delete"):
            assert "requestBody" not in operations.get(method, {})


def input_serializers(kind: type = InputSerializer) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from input_serializers(each)


def lacks_of(field: serializers.Field) -> set[str]:
    """The bounds that must be told of a field, because it refuses what lies outside."""
    if isinstance(field, serializers.CharField):
        return set() if field.allow_blank else {"minLength"}
    if isinstance(field, serializers.ListField | serializers.ListSerializer):
        return set() if field.allow_empty else {"minItems"}
    if isinstance(field, AboveField):
        return {"minimum", "exclusiveMinimum"}
    is_bounded = getattr(field, "min_value", None) is not None
    return {"minimum"} if is_bounded or isinstance(field, serializers.IntegerField) else set()


def test_whatever_may_not_be_empty_or_smaller_says_so(schema):
    components, lacking, n_told = schema["components"]["schemas"], [], 0
    for kind in input_serializers():
        component = components.get(kind.__name__.removesuffix("Serializer"))
        for name, field in kind().fields.items() if component else ():
            properties = component["properties"][name]
            properties = properties | (
                properties["oneOf"][0] if isinstance(field, SecondsField) else {}
            )
            lacking += [(kind.__name__, name, each) for each in lacks_of(field) - set(properties)]
            n_told += len(lacks_of(field))
    assert lacking == []
    assert n_told > 60


def test_amounts_are_numbers_or_texts_with_a_unit(schema):
    """In campaigns, plans and their stages."""
    components = schema["components"]["schemas"]
    for kind, name in [
        ("NewCampaign", "pause_s"),
        ("Load", "rate_per_s"),
        ("Load", "ramp_up_s"),
        ("Stage", "to_per_s"),
    ]:
        amount = components[kind]["properties"][name]
        assert "type" not in amount, (kind, name)
        assert [each["type"] for each in amount["oneOf"]] == ["number", "string"]


def test_rows_and_pages_are_numbered_from_one(schema):
    numbers = [
        (path, each["name"], each["schema"].get("minimum"))
        for path, operations in schema["paths"].items()
        for operation in operations.values()
        for each in operation.get("parameters", ())
        if (each["in"] == "path" and each["schema"]["type"] == "integer")
        or each["name"] in {"page", "page_size", "project", "campaign", "target", "plan"}
    ]
    assert len(numbers) > 100
    assert [each for each in numbers if each[-1] != 1] == []


def test_anybody_may_read_the_description_and_its_page(client, db):
    answer = client.get("/api/v1/schema/")
    assert answer.status_code == 200
    assert answer.json()["info"]["title"] == "benchsite"
    assert client.get("/api/v1/docs/").status_code == 200


def test_the_docs_page_has_every_operation_with_an_example_and_every_object(client, db):
    schema, page = (
        client.get("/api/v1/schema/").json(),
        client.get("/api/v1/docs/").content.decode(),
    )
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            assert f'id="{operation["operationId"]}"' in page, path
        assert f"http://testserver{re.sub(r'{.*', '', path)}" in page
    for name in schema["components"]["schemas"]:
        assert f'id="object-{name}"' in page
    assert set(re.findall(r'href="#([\w-]+)"', page)) <= set(re.findall(r' id="([\w-]+)"', page))


def test_the_docs_page_keeps_to_the_content_security_policy(client, db):
    answer = client.get("/api/v1/docs/")
    page = answer.content.decode()
    assert "'unsafe-inline'" not in answer["Content-Security-Policy"]
    assert "<style" not in page
    assert " style=" not in page
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"(?:src|href)=\"(?:https?:)?//", page) == []


DOCS = Path(__file__).resolve().parents[2] / "docs"
DOC = (DOCS / "api.md").read_text()
TABLE = DOC.split("| URL | methods |")[1].split("\n\n")[0]
_TEXTS = DOC + "".join((DOCS / f"{name}.md").read_text() for name in ("as-code", "schedules"))
EXAMPLES = "\n".join(re.findall(r"^```sh\n(.*?)^```", _TEXTS, re.MULTILINE | re.DOTALL))
NUMBER = re.compile(r"<(?:int|slug):(\w+)>")
ROUTES = [str(each.pattern) for each in PATTERNS]


def in_words(route: str) -> str:
    """projects/<int:pk>/ is projects/ID/ in the table; a version is named by its NUMBER."""
    words = {"number": "NUMBER", "sha256": "SHA256"}
    return NUMBER.sub(lambda match: words.get(match[1], "ID"), route)


def test_the_table_has_every_address_and_no_other():
    rows = [line.split("|")[1] for line in TABLE.splitlines() if line.startswith("| `")]
    addresses = re.findall(
        r"`([a-z][^`?]*)`", " ".join(re.sub(r"\([^)]*\)", "", row) for row in rows)
    )
    assert sorted(addresses) == sorted(map(in_words, ROUTES))


def test_every_address_has_an_example():
    for route in ROUTES:
        shell = NUMBER.sub("ID", route)
        pattern = re.escape(shell).replace("ID", r"(?:\$\w+|\d+)")
        assert re.search(rf"\$SITE/{pattern}(?![\w/.$])", EXAMPLES), (
            f"docs/api.md has none of {route}"
        )


def test_what_an_example_puts_into_an_address_is_an_id():
    for name in sorted(set(re.findall(r"\$SITE/\S*?\$(\w+)", EXAMPLES))):
        assignment = re.search(rf"^{name}=\$\((.*?)\)$", EXAMPLES, re.MULTILINE | re.DOTALL)
        assert assignment, f"no example sets {name}"
        assert re.search(
            r"\| jq (\S*\.id|-r \S*\.sha256|\.campaign|'[^']*\bid\b[^']*')$", assignment[1]
        ), assignment[1]
