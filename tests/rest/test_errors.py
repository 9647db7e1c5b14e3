"""One shape for everything that is refused, whoever refuses it and whatever a body holds."""

import json
import time
from functools import partial

import pytest
from django.db import OperationalError
from django.test import Client
from rest_framework.exceptions import ValidationError
from rest_framework.test import APIClient

from campaigns.domain.errors import InvalidPlan
from campaigns.rest import errors
from tests.cast import client_of, token_client
from tests.factories import make_target
from tests.values import plan_spec

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
    error_of(api.get("/api/targets/"), 404, "not_found")
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


def test_json_that_cannot_be_read_or_stored(api):
    for text in [
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
    ]:
        answer = api.post(TARGETS, text, content_type="application/json")
        if text == "":
            error_of(answer, 400, "invalid")
        else:
            error_of(answer, 400, "parse_error")


def test_a_body_that_is_no_object(api):
    for body in [[], "text", 1, None, True]:
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


def test_a_misspelt_filter_is_refused(api):
    for noun in ["projects", "targets", "plans", "campaigns", "runs"]:
        error = error_of(api.get(f"/api/v1/{noun}/?projekt=1"), 400, "invalid")
        assert set(error["fields"]) == {"projekt"}
        assert "page_size" in error["fields"]["projekt"]


def test_a_filter_that_an_address_has_not_is_refused(api, run):
    for address in [
        *("metrics/", "presets/", "injectors/", "runs/{run}/failures/", "runs/{run}/report.txt"),
        *("runs/{run}/machine-seconds.csv", "runs/{run}/machine-seconds.ndjson"),
    ]:
        path = f"/api/v1/{address.format(run=run.pk)}"
        assert api.get(path).status_code == 200
        error = error_of(api.get(f"{path}?source=shop-1"), 400, "invalid")
        assert error["fields"]["source"].startswith("Unknown parameter.")


def test_a_value_that_the_schema_forbids_is_refused(api, run):
    for address, name in [
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
    ]:
        path = address.format(run=run.pk, campaign=run.campaign_id)
        assert name in error_of(api.get(f"/api/v1/{path}"), 400, "invalid")["fields"]


def test_a_value_of_another_type_is_refused_and_not_converted(api, run):
    for body in [{"name": 0}, {"name": True}, {"archived": 0}, {"archived": "yes"}, {"tags": [7]}]:
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


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        (ZeroDivisionError("secret detail"), 500, "internal"),
        (OperationalError("connection refused to db.internal"), 503, "unavailable"),
    ],
)
def test_a_fault_of_ours_says_nothing_of_the_inside_and_the_log_does(
    api, monkeypatch, caplog, fault, status, code
):
    def fails(*_, **__):
        raise fault

    monkeypatch.setattr("campaigns.rest.access.VisibleViewSet.page_of", fails)
    assert str(fault) not in error_of(api.get(TARGETS), status, code)["message"]
    assert status == 503 or str(fault) in caplog.text


def test_an_invalid_plan_is_told_field_by_field():
    answer = errors.one_error_shape(InvalidPlan({"load.over_s": "Needs a time."}), {})
    assert answer.status_code == 400
    assert answer.data["error"]["fields"] == {"spec.load.over_s": "Needs a time."}


def test_nested_details_become_paths():
    detail = ValidationError({"a": ["one.", "two."], "b": [{}, {"c": ["three."]}]}).detail
    assert errors.flat(detail) == {"a": "one. two.", "b.1.c": "three."}


# Of processor time: ten times what it took on a quiet machine is still none to speak of.
MOST_S = 0.25
LONGEST_ANSWER = 30_000
MIB = 1024 * 1024
PLANS, CAMPAIGNS = "/api/v1/plans/", "/api/v1/campaigns/"


def fill(before: str, each: str, after: str, size: int) -> str:
    """As many of `each` as fit into `size` bytes; {} is their number."""
    length = len(each.format(1_000_000).encode())
    n = (size - len(before) - len(after)) // length
    return before + ",".join(each.format(number) for number in range(n))[: size - 100] + after


SHAPES = {
    "unknown names": ("{", '"k{}":1', "}"),
    "one name again and again": ("{", '"name":"{}"', "}"),
    "numbers": ("[", "{}", "]"),
    "the shortest values": ("[", "1", "]"),
    "empty lists": ('{"name":[', "[]", "]}"),
    "empty texts": ("[", '""', "]"),
    "escaped texts": ("[", r'"\"\\"', "]"),
    "lists in a list of texts": ('{"tags":[', "[]", '],"environment":[[[]]]}'),
    "long numbers": ("[", "9" * 4000, "]"),
    "large exponents": ("[", "1e{}", "]"),
    "plan steps": ('{"name":"x","spec":{"steps":[', '{{"colour{}":1}}', "]}}"),
    "names in a plan": ('{"name":"x","spec":{', '"k{}":1', "}}"),
}


def _deep(size: int) -> str:
    return "[" * (size // 2) + "]" * (size // 2)


MADE = {
    **{name: partial(fill, *shape) for name, shape in SHAPES.items()},
    "nested deeply": _deep,
    "nested as objects": lambda size: '{"a":' * (size // 6),
    "a long text": lambda size: json.dumps({"name": "x" * (size - 100)}),
    "a text of line ends": lambda size: json.dumps({"name": "\n" * (size // 2 - 100)}),
    "a text of quotes that never ends": lambda size: '["' + r"\"" * (size // 2 - 10),
    "a long name": lambda size: json.dumps({"x" * (size - 100): 1}),
    "a long number": lambda size: "[" + "9" * (size - 10) + "]",
}


OF_PLANS = ("plan steps", "names in a plan")
OF_ALL = ("unknown names", "empty texts", "lists in a list of texts")


def spent_on(client, path: str, body: str | bytes, kind: str):
    began_s = time.thread_time()
    method = client.put if path.rstrip("/")[-1].isdigit() else client.post
    answer = method(path, body, content_type=kind)
    return time.thread_time() - began_s, answer


@pytest.mark.long
def test_a_body_is_answered_shortly_and_soon(vera, alice, project):
    """Each at one address, which takes 4 MiB if the body is about plans; a viewer asks
    where only the body names a project."""
    target, person = make_target(project, "book shop"), token_client(alice)
    calls = [(TARGETS, token_client(vera), MIB, set(MADE) - set(OF_PLANS))]
    calls += [(f"{TARGETS}{target.pk}/", person, MIB, OF_ALL), (CAMPAIGNS, person, MIB, OF_ALL)]
    calls += [(PLANS, person, 4 * MIB, OF_PLANS + OF_ALL)]
    for path, client, size, names in calls:
        for name in names:
            call = client, path, MADE[name](size - 10), "application/json"
            spent_s, answer = spent_on(*call)
            if spent_s >= MOST_S:  # a collection of garbage, or a slow moment of a shared core
                spent_s, answer = spent_on(*call)
            what = f"{name} at {path}"
            assert answer.status_code == 400, f"{what}: {answer.status_code}"
            assert len(answer.content) < LONGEST_ANSWER, f"{what}: {len(answer.content):,} bytes"
            assert spent_s < MOST_S, f"{what}: {spent_s:.2f} s"


def multipart(size: int, part: str, end: str = "--x--\r\n") -> bytes:
    n = (size - 10) // len(part.format(1_000_000))
    return ("".join(part.format(number) for number in range(n)) + end).encode()


PART = '--x\r\nContent-Disposition: form-data; name="k{}"\r\n\r\n1\r\n'
FORMS = {
    "fields": ("a{}=1&", None),
    "escapes": ("%41", None),
    "parts": (PART, "x"),
    "parts of files": (PART.replace('"\r', '"; filename="f"\r'), "x"),
    "headers of a part": ("X-A{}: 1\r\n", "x"),
    "boundaries": ("--x\r\n", "x"),
    "no boundary": ("-x\r\n", "x"),
}


def test_a_form_is_answered_soon(alice, project):
    for name in FORMS:
        for size in [256 * 1024 - 10, 4 * MIB - 10]:
            part, boundary = FORMS[name]
            kind = f"multipart/form-data; boundary={boundary}"
            if boundary is None:
                kind = "application/x-www-form-urlencoded"
            body = multipart(size, part, "--x--\r\n" if boundary else "")
            client = Client(raise_request_exception=False)
            client.force_login(alice)
            # One with a form of few fields, and one with hundreds.
            for path in ("/login/", f"/projects/{project.pk}/plans/new/"):
                spent_s, answer = spent_on(client, path, body, kind)
                assert answer.status_code < 500, f"{path}: {answer.status_code}"
                assert spent_s < MOST_S + 0.3, f"{path}: {spent_s:.2f} s"


def test_the_first_twenty_faults_are_named_and_the_others_are_counted(api, project):
    body = {"project": project.pk, "name": "x", **{f"k{number}": 1 for number in range(1000)}}
    error = api.post("/api/v1/targets/", body, format="json").json()["error"]
    assert len(error["fields"]) == 20
    assert "981 more" in error["message"] + " ".join(error["fields"].values())


def test_a_plan_as_large_as_its_limits_is_taken(api, project):
    steps = [{"method": "POST", "path": "/", "body": "x\n" * 500_000} for _ in range(2)]
    table = "name\n" + "value\n" * 10_000
    spec = {**plan_spec(), "steps": steps, "variables": {"csv": table}}
    body = {"project": project.pk, "name": "large", "spec": spec}
    assert api.post(PLANS, body, format="json").status_code == 201


@pytest.mark.parametrize("where", ["projects/{}/tls-profiles/", "projects/{}/marks/"])
def test_who_may_not_change_a_project_is_refused_before_the_body_is_read(vera, project, where):
    path = f"/api/v1/{where.format(project.pk)}"
    answer = token_client(vera).post(path, "{", content_type="application/json")
    assert answer.status_code == 403
