import pytest

from campaigns.domain.caps import STORED_GB
from campaigns.domain.deeds import Deed
from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.models import AuditEntry, RunUse, ToolOutput
from campaigns.queries.caps import use_of
from campaigns.services.tool_outputs import MOST_OUTPUTS, add_output, delete_output
from tests.domain.printed.samples import PERF_GERMAN, VMSTAT

pytestmark = pytest.mark.django_db


def test_the_original_is_kept_as_it_was_with_what_it_says(as_bob, run, bob):
    output = add_output(by=as_bob, run=run, text=PERF_GERMAN)
    output.refresh_from_db()
    assert (output.text, output.tool, output.added_by) == (PERF_GERMAN, "perf stat", bob)
    assert output.printed.values[0].name == "task-clock"


def test_what_is_not_understood_is_not_kept(as_bob, run):
    with pytest.raises(InvalidFields, match="Line 1 was not understood"):
        add_output(by=as_bob, run=run, text="hello")
    assert not ToolOutput.objects.exists()


def test_only_editors_and_owners_add_and_delete(as_bob, as_vera, as_charlie, run):
    output = add_output(by=as_bob, run=run, text=VMSTAT)
    for actor in (as_vera, as_charlie):
        with pytest.raises(Forbidden):
            add_output(by=actor, run=run, text=VMSTAT)
        with pytest.raises(Forbidden):
            delete_output(by=actor, output=output)


def test_both_are_in_the_audit_log(as_bob, run):
    output = add_output(by=as_bob, run=run, text=VMSTAT)
    label = f"output {output.pk}: vmstat of run {run.label}"
    delete_output(by=as_bob, output=output)
    deeds = AuditEntry.objects.filter(what=label).order_by("pk").values_list("deed", "who")
    assert list(deeds) == [(Deed.OUTPUT_ADDED, "bob"), (Deed.DELETED, "bob")]


def test_a_run_has_a_limited_number(as_bob, run):
    for _ in range(MOST_OUTPUTS):
        add_output(by=as_bob, run=run, text=VMSTAT)
    with pytest.raises(Refused, match="Delete one of them first"):
        add_output(by=as_bob, run=run, text=VMSTAT)


def test_the_originals_count_among_what_the_project_stores(as_bob, run, project):
    def stored() -> float:
        return next(use.used for use in use_of(project) if use.cap is STORED_GB)

    outputs = [add_output(by=as_bob, run=run, text=text) for text in (VMSTAT, PERF_GERMAN)]
    both = stored()
    assert both > len(VMSTAT) + len(PERF_GERMAN)
    delete_output(by=as_bob, output=outputs[0])
    assert both > stored() > len(PERF_GERMAN)
    delete_output(by=as_bob, output=outputs[1])
    assert stored() == 0


def test_what_its_project_has_no_room_for_is_refused_and_not_kept(as_bob, run, project):
    project.caps = {"STORED_GB": 1}
    project.save()
    RunUse.objects.create(run=run, project=project, seconds_bytes=10**9)
    with pytest.raises(Refused, match=r"1\.00 of at most 1\.00 GB of results.* Delete campaigns"):
        add_output(by=as_bob, run=run, text=VMSTAT)
    assert not ToolOutput.objects.exists()


def test_they_are_deleted_with_their_run(as_bob, run):
    add_output(by=as_bob, run=run, text=VMSTAT)
    run.campaign.delete()
    assert not ToolOutput.objects.exists()
