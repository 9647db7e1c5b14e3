"""benchsite.yaml over REST and on its page: previewed, then applied as it was shown."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from campaigns.core.permissions import Actor
from campaigns.domain.yaml_text import read_yaml
from campaigns.models import PlanSecret, SavedPlan, Target
from campaigns.plans.services import create_plan
from tests.factories import make_endpoint, make_plan, make_target
from tests.manifest.test_services import FILE
from tests.pages import shown_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def send(client, bob, project):
    client.force_login(bob)

    def post(text=FILE, kind="application/yaml", **query):
        address = f"/api/v1/projects/{project.pk}/manifest/"
        return client.post(address, text, content_type=kind, query_params=query)

    return post


def test_a_preview_is_applied_by_its_version(send):
    preview = send(dry_run=1).json()
    assert preview["sentence"] == "4 created"
    assert "Create target shop\n" in preview["text"]
    assert not Target.objects.exists()
    other = send(FILE.replace("/cart", "/basket"), version=preview["version"])
    assert (other.status_code, other.json()["error"]["code"]) == (409, "refused")
    assert send(version=preview["version"]).json()["sentence"] == "4 created"
    again = send().json()
    assert {each["action"] for each in again["changes"]} == {"keep"}


def test_faults_are_answered_with_their_lines(send):
    answer = send(FILE.replace("rate_per_s: 200", "rate_per_s: fast"))
    assert answer.status_code == 400
    faults = answer.json()["error"]["fields"]
    assert faults["plans.0.spec.load.rate_per_s"].startswith("Line 9: 'fast': write a rate")
    assert send(b"\xff").status_code == 400
    assert send("- a").json()["error"]["fields"]["body"].startswith("Line 1: ")
    assert send("x", dry=1).json()["error"]["fields"]["dry"].startswith("Unknown field.")
    assert send("{}", kind="text/plain").status_code == 415


def test_a_file_is_bounded(send, settings):
    assert send("#" * (settings.MOST_MANIFEST_BYTES + 1)).status_code == 413


def test_secrets_stand_in_no_file_and_stay(send, client, project, alice):
    auth = {"kind": "bearer"}
    spec = {
        "steps": [{}],
        "load": {"model": "closed", "connections": 1, "duration_s": 1},
        "auth": auth,
    }
    who = Actor(user=alice)
    create_plan(by=who, project=project, name="Checkout", spec=spec, secret="hunter2")
    file = client.get(f"/api/v1/projects/{project.pk}/manifest.yaml").content.decode()
    assert "hunter2" not in file
    assert read_yaml(file).value["plans"][0]["spec"]["auth"] == auth
    assert send(file.replace("duration_s: 1", "duration_s: 2")).json()["sentence"] == "1 changed"
    assert PlanSecret.objects.get().plan.latest.value().load.duration_s == 2


def test_what_a_file_cannot_have_is_said_at_its_top(client, as_editor, project):
    from tests.engine.scenes import draft

    lost = draft(project, name="lost")
    lost.tests.get().endpoint.target.__class__.objects.update(archived_at="2026-01-01T00:00Z")
    page = as_editor.get(reverse("project-manifest-file", args=[project.pk]))
    assert "# Left out: campaign lost: The target" in page.content.decode()


def test_an_export_costs_the_same_for_many(as_editor, project, django_assert_max_num_queries):
    from tests.engine.scenes import draft

    for _ in range(9):
        draft(project, 2)
        make_endpoint(make_target(project))
    with django_assert_max_num_queries(30):
        as_editor.get(reverse("project-manifest-file", args=[project.pk]))


def test_the_page_shows_the_changes_and_applies_what_it_showed(as_editor, project):
    address = reverse("project-manifest", args=[project.pk])
    preview = as_editor.post(address, {"text": FILE})
    assert "Create plan Checkout" in shown_text(preview)
    version = preview.context["changes"].version
    make_plan(project, "Checkout")
    refusal = as_editor.post(address, {"text": FILE, "version": version, "apply": 1})
    assert refusal.status_code == 422
    assert "has changed since the preview" in shown_text(refusal)
    version = as_editor.post(address, {"text": FILE}).context["changes"].version
    answer = as_editor.post(address, {"text": FILE, "version": version, "apply": 1}, follow=True)
    assert "The file is applied: 3 created, 1 changed." in shown_text(answer)


def test_the_page_takes_a_file_and_says_its_faults(as_editor, project):
    address = reverse("project-manifest", args=[project.pk])
    upload = SimpleUploadedFile("benchsite.yaml", FILE.replace("port: 443", "port: x").encode())
    answer = as_editor.post(address, {"file": upload})
    assert "Line 4, targets.0.endpoints.0.port:" in shown_text(answer)
    assert "name: Nightly checkout" in answer.content.decode()
    for file, words in ((b"\xff\xfe", "Save the file as UTF-8"), (b"", "Paste a file")):
        answer = as_editor.post(address, {"file": SimpleUploadedFile("x", file)})
        assert words in shown_text(answer)
    assert not SavedPlan.objects.exists()


def test_a_viewer_gets_the_file_and_no_form(client, vera, project):
    make_target(project, "shop")
    client.force_login(vera)
    page = client.get(reverse("project-manifest", args=[project.pk]))
    assert "name: shop" in shown_text(page)
    assert "Apply a file" not in shown_text(page)
