"""The published JSON Schema says of a file what benchsite says."""

import json

import pytest
from jsonschema import Draft202012Validator

from campaigns.domain.yaml_text import read_yaml
from tests.manifest.test_services import FILE, SPECS


@pytest.fixture(scope="module")
def validator():
    from campaigns.manifest.schema import json_schema

    schema = json.loads(json_schema())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_it_needs_no_account(client):
    answer = client.get("/ci/benchsite.schema.json")
    assert answer.json()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert answer["Content-Type"] == "application/schema+json"


@pytest.mark.parametrize("name", ["", *SPECS])
def test_what_benchsite_takes_is_valid(validator, name):
    plans = [{"name": name, "spec": SPECS.get(name)}]
    validator.validate({"version": 1, "plans": plans} if name else read_yaml(FILE).value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("version: 1\n", ""),
        ("version: 1", "version: 2"),
        ("port: 443", "port: 0"),
        ("port: 443", "port: '443'"),
        ("https,", "ftp,"),
        ("rate_per_s: 200", "rate: 200"),
        ("rate_per_s: 200", "rate_per_s: 0"),
        ("model: open", "model: opened"),
        ("path: /cart", "path: /cart, secret: x"),
        ("target: shop, ", ""),
        ("at: 12:30", "at: 25:00"),
        ("every: day", "every: night"),
        ("name: shop", "names: shop"),
        ("[{path: /cart}]", "{path: /cart}"),
    ],
)
def test_what_benchsite_refuses_is_not(validator, old, new):
    assert old in FILE
    assert not validator.is_valid(read_yaml(FILE.replace(old, new)).value)
