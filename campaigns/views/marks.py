"""A project's marks: deploys and other events that histories show as lines."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from campaigns.domain.errors import InvalidFields
from campaigns.forms.marks import MarkForm
from campaigns.models import Project, TimeMark
from campaigns.permissions import Action, Actor, require
from campaigns.services import marks as services
from campaigns.views.access import actor_of, find, rights_in, takes_a_form

PAGE_SIZE = 50


@takes_a_form
@login_required
def mark_list(request: HttpRequest, project: int) -> HttpResponse:
    """The marks, newest first, with a form for a new one."""
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    if request.method == "POST":
        require(actor, Action.EDIT, found)
    form = MarkForm(request.POST or None, project=found)
    said = _set(form, actor, found) if request.method == "POST" and form.is_valid() else ""
    if said:
        messages.success(request, said)
        return redirect("mark-list", project=found.pk)
    marks = TimeMark.objects.visible_to(actor).filter(project=found).select_related("target")
    newest = marks.select_related("created_by").order_by("-at", "-pk")
    page = Paginator(newest, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "project": found,
        "form": form,
        "page": page,
        "may": rights_in(found, actor),
        "query": "",
    }
    return render(request, "marks/list.html", context, status=422 if form.errors else 200)


def _set(form: MarkForm, actor: Actor, project: Project) -> str:
    """What to say of it; "" if it has errors, which the form then shows."""
    try:
        _, is_new = services.set_mark(
            by=actor, project=project, key=_key_of(form), **form.cleaned_data
        )
    except InvalidFields as invalid:
        for name, sentence in invalid.errors.items():
            form.add_error(name if name in form.fields else None, sentence)
        return ""
    if not is_new:
        return "This mark was there already, and stays as it is."
    return "Marked. Histories show it as a line."


def _key_of(form: MarkForm) -> str:
    """A program that sends the same words again means the same mark; somebody who types them on
    another day another one. A button that is pressed twice still leaves one."""
    if form.cleaned_data["at"]:
        return ""
    return f"{form.cleaned_data['text'][:100]} {timezone.now():%Y-%m-%dT%H:%M}"


@login_required
@require_POST
def mark_delete(request: HttpRequest, mark: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(TimeMark.objects.select_related("project"), actor, pk=mark)
    services.delete_mark(by=actor, mark=found)
    messages.success(request, "The mark is deleted.")
    return redirect("mark-list", project=found.project_id)
