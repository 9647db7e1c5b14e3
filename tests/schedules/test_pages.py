"""Schedules in the browser and over REST."""

import pytest

from campaigns.core.permissions import Actor
from campaigns.models import Schedule
from tests.engine.scenes import draft
from tests.schedules.test_services import nightly

pytestmark = pytest.mark.django_db


@pytest.fixture
def template(project):
    return draft(project, name="Template")


def form(template, **fields) -> dict:
    values = {"template": template.pk, "name": "Nightly", "every": "weekday", "at": "02:30"}
    return values | {"zone": "Europe/Paris", "result_within_h": "6", **fields}


def test_a_sentence_becomes_a_schedule(client, alice, project, template):
    client.force_login(alice)
    page = f"/projects/{project.pk}/schedules/"
    assert client.post(page, form(template)).status_code == 302
    schedule = Schedule.objects.get()
    assert (schedule.cron, schedule.zone) == ("30 2 * * 1-5", "Europe/Paris")
    assert not schedule.when_quiet
    html = client.get(f"/schedules/{schedule.pk}/").content.decode()
    assert '<option value="weekday" selected>' in html
    assert 'value="02:30"' in html


def test_a_long_list_has_pages(client, alice, project, template):
    first = nightly(project, Actor(user=alice), template=template, name="night 00")
    for number in range(1, 30):
        first.pk, first.name = None, f"Night {number:02}"
        first.save()
    client.force_login(alice)
    address = f"/projects/{project.pk}/schedules/"
    page = client.get(address).context["page"]
    names = [each.name for each in page]
    assert "night 00" in names[0]
    rest = client.get(address, {"page": page.next}).context["page"]
    assert names + [each.name for each in rest] == [
        "night 00",
        *(f"Night {n:02}" for n in range(1, 30)),
    ]


def test_what_is_wrong_is_said_and_nothing_typed_is_lost(client, alice, project, template):
    for fields in [
        {"every": "cron", "cron": "61 * * * *"},
        {"at": ""},
        {"template": ""},
        {"zone": "Nowhere"},
        {"result_within_h": "0"},
        {"name": " "},
    ]:
        client.force_login(alice)
        answer = client.post(f"/projects/{project.pk}/schedules/", form(template) | fields)
        assert answer.status_code == 422
        assert 'class="error"' in answer.content.decode()
        assert 'value="6"' in answer.content.decode() or "result_within_h" in fields
        assert not Schedule.objects.exists()


def test_the_form_says_when_it_would_start(client, alice, project, template):
    client.force_login(alice)
    page = f"/projects/{project.pk}/schedules/preview/"
    values = {"every": "cron", "cron": "0 4 29 2 *", "zone": "UTC"}
    assert "29 Feb 04:00" in client.post(page, form(template, **values)).content.decode()
    assert "Next" not in client.post(page, form(template, every="cron")).content.decode()


def test_two_tabs_do_not_put_back_each_others_changes(client, alice, project, template):
    schedule = nightly(project, Actor(user=alice), template=template)
    client.force_login(alice)
    page = f"/schedules/{schedule.pk}/"
    token = client.get(page).context["edit"].opened
    assert client.post(page, form(template, name="A", opened=token)).status_code == 302
    assert client.post(page, form(template, name="B", opened=token)).status_code == 409
    assert Schedule.objects.get().name == "A"


def test_rest_makes_pauses_resumes_and_deletes_one(client, bob, project, template):
    client.force_login(bob)

    def ask(method: str, path: str, status: int = 200, **sent):
        address = f"/api/v1/{path}"
        answer = getattr(client, method)(address, sent or None, content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None

    sent = {"name": "Nightly", "template": template.pk, "cron": "0 2 * * *"}
    schedule = ask("post", f"projects/{project.pk}/schedules/", 201, **sent)
    assert schedule["words"] == "At 02:00 every day"
    one = f"schedules/{schedule['id']}/"
    assert ask("post", f"{one}pause/")["next_at"] is None
    assert ask("post", f"{one}resume/")["next_at"] == schedule["next_at"]
    campaign = ask("post", f"{one}run/", 201)["campaign"]
    refusal = ask("post", f"{one}run/", 409)
    assert "still running" in refusal["error"]["message"]
    assert [each["campaign"] for each in ask("get", one)["outcomes"]] == [campaign]
    assert ask("put", one, **sent | {"zone": "Europe/Paris"})["zone"] == "Europe/Paris"
    ask("delete", one, 204)
    assert not Schedule.objects.exists()
