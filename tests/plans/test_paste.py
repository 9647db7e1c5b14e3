"""Pasted requests: one is tried, several are chosen from, and what is chosen becomes a plan."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from campaigns.models import PlanSecret, PlanVersion, Probe, Target
from tests.domain.paste.samples import CHROME_CMD
from tests.domain.paste.test_dialects import HAR
from tests.pages import text_of

pytestmark = pytest.mark.django_db
YAML = """openapi: 3.0.3
servers: [{url: "https://shop.example"}]
paths:
  /items:
    get: {}
    post:
      requestBody:
        content:
          application/json:
            example: {made: 2026-01-31}
"""


@pytest.fixture
def paste(as_editor, project):
    address = reverse("plan-paste", args=[project.pk])
    return lambda **data: as_editor.post(address, data)


def test_several_requests_are_chosen_from_and_third_parties_are_left_out(as_editor, project, paste):
    choice = as_editor.post(
        reverse("project-measure", args=[project.pk]), {"what": json.dumps(HAR)}
    )
    page = text_of(choice)
    assert 'https://ads.example <span class="note">another origin' in page
    assert "Left out: the header Connection" in page
    assert choice.context["ticked"] == {0, 1, 2}
    assert not Probe.objects.exists()
    answer = paste(what=json.dumps(HAR), chosen=["0", "1"], choose="1")
    version = PlanVersion.objects.get()
    assert answer.url == reverse("plan-edit", args=[version.plan_id])
    assert [each["path"] for each in version.spec["steps"]] == ["/", "/login"]
    assert version.spec["http_version"] == "2"
    (target,) = Target.objects.all()
    assert (str(target.endpoints.get()), target.is_kept) == ("https://shop.example:443", True)


def test_requests_of_two_origins_are_no_plan_and_nothing_chosen_is_lost(paste):
    answer = paste(what=json.dumps(HAR), chosen=["0", "3"], choose="1")
    assert answer.status_code == 422
    assert "A plan is for one origin" in text_of(answer)
    assert answer.context["ticked"] == {0, 3}
    assert not PlanVersion.objects.exists()


def test_one_request_is_a_plan_at_once_with_its_secret_apart(as_editor, paste):
    answer = paste(what="curl -u ann:s3cret --json '{}' http://shop.example/ | jq")
    version = PlanVersion.objects.get()
    assert version.spec["auth"] == {"kind": "basic", "user": "ann"}
    assert PlanSecret.objects.filter(plan=version.plan).exists()
    assert "s3cret" not in json.dumps(version.spec)
    assert "Left out: what follows the pipe (| jq)." in text_of(as_editor.get(answer.url))


def test_what_some_requests_are_signed_with_goes_with_all(as_editor, paste):
    with_token = "curl -H 'Authorization: Bearer tok' http://shop.example/me"
    login = "curl http://shop.example/login -d a=1"
    answer = paste(what=f"{login}\n{with_token}", chosen=["0", "1"], choose="1")
    version = PlanVersion.objects.get()
    assert version.spec["auth"]["kind"] == "bearer"
    assert PlanSecret.objects.filter(plan=version.plan).exists()
    assert "Its credentials go with every request." in text_of(as_editor.get(answer.url))
    answer = paste(
        what=f"{with_token}\n{with_token}".replace("tok", "two", 1), chosen=["0", "1"], choose="1"
    )
    assert "A plan has one user or token." in text_of(answer)


def test_a_har_file_is_uploaded_and_an_openapi_document_may_be_yaml(paste):
    upload = SimpleUploadedFile("shop.har", json.dumps(HAR).encode())
    assert len(paste(file=upload).context["origins"]) == 2
    paste(what=YAML, chosen=["1"], choose="1")
    step = PlanVersion.objects.get().spec["steps"][0]
    assert (step["method"], step["body"]) == ("POST", '{"made": "2026-01-31"}')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("openapi: 3.0.3\nservers: []\npaths: {/: {get: {}}}\n", "names no server"),
        ("curl", "no address"),
    ],
)
def test_what_cannot_be_read_is_said_beside_what_was_pasted(paste, text, words):
    answer = paste(what=text)
    assert answer.status_code == 422
    assert words in text_of(answer)
    assert answer.context["text"] == text


def test_a_windows_command_is_tried_as_it_was_copied(as_editor, project):
    as_editor.post(reverse("project-measure", args=[project.pk]), {"what": CHROME_CMD})
    probe = Probe.objects.filter(endpoint__scheme="https").get()
    assert probe.request["body"] == '{"name":"50% off"}'


def test_the_api_reads_requests_and_answers_no_secret(as_editor, project):
    address = f"/api/v1/projects/{project.pk}/read-requests/"
    text = "curl -L --http2 -H 'Authorization: Bearer tok3n' -H 'TE: x' https://shop.example/a"
    answer = as_editor.post(address, {"text": text}, content_type="application/json")
    (request,) = answer.json()["requests"]
    assert (request["origin"], request["http_version"]) == ("https://shop.example", "2")
    assert request["step"]["path"] == "/a"
    assert request["redirects"] == "all"
    assert request["auth"] == {"kind": "bearer", "user": ""}
    assert answer.json()["note"] == "Left out: the header TE."
    assert "tok3n" not in answer.content.decode()
    wrong = as_editor.post(address, {"text": "curl"}, content_type="application/json")
    assert list(wrong.json()["error"]["fields"]) == ["text"]


FILE_COMMAND = "curl -u ann:s3cret -H 'X-A: b' --data-binary @dir/p.json https://shop.example/in"
PAYLOAD = b'{"id": 7}'


def test_the_file_of_a_command_is_asked_for_and_nothing_else_again(as_editor, project, paste):
    answer = paste(what=FILE_COMMAND)
    assert "Choose <b>dir/p.json</b>" in answer.content.decode()
    assert answer.context["text"] == FILE_COMMAND
    assert not PlanVersion.objects.exists()
    paste(what=FILE_COMMAND, choose="1", file_0=SimpleUploadedFile("p.json", PAYLOAD))
    version = PlanVersion.objects.get()
    (step,) = version.spec["steps"]
    assert (step["body"], step["headers"][0]) == (PAYLOAD.decode(), ["X-A", "b"])
    assert PlanSecret.objects.filter(plan=version.plan).exists()


def test_only_the_files_of_chosen_requests_are_asked_for(paste):
    text = f"{FILE_COMMAND}\n{FILE_COMMAND.replace('dir/p.json', 'q')}"
    answer = paste(what=text, chosen=["1"], choose="1")
    assert answer.context["files"] == [(1, "q")]
    paste(what=text, chosen=["1"], choose="1", file_1=SimpleUploadedFile("q", b"\xff"))
    assert PlanVersion.objects.get().spec["steps"][0]["body_file"] == "/w=="


def test_a_test_request_with_a_file_waits_for_it(as_editor, project):
    address = reverse("project-measure", args=[project.pk])
    answer = as_editor.post(address, {"what": FILE_COMMAND})
    assert (answer.context["files"], answer.context["text"]) == ([(0, "dir/p.json")], FILE_COMMAND)
    assert not Probe.objects.exists()
    upload = SimpleUploadedFile("p.json", PAYLOAD)
    as_editor.post(address, {"what": FILE_COMMAND, "file_0": upload})
    assert Probe.objects.filter(endpoint__scheme="https").get().request["body"] == PAYLOAD.decode()


def test_the_api_names_the_field_for_a_file(as_editor, project):
    address = f"/api/v1/projects/{project.pk}/read-requests/"
    answer = as_editor.post(address, {"text": FILE_COMMAND}, content_type="application/json")
    assert answer.status_code == 400
    assert "`body_file`" in answer.json()["error"]["fields"]["text"]


def test_requests_of_a_http_file_are_steps_with_their_names(paste):
    text = "@h = https://shop.example\n### Log in\nPOST {{h}}/in\n\na=1\n### List\nGET {{h}}/all\n"
    paste(what=text, chosen=["0", "1"], choose="1")
    steps = PlanVersion.objects.get().spec["steps"]
    assert [(each["label"], each["path"]) for each in steps] == [
        ("Log in", "/in"),
        ("List", "/all"),
    ]
