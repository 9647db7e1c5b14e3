"""What people say of results: changes in triage, marks on the time axis, outputs of other tools."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from campaigns.core.permissions import Actor
from campaigns.domain.caps import STORED_GB
from campaigns.domain.errors import ChangedMeanwhile, InvalidFields, Refused
from campaigns.domain.lifecycle import Trust
from campaigns.domain.typed_text import version_token
from campaigns.engine.services.dispatch import finish_campaigns
from campaigns.history.services import content_of, delete_mark, edit_entry, note_changes, set_mark
from campaigns.machines.services import add_output, delete_output
from campaigns.models import (
    AuditEntry,
    Campaign,
    RunUse,
    TestFigures,
    TimeMark,
    ToolOutput,
    TriageChange,
    TriageEntry,
)
from campaigns.operations.models import AuditEvent
from campaigns.operations.queries import use_of
from tests.factories import make_endpoint, make_plan, make_project, make_target
from tests.histories import make_history

pytestmark = pytest.mark.django_db


CALM = [26.0, 26.2, 25.8, 26.1, 25.9, 26.0, 26.3, 25.7]
SLOWER = [*CALM, *(28.5, 28.6, 28.4, 28.7, 28.3, 28.5)]
SLOWER_STILL = [34.0, 34.2, 33.8, 34.1, 33.9, 34.0]


def nights_ago(nights: int):
    return timezone.now() - timedelta(days=nights)


@pytest.fixture
def target(project):
    return make_target(project, "checkout-api")


def arm_on(target, scheme: str = "http"):
    """A plan of its own on the target, in a new connection."""
    endpoint = target.endpoints.filter(scheme=scheme).first()
    return (make_plan(target.project), endpoint or make_endpoint(target, scheme), "new")


def note_history(project, levels, *, begin=20, **options):
    """A history whose changes are written down; the tests of its last campaign."""
    tests = make_history(project, levels, begin=nights_ago(begin), **options)
    note_changes(campaign_id=tests[0].campaign_id)
    return tests


@pytest.fixture
def entry(project):
    note_history(project, SLOWER)
    return TriageEntry.objects.get()


def night(number: int) -> Campaign:
    return Campaign.objects.get(name=f"night {number}")


def test_the_end_of_a_campaign_writes_its_changes_down(project):
    (test,) = make_history(project, SLOWER, begin=nights_ago(20))
    Campaign.objects.filter(pk=test.campaign_id).update(finished_at=None)
    assert finish_campaigns() == 1
    change = TriageChange.objects.get()
    assert (change.entry.acknowledged_at, change.since) == (None, night(8))
    assert change.entry.target == test.endpoint.target
    assert change.ratio == pytest.approx(28.5 / 26.0, abs=0.002)
    assert change.after_at == night(7).started_at


def test_busy_campaigns_count_with_their_medians_and_hide_no_change(project, target):
    arms = [arm_on(target)]
    note_history(project, SLOWER, tests=arms)
    (before,) = TriageChange.objects.all()
    busy = note_history(project, [28.4, 28.6], begin=5, tests=arms, trust=Trust.BUSY)
    (after,) = TriageChange.objects.all()
    assert after.pk == before.pk
    assert after.ratio == pytest.approx(before.ratio, rel=0.01)
    figures = TestFigures.objects.get(test=busy[0])
    assert (len(figures.typical_us), figures.p95_us) == (3, [])


def test_written_twice_it_is_the_same_entry(project):
    (test,) = note_history(project, SLOWER)
    assert note_changes(campaign_id=test.campaign_id) == 0
    assert TriageChange.objects.count() == TriageEntry.objects.count() == 1


@pytest.mark.parametrize("was", [6, 7, 9, 10])
def test_the_entry_follows_a_change_that_moves(project, was):
    (test,) = note_history(project, SLOWER)
    TriageChange.objects.update(since=night(was), since_at=night(was).started_at)
    assert note_changes(campaign_id=test.campaign_id) == 0
    assert TriageChange.objects.get().since == night(8)


def test_an_entry_outlives_the_campaign_with_which_it_began(project):
    (test,) = note_history(project, SLOWER)
    night(8).delete()
    assert note_changes(campaign_id=test.campaign_id) == 0
    assert TriageChange.objects.get().since == night(9)


def test_changes_of_one_target_in_the_same_nights_are_one_entry(project, target):
    note_history(project, SLOWER, tests=[arm_on(target), arm_on(target), arm_on(target, "https")])
    assert TriageEntry.objects.get().changes.count() == 3


def test_another_target_is_another_entry(project, target):
    note_history(project, SLOWER, tests=[arm_on(target), arm_on(make_target(project))])
    assert TriageEntry.objects.count() == 2


def test_what_is_found_later_joins_an_open_entry_but_no_acknowledged_one(project, target, as_bob):
    note_history(project, SLOWER, tests=[arm_on(target)])
    entry = TriageEntry.objects.get()
    note_history(project, SLOWER, tests=[arm_on(target)])
    assert entry.changes.count() == 2
    edit_entry(by=as_bob, entry=entry, acknowledged=True)
    note_history(project, SLOWER, tests=[arm_on(target)])
    assert entry.changes.count() == 2
    assert TriageEntry.objects.exclude(pk=entry.pk).get().acknowledged_at is None


def test_a_test_that_moves_again_is_a_new_entry(project, target, as_bob):
    arms = [arm_on(target)]
    note_history(project, SLOWER, tests=arms)
    edit_entry(by=as_bob, entry=TriageEntry.objects.get(), acknowledged=True)
    note_history(project, SLOWER_STILL, tests=arms, begin=6)
    assert TriageEntry.objects.filter(acknowledged_at=None).count() == 1
    assert TriageEntry.objects.count() == 2


def test_a_change_at_the_same_time_is_kept_as_its_possible_cause(project, target):
    arms = [arm_on(target)]
    make_history(project, SLOWER[:8], begin=nights_ago(20), tests=arms)
    note_history(project, SLOWER[8:], begin=12, server="apache", tests=arms)
    assert TriageChange.objects.get().causes == [["Server", "nginx", "apache"]]


def test_who_acknowledged_it_is_kept_while_others_edit_the_note(entry, as_alice, as_bob):
    edit_entry(by=as_bob, entry=entry, acknowledged=True, link="https://x.y/1\0")
    edit_entry(by=as_alice, entry=entry, acknowledged=True, note="Rolled\0 back. ")
    entry.refresh_from_db()
    assert (entry.acknowledged_by, entry.note) == (as_bob.user, "Rolled back.")
    assert entry.link == "https://x.y/1"
    edit_entry(by=as_alice, entry=entry, acknowledged=False)
    entry.refresh_from_db()
    assert (entry.acknowledged_by, entry.acknowledged_at) == (None, None)


def test_nobody_overwrites_a_note_unread(entry, as_alice, as_bob):
    token = version_token(content_of(entry))
    edit_entry(by=as_bob, entry=entry, note="Known.", opened=token)
    with pytest.raises(ChangedMeanwhile):
        edit_entry(by=as_alice, entry=entry, note="Noise.", opened=token)
    entry.refresh_from_db()
    assert entry.note == "Known."


def test_what_cannot_be_kept_of_an_entry_is_refused(entry, as_bob):
    for fields in [
        {"note": "x" * 10_001},
        {"link": "javascript:alert(1)"},
        {"link": "https://[x"},
        {"link": f"https://x/{'y' * 500}"},
    ]:
        with pytest.raises(InvalidFields) as refusal:
            edit_entry(by=as_bob, entry=entry, acknowledged=True, **fields)
        assert set(refusal.value.errors) == set(fields)
        entry.refresh_from_db()
        assert entry.acknowledged_at is None


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
    marks = [mark(), mark(target=target), mark(at=at), mark(key="job 7")]
    assert [is_new for _, is_new in marks] == [True] * 4


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"text": " "}, "text"),
        ({"text": "x" * 101}, "text"),
        ({"link": "javascript:alert(1)"}, "link"),
        ({"key": "x" * 151}, "key"),
        ({"at": datetime.min.replace(tzinfo=UTC)}, "at"),
        ({"at": datetime.max.replace(tzinfo=UTC)}, "at"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_its_name(mark, fields, name):
    with pytest.raises(InvalidFields) as refusal:
        mark(**fields)
    assert name in refusal.value.errors
    assert not TimeMark.objects.exists()


def test_a_target_of_another_project_is_refused(mark):
    with pytest.raises(InvalidFields):
        mark(target=make_target(make_project()))


def test_who_deletes_one_leaves_one_line_in_the_audit_log(mark, bob, project):
    row, _ = mark(text="version 1.4.2 deployed")
    in_two_tabs = [TimeMark.objects.get(), TimeMark.objects.get()]
    for each in in_two_tabs:
        delete_mark(by=Actor(user=bob), mark=each)
    entry = AuditEntry.objects.get()
    assert str(entry) == f"bob: Deleted mark {row.pk}: version 1.4.2 deployed"
    assert entry.project == project.pk


TEXT = "procs --memory--\r\n r  b   swpd\t\n 1  0      0 \n"


def keep(by, run, text=TEXT, tool="vmstat"):
    return add_output(by=by, run=run, tool=tool, text=text)


def test_the_text_is_kept_as_it_was_with_the_tools_name(as_bob, run, bob):
    output = keep(as_bob, run, tool=" vmstat  -t ")
    output.refresh_from_db()
    assert (output.text, output.tool, output.added_by) == (TEXT, "vmstat -t", bob)


def test_what_cannot_be_kept_is_refused(as_bob, run):
    for field, fields in [
        ("tool", {"tool": " "}),
        ("tool", {"tool": "x" * 41}),
        ("text", {"text": "\n \n"}),
        ("text", {"text": "r\x00b"}),
        ("text", {"text": "r\ud800b"}),
        ("text", {"text": "ä" * 500_001}),
    ]:
        with pytest.raises(InvalidFields) as refusal:
            keep(as_bob, run, **fields)
        assert set(refusal.value.errors) == {field}
        assert not ToolOutput.objects.exists()


def test_a_text_of_just_the_limit_is_kept(as_bob, run):
    assert keep(as_bob, run, text="ä" * 500_000).pk


def test_both_are_in_the_audit_log(as_bob, run):
    output = keep(as_bob, run)
    label = f"output {output.pk}: vmstat of run {run.label}"
    delete_output(by=as_bob, output=output)
    deeds = AuditEntry.objects.filter(what=label).order_by("pk").values_list("deed", "who")
    assert list(deeds) == [(AuditEvent.OUTPUT_ADDED, "bob"), (AuditEvent.DELETED, "bob")]


def test_the_originals_count_among_what_the_project_stores(as_bob, run, project):
    def stored_gb() -> float:
        return next(use.used for use in use_of(project) if use.cap is STORED_GB)

    outputs = [keep(as_bob, run, text=text) for text in (TEXT, 9 * TEXT)]
    both = stored_gb()
    assert both > 10 * len(TEXT)
    delete_output(by=as_bob, output=outputs[0])
    assert both > stored_gb() > 9 * len(TEXT)
    delete_output(by=as_bob, output=outputs[1])
    assert stored_gb() == 0


def test_what_its_project_has_no_room_for_is_refused_and_not_kept(as_bob, run, project):
    project.caps = {"STORED_GB": 1}
    project.save()
    RunUse.objects.create(run=run, project=project, seconds_bytes=10**9)
    with pytest.raises(Refused, match=r"1\.00 of at most 1\.00 GB of results.* Delete campaigns"):
        keep(as_bob, run)
    assert not ToolOutput.objects.exists()


def test_they_are_deleted_with_their_run(as_bob, run):
    keep(as_bob, run)
    run.campaign.delete()
    assert not ToolOutput.objects.exists()
