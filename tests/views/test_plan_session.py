"""Sessions, credentials, variables and connections in the form of a plan."""

import pytest
from django.urls import reverse

from campaigns.domain.plan.presets import PRESETS
from campaigns.forms.plan_steps import read_extracts, write_extracts
from campaigns.forms.plans import initial_of
from campaigns.models import PlanSecret, PlanVersion
from tests.views.plan_form import save

pytestmark = pytest.mark.django_db


FIELDS = {
    "calls_per_connection": "10",
    "calls_per_session": "5",
    "cookies": "on",
    "think_kind": "uniform",
    "think_min_s": "0.5",
    "think_max_s": "2",
    "burst_length": "3",
    "pipeline_depth": "1",
    "auth_kind": "basic",
    "auth_user": "ann",
    "secret": "s3cret",
}


def test_all_of_it_is_stored_and_comes_back_into_the_form(as_editor, project):
    save(as_editor, project, "ab", **FIELDS)
    version = PlanVersion.objects.get()
    session = version.spec["session"]
    assert (session["calls_per_connection"], session["calls_per_session"]) == (10, 5)
    assert session["think_time"] == {"kind": "uniform", "mean_s": 0, "min_s": 0.5, "max_s": 2}
    assert version.spec["auth"] == {"kind": "basic", "user": "ann"}
    again = initial_of("again", version.value().to_json())
    as_editor.post(reverse("plan-edit", args=[version.plan_id]), again)
    assert PlanVersion.objects.count() == 1


def test_trying_again_is_stored_and_comes_back(as_editor, project):
    base = initial_of(PRESETS["sessions"].name, PRESETS["sessions"].spec)
    data = {name: value for name, value in base.items() if value not in (None, False)}
    as_editor.post(reverse("plan-new", args=[project.pk]), data | {"retry_on_failure": "on"})
    version = PlanVersion.objects.get()
    assert version.spec["session"]["retry_on_failure"] is True
    assert initial_of("again", version.spec)["retry_on_failure"] is True


def test_editors_read_where_the_secret_may_be_sent(as_editor, client, project, vera):
    save(as_editor, project, "ab", **FIELDS)
    stored = PlanSecret.objects.get()
    address = reverse("plan-detail", args=[stored.plan_id])
    PlanSecret.objects.update(origins=["https://shop.example:443", "https://shop.example:8443"])
    page = as_editor.get(address).content.decode()
    assert "https://shop.example:443, https://shop.example:8443" in page
    client.force_login(vera)
    assert "shop.example" not in client.get(address).content.decode()


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"think_kind": "uniform", "think_min_s": "2", "think_max_s": "1"}, "think_max_s"),
        ({"connections_per_session": "4"}, "connections_per_session"),
        ({"calls_per_connection": "2", "burst_length": "3"}, "burst_length"),
        ({"auth_kind": "bearer", "secret": "two\nlines"}, "secret"),
        ({"auth_kind": "bearer", "headers": "Authorization: x"}, "auth_kind"),
    ],
)
def test_a_fault_stands_at_its_field(fields, wrong, as_editor, project):
    answer = save(as_editor, project, "ab", **fields)
    assert set(answer.context["form"].errors) == {wrong}


def test_fields_of_another_think_time_are_ignored(as_editor, project):
    save(as_editor, project, "ab", think_kind="constant", think_mean_s="1", think_min_s="x")
    assert PlanVersion.objects.get().spec["session"]["think_time"]["mean_s"] == 1


ARRIVING = {
    "model": "open",
    "rate_per_s": "5",
    "requests": "40",
    "arrival_unit": "session",
    "calls_per_session": "6",
    "connections_per_session": "4",
    "burst_length": "3",
    "first_call_alone": "on",
}


def test_sessions_that_arrive_are_stored_and_come_back_into_the_form(as_editor, project):
    save(as_editor, project, "ab", **ARRIVING)
    version = PlanVersion.objects.get()
    assert version.spec["load"]["arrival_unit"] == "session"
    assert version.spec["session"]["connections_per_session"] == 4
    again = initial_of("again", version.value().to_json())
    as_editor.post(reverse("plan-edit", args=[version.plan_id]), again)
    assert PlanVersion.objects.count() == 1


LINES = 'token = body: value="([^"]+)"\nplace = header Location: /room/(\\d+)'


def test_variables_are_stored_and_come_back_into_the_form(as_editor, project):
    save(as_editor, project, "ab", csv="user\r\nann\r\n", path="/${user}", extract=LINES)
    version = PlanVersion.objects.get()
    assert version.spec["variables"] == {"csv": "user\nann\n", "order": "sequential"}
    again = initial_of("again", version.value().to_json())
    assert again["extract"] == LINES


def test_lines_are_read_as_they_are_written():
    assert write_extracts([{"header": "", **each} for each in read_extracts(LINES)]) == LINES


@pytest.mark.parametrize(
    "given",
    [
        {"http_version": "1.0"},
        {"http_version": "2", "streams": "16"},
        {"resolve": "per_connection"},
    ],
    ids=str,
)
def test_an_option_of_connections_is_stored_and_comes_back(as_editor, project, given):
    save(as_editor, project, **given)
    again = initial_of("again", PlanVersion.objects.get().value().to_json())
    assert {name: str(again[name]) for name in given} == given
