import pytest

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.caps import STORED_GB
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.models import AuditEntry, RunUse, ToolOutput
from campaigns.queries.caps import use_of
from campaigns.services.endings import add_output, delete_output

pytestmark = pytest.mark.django_db
TEXT = "procs --memory--\r\n r  b   swpd\t\n 1  0      0 \n"


def add(by, run, text=TEXT, tool="vmstat"):
    return add_output(by=by, run=run, tool=tool, text=text)


def test_the_text_is_kept_as_it_was_with_the_tools_name(as_bob, run, bob):
    output = add(as_bob, run, tool=" vmstat  -t ")
    output.refresh_from_db()
    assert (output.text, output.tool, output.added_by) == (TEXT, "vmstat -t", bob)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("tool", {"tool": " "}),
        ("tool", {"tool": "x" * 41}),
        ("text", {"text": "\n \n"}),
        ("text", {"text": "r\x00b"}),
        ("text", {"text": "r\ud800b"}),
        ("text", {"text": "ä" * 500_001}),
    ],
)
def test_what_cannot_be_kept_is_refused(as_bob, run, field, given):
    with pytest.raises(InvalidFields) as refused:
        add(as_bob, run, **given)
    assert set(refused.value.errors) == {field}
    assert not ToolOutput.objects.exists()


def test_a_text_of_just_the_limit_is_kept(as_bob, run):
    assert add(as_bob, run, text="ä" * 500_000).pk


def test_both_are_in_the_audit_log(as_bob, run):
    output = add(as_bob, run)
    label = f"output {output.pk}: vmstat of run {run.label}"
    delete_output(by=as_bob, output=output)
    deeds = AuditEntry.objects.filter(what=label).order_by("pk").values_list("deed", "who")
    assert list(deeds) == [(AuditEvent.OUTPUT_ADDED, "bob"), (AuditEvent.DELETED, "bob")]


def test_the_originals_count_among_what_the_project_stores(as_bob, run, project):
    def stored() -> float:
        return next(use.used for use in use_of(project) if use.cap is STORED_GB)

    outputs = [add(as_bob, run, text=text) for text in (TEXT, 9 * TEXT)]
    both = stored()
    assert both > 10 * len(TEXT)
    delete_output(by=as_bob, output=outputs[0])
    assert both > stored() > 9 * len(TEXT)
    delete_output(by=as_bob, output=outputs[1])
    assert stored() == 0


def test_what_its_project_has_no_room_for_is_refused_and_not_kept(as_bob, run, project):
    project.caps = {"STORED_GB": 1}
    project.save()
    RunUse.objects.create(run=run, project=project, seconds_bytes=10**9)
    with pytest.raises(Refused, match=r"1\.00 of at most 1\.00 GB of results.* Delete campaigns"):
        add(as_bob, run)
    assert not ToolOutput.objects.exists()


def test_they_are_deleted_with_their_run(as_bob, run):
    add(as_bob, run)
    run.campaign.delete()
    assert not ToolOutput.objects.exists()
