"""What tools printed on the target's machine, on the page of the run and behind share links."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from campaigns.models import ToolOutput
from campaigns.services.tool_outputs import add_output
from tests.queries.measured import https_campaign, measure, run_in_blocks
from tests.queries.test_perf_counts import tell
from tests.views.test_shares import make_link, visit

pytestmark = pytest.mark.django_db
ADD = "Add the output of a tool"
TEXT = "procs --memory--\n r  b   swpd <free>\n 1  0      0   77123\n"


def add(by, run, text=TEXT):
    return add_output(by=by, run=run, tool="vmstat", text=text)


def send(client, run, **body):
    body = {"tool": "vmstat", **body}
    return client.post(reverse("output-new", args=[run.pk]), body, follow=True)


def test_an_editor_pastes_an_output_and_reads_it_beside_the_run(as_editor, run):
    send(as_editor, measure(run, 12_000), text=TEXT.replace("\n", "\r\n"))
    page = as_editor.get(reverse("run-detail", args=[run.pk])).content.decode()
    assert "Output of vmstat" in page
    assert TEXT.replace("<free>", "&lt;free&gt;") in page
    original = as_editor.get(reverse("output-text", args=[ToolOutput.objects.get().pk]))
    assert original.content.decode() == TEXT
    assert "attachment" in original["Content-Disposition"]


def test_a_file_is_kept_as_it_was(as_editor, run):
    text = TEXT.replace("\n", "\r\n")
    send(as_editor, run, file=SimpleUploadedFile("vmstat.txt", text.encode()))
    assert ToolOutput.objects.get().text == text


def test_a_file_that_is_no_text_is_refused(as_editor, run):
    send(as_editor, run, file=SimpleUploadedFile("perf.data", b"PERFILE2\xff\xfe"))
    assert not ToolOutput.objects.exists()


def test_a_share_link_shows_them_only_where_it_shows_machines(as_editor, run, as_bob):
    add(as_bob, measure(run, 12_000))
    hidden = visit(make_link(as_editor, "run-share", run.pk)).content.decode()
    shown = visit(make_link(as_editor, "run-share", run.pk, shows_machines="on")).content.decode()
    assert "77123" not in hidden
    assert "77123" in shown
    for page in (hidden, shown):
        assert "Download</a>" not in page
        assert ADD not in page


def test_the_campaigns_page_has_http_beside_https_and_a_share_only_with_machines(
    as_editor, project
):
    campaign, tests = https_campaign(project, started_at=timezone.now(), perf="processes")
    for run in run_in_blocks(tests, [[12_000] * 3, [24_000] * 3]):
        tell(run, 1e8)
    page = as_editor.get(reverse("campaign-detail", args=[campaign.pk])).content.decode()
    hidden, shown = (
        visit(make_link(as_editor, "campaign-share", campaign.pk, **ticked)).content.decode()
        for ticked in ({}, {"shows_machines": "on"})
    )
    assert "Counters of the target" not in hidden
    for each in (page, shown):
        assert "Counters of the target" in each
        assert "cycles per 1,000 requests" in each


def test_a_file_that_is_too_large_is_refused_before_it_is_read(as_editor, run):
    answer = send(as_editor, run, file=SimpleUploadedFile("perf.txt", b"x" * 2_000_000))
    assert "at most 1.00\u202fMB" in answer.content.decode()
    assert not ToolOutput.objects.exists()
