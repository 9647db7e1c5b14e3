"""What tools printed on the target's machine, on the page of the run and behind share links."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.models import ToolOutput
from campaigns.services.tool_outputs import add_output
from tests.domain.printed.samples import PERF_GERMAN, PERF_VIRTUAL, VMSTAT
from tests.queries.measured import https_campaign, measure, run_in_blocks
from tests.queries.test_tool_counters import tell
from tests.views.test_runs import page_of
from tests.views.test_shares import make_link, visit

pytestmark = pytest.mark.django_db
ADD = "Add the output of perf stat"


def send(client, run, **body):
    return client.post(reverse("output-new", args=[run.pk]), body, follow=True)


def test_an_editor_pastes_an_output_and_reads_it_beside_the_run(as_editor, run):
    sent = send(as_editor, measure(run, 12_000), text=PERF_GERMAN.replace("\n", "\r\n"))
    assert "The output of perf stat is added." in sent.content.decode()
    page = page_of(as_editor, run)
    for told in ("177,411", "instructions per cycle", "0.455", "misses per 1,000 branches", "39.7"):
        assert told in page
    assert "extrapolated: perf counted it for 83.3 % of the time" in page
    original = as_editor.get(reverse("output-text", args=[ToolOutput.objects.get().pk]))
    assert original.content.decode() == PERF_GERMAN
    assert "attachment" in original["Content-Disposition"]


def test_a_file_is_kept_as_it_was(as_editor, run):
    text = VMSTAT.replace("\n", "\r\n")
    send(as_editor, run, file=SimpleUploadedFile("vmstat.txt", text.encode()))
    assert ToolOutput.objects.get().text == text


def test_what_the_machine_does_not_have_is_said(as_editor, run, as_bob):
    add_output(by=as_bob, run=run, text=PERF_VIRTUAL)
    page = page_of(as_editor, run)
    assert "not supported on this machine" in page
    assert "instructions per cycle" not in page


def test_the_line_that_was_not_understood_is_named_and_the_text_stays(as_editor, run):
    answer = send(as_editor, run, text="my own notes")
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "Line 1 was not understood: “my own notes”." in page
    assert "my own notes</textarea>" in page


def test_a_file_that_is_no_text_is_refused(as_editor, run):
    answer = send(as_editor, run, file=SimpleUploadedFile("perf.data", b"PERFILE2\xff\xfe"))
    assert "This is not UTF-8 text." in answer.content.decode()
    assert not ToolOutput.objects.exists()


def test_only_editors_see_the_form(viewer, run):
    assert ADD not in page_of(viewer, run)
    assert send(viewer, run, text=VMSTAT).status_code == 403


def test_nothing_is_added_without_the_pages_token(run, bob):
    client = Client(enforce_csrf_checks=True)
    client.force_login(bob)
    assert send(client, run, text=VMSTAT).status_code == 403


def test_an_output_is_deleted(as_editor, run, as_bob):
    output = add_output(by=as_bob, run=run, text=VMSTAT)
    as_editor.post(reverse("output-delete", args=[output.pk]))
    assert "CPU, user" not in page_of(as_editor, run)


def test_a_share_link_shows_them_only_where_it_shows_machines(as_editor, run, as_bob):
    add_output(by=as_bob, run=measure(run, 12_000), text=VMSTAT)
    hidden = visit(make_link(as_editor, "run-share", run.pk)).content.decode()
    shown = visit(make_link(as_editor, "run-share", run.pk, shows_machines="on")).content.decode()
    assert "CPU, user" not in hidden
    assert "CPU, user" in shown
    for page in (hidden, shown):
        assert "Download the original" not in page
        assert ADD not in page


def test_the_runs_csv_has_them(as_editor, run, as_bob):
    add_output(by=as_bob, run=measure(run, 12_000), text=PERF_VIRTUAL)
    lines = as_editor.get(reverse("run-csv", args=[run.pk])).content.decode().splitlines()
    assert "context-switches,9204," in lines
    assert "cycles,,not supported on this machine" in lines


def test_the_campaigns_page_has_http_beside_https_and_a_share_only_with_machines(
    as_editor, project, as_bob
):
    campaign, tests = https_campaign(project, started_at=timezone.now())
    tell(run_in_blocks(tests, [[12_000] * 3, [24_000] * 3]), as_bob)
    page = as_editor.get(reverse("campaign-detail", args=[campaign.pk])).content.decode()
    hidden, shown = (
        visit(make_link(as_editor, "campaign-share", campaign.pk, **ticked)).content.decode()
        for ticked in ({}, {"shows_machines": "on"})
    )
    assert "Counters of the target" not in hidden
    for each in (page, shown):
        assert "Counters of the target" in each
        assert "1,530,000" in each


def test_a_file_that_is_too_large_is_refused_before_it_is_read(as_editor, run):
    answer = send(as_editor, run, file=SimpleUploadedFile("perf.txt", b"x" * 2_000_000))
    said = "This file has 2.00\u202fMB. Choose one of at most 1.00\u202fMB."
    assert said in answer.content.decode()
    assert not ToolOutput.objects.exists()
