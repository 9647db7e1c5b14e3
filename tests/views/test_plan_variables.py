"""Variables and extractions in the form of a plan."""

import pytest

from campaigns.forms.plan_variables import read_extracts, write_extracts
from campaigns.forms.plans import initial_of
from campaigns.models import PlanVersion
from tests.views.plan_form import save

pytestmark = pytest.mark.django_db
LINES = 'token = body: value="([^"]+)"\nplace = header Location: /room/(\\d+)'


def test_they_are_stored_and_come_back_into_the_form(as_editor, project):
    save(as_editor, project, "ab", csv="user\r\nann\r\n", path="/${user}", extract=LINES)
    version = PlanVersion.objects.get()
    assert version.spec["variables"] == {"csv": "user\nann\n", "order": "sequential"}
    again = initial_of("again", version.value().to_json())
    assert again["extract"] == LINES


def test_lines_are_read_as_they_are_written():
    assert write_extracts([{"header": "", **each} for each in read_extracts(LINES)]) == LINES
