"""Pages of targets: the form with its rows, one target, the list's statements."""

import pytest
from django.urls import reverse

from campaigns.models import Target
from tests.factories import make_endpoint, make_target

pytestmark = pytest.mark.django_db

FORM = {
    "name": "shop",
    "scheme": ["http", "https"],
    "host": ["10.0.0.5", "10.0.0.5"],
    "port": ["8080", "8443"],
    "verify_tls": ["yes", "no"],
    "label": ["CPU", "Memory", "Disk"],
    "value": ["8 cores", "", "NVMe"],
}


def new(project) -> str:
    return reverse("target-new", args=[project.pk])


def test_a_target_is_made_from_its_rows(as_editor, project):
    as_editor.post(new(project), FORM)
    target = Target.objects.get()
    assert target.environment == [["CPU", "8 cores"], ["Disk", "NVMe"]]
    assert [(str(each), each.verify_tls) for each in target.endpoints.all()] == [
        ("http://10.0.0.5:8080", True),
        ("https://10.0.0.5:8443", False),
    ]


def test_rows_that_nobody_filled_in_are_left_out(as_editor, project):
    as_editor.post(new(project), {**FORM, "host": ["10.0.0.5", ""], "port": ["80", "443"]})
    assert [str(each) for each in Target.objects.get().endpoints.all()] == ["http://10.0.0.5:80"]


def test_a_wrong_row_is_answered_beside_it_and_nothing_typed_is_lost(as_editor, project):
    answer = as_editor.post(new(project), {**FORM, "host": ["10.0.0.5", "http://x"]})
    page = answer.content.decode()
    assert answer.status_code == 422
    for typed in ("shop", "8080", "http://x", "8443", "8 cores", "NVMe"):
        assert f'value="{typed}"' in page
    assert not Target.objects.exists()


def test_lists_of_unequal_length_are_refused_not_crashed_on(as_editor, project):
    answer = as_editor.post(new(project), {"name": "x", "host": ["10.0.0.5"], "port": []})
    assert answer.status_code == 422


def test_markup_in_facts_is_shown_as_text(as_editor, project):
    target = make_target(project, "<b>x</b>", environment=[["<i>", "<script>alert(1)</script>"]])
    make_endpoint(target)
    page = as_editor.get(reverse("target-detail", args=[target.pk])).content.decode()
    assert "<script>alert" not in page
    assert "<b>x</b>" not in page


def test_an_edit_shows_what_is_stored_and_changes_it(as_editor, project):
    target = make_target(project, "shop", environment=[["CPU", "8 cores"]])
    make_endpoint(target)
    url = reverse("target-edit", args=[target.pk])
    assert 'value="8 cores"' in as_editor.get(url).content.decode()
    as_editor.post(url, {**FORM, "name": "shop 2"})
    target.refresh_from_db()
    assert target.name == "shop 2"
