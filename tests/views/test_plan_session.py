"""Sessions, credentials, variables and connections in the form of a plan."""

import pytest
from django.urls import reverse

from campaigns.forms.plan_steps import read_extracts, write_extracts
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


LINES = 'token = body: value="([^"]+)"\nplace = header Location: /room/(\\d+)'


def test_lines_are_read_as_they_are_written():
    assert write_extracts([{"header": "", **each} for each in read_extracts(LINES)]) == LINES
