"""A mark on the time axis of histories: sent once or twice, checked, deleted."""

from datetime import UTC, datetime

import pytest

from campaigns.domain.errors import InvalidFields
from campaigns.models import AuditEntry, TimeMark
from campaigns.permissions import Actor
from campaigns.services.marks import delete_mark, set_mark
from tests.factories import make_project, make_target

pytestmark = pytest.mark.django_db


@pytest.fixture
def mark(bob, project):
    def mark(text="version 1.4.2 deployed", **fields):
        return set_mark(by=Actor(user=bob), project=project, text=text, **fields)

    return mark


def test_a_job_that_sends_its_mark_twice_leaves_one(mark):
    first, second = mark(), mark()
    assert (first[1], second[1]) == (True, False)
    assert first[0] == second[0]


def test_the_same_version_on_another_target_or_at_another_time_is_another_mark(mark, project):
    target = make_target(project)
    at = datetime(2026, 11, 1, tzinfo=UTC)
    made = [mark(), mark(target=target), mark(at=at), mark(key="job 7")]
    assert [is_new for _, is_new in made] == [True] * 4


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"text": " "}, "text"),
        ({"text": "x" * 101}, "text"),
        ({"link": "javascript:alert(1)"}, "link"),
        ({"key": "x" * 151}, "key"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_its_name(mark, fields, name):
    with pytest.raises(InvalidFields) as refused:
        mark(**fields)
    assert name in refused.value.errors
    assert not TimeMark.objects.exists()


def test_a_target_of_another_project_is_refused(mark):
    with pytest.raises(InvalidFields):
        mark(target=make_target(make_project()))


def test_who_deletes_one_leaves_one_line_in_the_audit_log(mark, bob, project):
    found, _ = mark(text="version 1.4.2 deployed")
    in_two_tabs = [TimeMark.objects.get(), TimeMark.objects.get()]
    for each in in_two_tabs:
        delete_mark(by=Actor(user=bob), mark=each)
    entry = AuditEntry.objects.get()
    assert str(entry) == f"bob: Deleted mark {found.pk}: version 1.4.2 deployed"
    assert entry.project == project.pk
