"""Schedules of a project: the list with a form for a new one, and one with what came of it."""

from contextlib import suppress
from datetime import datetime

from django.contrib import messages
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone

from campaigns.campaigns.queries.campaign_list import with_counts
from campaigns.campaigns.views.campaigns import with_words
from campaigns.core.access import (
    Edit,
    acts_on,
    labels_of,
    render_page,
    saved_by,
    signed_in_form,
    signed_in_post,
    whole,
)
from campaigns.core.pages import page_of, sorted_by
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.errors import InvalidFields
from campaigns.domain.timetable import Timetable
from campaigns.models import Campaign, Firing, Project, Schedule
from campaigns.schedules import services
from campaigns.schedules.forms import MOST_TEMPLATES, ScheduleForm

N_ROWS = 25
N_NEXT = 5
N_FIRINGS = 20
_ROWS = Schedule.objects.select_related("project", "template", "owner")


@signed_in_form(Project)
def schedule_list(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """`?campaign=ID`: filled in with what was measured there."""
    form = _form(request, project, request.GET.get("campaign", ""))
    if request.method == "POST":
        require(actor, Action.EDIT, project)
        who = {"by": actor, "project": project, "now": timezone.now()}
        if new_schedule := saved_by(form, services.create_schedule, **who):
            first = timezone.localtime(new_schedule.next_at)
            messages.success(
                request, f"{new_schedule.name} added. It starts {first:%a %-d %b %H:%M}."
            )
            return redirect("schedule-list", project=project.pk)
    rows = sorted_by(_ROWS.visible_to(actor).filter(project=project), Lower("name"), falls=False)
    page = page_of(rows, N_ROWS, request.GET.get("page", ""))
    newest = Firing.objects.filter(schedule__in=page.rows).order_by("schedule_id", "-due_at")
    firings = {each.schedule_id: each for each in newest.distinct("schedule_id")}
    _with_campaigns(list(firings.values()))
    for schedule in page.rows:
        schedule.last = firings.get(schedule.pk)
    return render_page(request, "schedules/list.html", project, page=page, form=form)


@signed_in_form(_ROWS)
def schedule_detail(request: HttpRequest, actor: Actor, row: Schedule) -> HttpResponse:
    edit = Edit(request, lambda: services.content_of(row), labels_of(ScheduleForm))
    form = _form(request, row.project, schedule=row)
    if request.method == "POST":
        require(actor, Action.EDIT, row.project)
        what = {"by": actor, "schedule": row, "now": timezone.now()}
        if is_saved := saved_by(form, edit.save, service=services.edit_schedule, **what):
            messages.success(request, f"{is_saved.name} saved.")
            return redirect("schedule-detail", schedule=row.pk)
    context = {
        "schedule": row,
        "next": _next(row.timetable, row.next_at),
        "firings": _with_campaigns(list(row.firings.select_related("campaign")[:N_FIRINGS])),
    }
    return render_page(
        request, "schedules/detail.html", row.project, form=form, edit=edit, **context
    )


@signed_in_post(Project)
def schedule_preview(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """When a schedule like this would start."""
    form = _form(request, project)
    form.is_valid()
    times = []
    with suppress(InvalidFields, KeyError, AttributeError):  # a part is missing as yet
        values = form.fields_of_service()
        times = _next(Timetable.read(values["cron"], values["zone"]), timezone.now())
    return render(request, "schedules/_next.html", {"next": times})


@acts_on(Schedule, "schedule-detail")
def schedule_run(request: HttpRequest, by: Actor, schedule: Schedule) -> HttpResponse:
    firing = services.run_now(by=by, schedule=schedule, now=timezone.now())
    return redirect("campaign-detail", campaign=firing.campaign_id)


@acts_on(Schedule, "schedule-list", "project_id")
def schedule_switch(request: HttpRequest, by: Actor, schedule: Schedule) -> str:
    is_on = request.POST.get("on") == "1"
    services.switch_schedule(by=by, schedule=schedule, is_on=is_on, now=timezone.now())
    return f"{schedule.name} {'resumed' if is_on else 'paused'}."


@acts_on(Schedule, "schedule-list", "project_id")
def schedule_delete(request: HttpRequest, by: Actor, schedule: Schedule) -> str:
    services.delete_schedule(by=by, schedule=schedule)
    return f"{schedule.name} deleted. Its campaigns stay."


urlpatterns = [
    path("projects/<int:project>/schedules/", schedule_list, name="schedule-list"),
    path("projects/<int:project>/schedules/preview/", schedule_preview, name="schedule-preview"),
    path("schedules/<int:schedule>/", schedule_detail, name="schedule-detail"),
    path("schedules/<int:schedule>/run/", schedule_run, name="schedule-run"),
    path("schedules/<int:schedule>/switch/", schedule_switch, name="schedule-switch"),
    path("schedules/<int:schedule>/delete/", schedule_delete, name="schedule-delete"),
]


def _form(
    request: HttpRequest, project: Project, campaign: str = "", schedule: Schedule | None = None
) -> ScheduleForm:
    # The newest campaigns, without searches and what schedules have started; and the one that the
    # schedule copies.
    campaigns = project.campaigns.filter(archived_at=None, search=None, firing=None)
    newest = list(campaigns.order_by("-active_at").values_list("pk", flat=True)[:MOST_TEMPLATES])
    templates = project.campaigns.filter(pk__in=[*newest, schedule and schedule.template_id])
    kwargs = {"templates": templates, "zone": timezone.get_current_timezone_name()}
    if request.method == "POST":
        return ScheduleForm(request.POST, **kwargs)
    if schedule is not None:
        return ScheduleForm.of(schedule, **kwargs)
    template = templates.filter(pk=whole(campaign)).first() if campaign else None
    initial = {"template": template, "name": f"Nightly {template.name}"[:150]} if template else {}
    return ScheduleForm(initial=initial, **kwargs)


def _next(timetable: Timetable, since: datetime | None) -> list[datetime]:
    """The next times; none while it is paused."""
    return timetable.first_after(timezone.now(), N_NEXT) if since else []


def _with_campaigns(firings: list[Firing]) -> list[Firing]:
    """Each with its campaign as lists show it."""
    numbers = [each.campaign_id for each in firings if each.campaign_id]
    campaigns = with_counts(Campaign.objects.outside_trash().filter(pk__in=numbers))
    campaigns_by_pk = {campaign.pk: campaign for campaign in with_words(list(campaigns))}
    for firing in firings:
        firing.shown = campaigns_by_pk.get(firing.campaign_id)
    return firings
