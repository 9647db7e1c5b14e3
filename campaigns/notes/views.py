"""Notes on pages: add one to a campaign, a run or a test; change or delete one."""

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse

from campaigns.core.access import (
    Edit,
    acts_on,
    labels_of,
    render_page,
    saved_by,
    signed_in_form,
    signed_in_post,
)
from campaigns.core.forms import CheckedForm
from campaigns.core.permissions import Action, Actor, require
from campaigns.models import Campaign, Note, Run, Test
from campaigns.notes import services

_PAGES = {Campaign: "campaign-detail", Run: "run-detail", Test: "history-test"}
_RUNS = Run.objects.select_related("campaign__project")
_TESTS = Test.objects.select_related("campaign__project", "plan_version")
_NOTES = Note.objects.select_related("project")


class NoteForm(CheckedForm):
    text = forms.CharField(
        label="Note",
        strip=False,
        error_messages={"required": "Write a note."},
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Markdown: **bold**, `code`, lists, tables, [links](https://shop.example).",
    )
    is_shared = forms.BooleanField(required=False, label="Show on shared pages")


def _add(request: HttpRequest, actor: Actor, row: Campaign | Run | Test) -> HttpResponse:
    """What was typed is shown again if it is refused."""
    campaign = row if isinstance(row, Campaign) else row.campaign
    require(actor, Action.EDIT, campaign.project)
    form, page = NoteForm(request.POST), reverse(_PAGES[type(row)], args=[row.pk])
    if saved_by(form, services.add_note, by=actor, of=row):
        return redirect(f"{page}#notes")
    return render_page(request, "notes/form.html", campaign.project, form=form, page=page)


campaign_note = signed_in_post(Campaign.objects.select_related("project"))(_add)
run_note = signed_in_post(_RUNS)(_add)
test_note = signed_in_post(_TESTS)(_add)


@signed_in_form(_NOTES)
def note_detail(request: HttpRequest, actor: Actor, note: Note) -> HttpResponse:
    edit = Edit(request, lambda: services.content_of(note), labels_of(NoteForm))
    is_new = request.method != "POST"
    form = NoteForm(None if is_new else request.POST, initial=services.content_of(note))
    if saved_by(form, edit.save, service=services.edit_note, by=actor, note=note):
        return redirect(f"{_page_of(note)}#notes")
    if is_new and not services.may_change(actor, note, note.project):
        require(actor, Action.ADMINISTER, note.project)
    context = {"form": form, "edit": edit, "page": _page_of(note), "note": note}
    return render_page(request, "notes/form.html", note.project, **context)


@acts_on(_NOTES, "project-detail", "project_id")
def note_delete(request: HttpRequest, by: Actor, note: Note) -> HttpResponse:
    page = _page_of(note)
    services.delete_note(by=by, note=note)
    return redirect(f"{page}#notes")


def _page_of(note: Note) -> str:
    if note.campaign_id:
        return reverse("campaign-detail", args=[note.campaign_id])
    if note.run_id:
        return reverse("run-detail", args=[note.run_id])
    key = {"endpoint": note.endpoint, "connection_mode": note.connection_mode}
    tests = Test.objects.outside_trash().filter(plan_version__plan=note.plan, **key)
    test = tests.filter(injectors=note.injectors).order_by("-pk").first()
    if test is None:
        return reverse("history", args=[note.project_id])
    return reverse("history-test", args=[test.pk])


urlpatterns = [
    path("campaigns/<int:campaign>/notes/", campaign_note, name="campaign-note"),
    path("runs/<int:run>/notes/", run_note, name="run-note"),
    path("tests/<int:test>/notes/", test_note, name="test-note"),
    path("notes/<int:note>/", note_detail, name="note-detail"),
    path("notes/<int:note>/delete/", note_delete, name="note-delete"),
]
