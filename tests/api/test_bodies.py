"""Whatever a body holds, its answer is short and takes the web process no time to speak of: one
process answers everybody.
"""

import json
import time
from functools import partial

import pytest
from django.test import Client

from campaigns.domain.metrics.machine import MOST_CORES
from campaigns.services.agents import create_agent
from tests.api.conftest import token_client
from tests.factories import make_target
from tests.values import plan_spec
from workers.agent.site import AT_ONCE

# Of processor time: ten times what it took on a quiet machine is still none to speak of.
MOST_S = 0.25
LONGEST_ANSWER = 30_000
MIB = 1024 * 1024
PLANS, AGENTS = "/api/v1/plans/", "/api/v1/agents/seconds/"


def filled(before: str, each: str, after: str, size: int) -> str:
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
    "seconds of an agent": ('{"host":"x","seconds":[', '{{"at_s":"x{}"}}', "]}"),
    "figures of an agent": ('{"host":"x","seconds":[{"at_s":1,"did":{', '"k{}":1', "}}]}"),
    "cores of an agent": ('{"host":"x","seconds":[{"at_s":1,"did":{"cores":[', "1", "]}}]}"),
}


def _deep(size: int) -> str:
    return "[" * (size // 2) + "]" * (size // 2)


MADE = {
    **{name: partial(filled, *shape) for name, shape in SHAPES.items()},
    "nested deeply": _deep,
    "nested as objects": lambda size: '{"a":' * (size // 6),
    "a long text": lambda size: json.dumps({"name": "x" * (size - 100)}),
    "a text of line ends": lambda size: json.dumps({"name": "\n" * (size // 2 - 100)}),
    "a text of quotes that never ends": lambda size: '["' + r"\"" * (size // 2 - 10),
    "a long name": lambda size: json.dumps({"x" * (size - 100): 1}),
    "a long number": lambda size: "[" + "9" * (size - 10) + "]",
}


@pytest.fixture
def posts(vera, alice, project, as_bob):
    """[(an address, who posts there, how much it takes)]; a viewer where only the body names a
    project."""
    target = make_target(project, "shop")
    _, token = create_agent(by=as_bob, target=target)
    agent = Client(headers={"Authorization": f"Bearer {token}"})
    person = token_client(alice)
    return [
        ("/api/v1/targets/", token_client(vera), MIB),
        (f"/api/v1/targets/{target.pk}/", person, MIB),
        ("/api/v1/campaigns/", person, MIB),
        (PLANS, person, 4 * MIB),
        (AGENTS, agent, 4 * MIB),
    ]


def spent_on(client, path: str, body: str | bytes, kind: str):
    began_s = time.thread_time()
    method = client.put if path.rstrip("/")[-1].isdigit() else client.post
    answer = method(path, body, content_type=kind)
    return time.thread_time() - began_s, answer


@pytest.mark.parametrize("name", MADE)
def test_a_body_is_answered_shortly_and_soon(posts, name):
    for path, client, most in posts:
        for size in {MIB, most}:
            spent_s, answer = spent_on(client, path, MADE[name](size - 10), "application/json")
            assert answer.status_code == 400, f"{path}: {answer.status_code}"
            assert len(answer.content) < LONGEST_ANSWER, f"{path}: {len(answer.content):,} bytes"
            assert spent_s < MOST_S, f"{path}: {spent_s:.2f} s"


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


@pytest.mark.parametrize("size", [256 * 1024 - 10, 4 * MIB - 10])
@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_answered_soon(alice, project, name, size):
    part, boundary = FORMS[name]
    kind = f"multipart/form-data; boundary={boundary}"
    if boundary is None:
        kind = "application/x-www-form-urlencoded"
    body = multipart(size, part, "--x--\r\n" if boundary else "")
    client = Client(raise_request_exception=False)
    client.force_login(alice)
    for path in ("/login/", f"/projects/{project.pk}/plans/new/", "/api/v1/targets/"):
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


def test_a_report_of_the_largest_machines_is_taken(posts):
    did = {"cores": [50] * MOST_CORES, **{f"figure_{number}": 1 for number in range(200 - 1)}}
    seconds = [{"at_s": time.time(), "did": did} for _ in range(AT_ONCE)]
    path, client, _ = posts[-1]
    spent_s, answer = spent_on(
        client, path, json.dumps({"host": "x", "seconds": seconds}), "application/json"
    )
    assert answer.status_code == 200
    assert spent_s < 2 * MOST_S


@pytest.mark.parametrize("where", ["projects/{}/tls-profiles/", "projects/{}/marks/"])
def test_who_may_not_change_a_project_is_refused_before_the_body_is_read(vera, project, where):
    path = f"/api/v1/{where.format(project.pk)}"
    answer = token_client(vera).post(path, "{", content_type="application/json")
    assert answer.status_code == 403
