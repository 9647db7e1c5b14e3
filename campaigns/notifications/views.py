"""Settings, Notifications: the channels of a project or of one's own, and a channel with its
deliveries."""

import time

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache

from campaigns.core.access import (
    actor_of,
    answers_refusals,
    render_page,
    saved_by,
    signed_in_form,
    signed_in_post,
    whole,
)
from campaigns.core.database import release_connection
from campaigns.core.permissions import Action, Actor, roles_with
from campaigns.domain.errors import Refused
from campaigns.models import Membership, Project
from campaigns.notifications import services
from campaigns.notifications.domain import CHOICES, FIRST_CHOICES
from campaigns.notifications.forms import ChannelForm
from campaigns.notifications.models import ChannelKind, NotificationChannel, NotificationDelivery

LOG_LENGTH = 50
# A test is answered on the page if the receiver answers in this time.
TEST_WITHIN_S = 8.0
_LOOK_EVERY_S = 0.1
_ROWS = NotificationChannel.objects.select_related("project", "created_by")


@never_cache
@signed_in_form(Project, Action.EDIT)
def project_notifications(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    return _list(request, project)


@signed_in_form
@never_cache
def account_notifications(request: HttpRequest) -> HttpResponse:
    return _list(request, None)


def _list(request: HttpRequest, project: Project | None) -> HttpResponse:
    """`?add=KIND` opens the form of a new channel, with all events of one's own campaigns, and for
    who comes from a campaign (`?finished`); `do` says which form is posted."""
    actor = actor_of(request)
    rows = project.channels if project else actor.user.channels
    if request.POST.get("do") == "choose":
        numbers = request.POST.getlist("shown")
        for channel in rows.filter(pk__in=map(whole, numbers)):
            kinds = request.POST.getlist(f"kinds-{channel.pk}")
            services.choose_kinds(by=actor, channel=channel, kinds=kinds)
        messages.success(request, "Saved.")
        return redirect(request.path)
    kind = request.POST.get("kind") or request.GET.get("add", "")
    kind = ChannelKind(kind) if kind in ChannelKind else None
    # Of oneself one mostly enters the account's own address.
    own = actor.user.email if kind == ChannelKind.EMAIL and not project else ""
    wants_ends = not project or "finished" in request.GET
    start = {"address": own, "kinds": list(CHOICES) if wants_ends else list(FIRST_CHOICES)}
    form = ChannelForm(kind, request.POST or None, initial=start, is_new=True) if kind else None
    new_channel = form and saved_by(
        form, services.add_channel, by=actor, project=project, kind=kind
    )
    if new_channel and "untested" not in request.POST:
        _test(request, actor, new_channel.channel)
    if new_channel and not new_channel.secret:
        return redirect(request.path)
    channels = list(rows.select_related("project"))
    deliveries = NotificationDelivery.objects.filter(channel__in=channels)
    newest = deliveries.order_by("channel_id", "-pk").distinct("channel_id")
    latest = {each.channel_id: each for each in newest}
    for channel in channels:
        channel.latest = latest.get(channel.pk)
    mine = Membership.objects.filter(user=actor.user, role__in=roles_with(Action.EDIT))
    projects = Project.objects.filter(archived_at=None, memberships__in=mine)
    context = {
        "channels": channels,
        "columns": CHOICES,
        "kinds": ChannelKind,
        "kind": None if new_channel else kind,
        "form": None if new_channel else form,
        "made": new_channel,
        "edited": None if project else list(projects),
    }
    return render_page(request, "notifications/list.html", project, **context)


@never_cache
@signed_in_form(_ROWS)
def channel_detail(request: HttpRequest, actor: Actor, row: NotificationChannel) -> HttpResponse:
    services.require_own(actor, row)
    content = {"label": row.label, "kinds": row.kinds}
    form = ChannelForm(ChannelKind(row.kind), request.POST or None, initial=content)
    if saved_by(form, services.change_channel, by=actor, channel=row):
        messages.success(request, f"{row.label} saved.")
        return redirect("channel-detail", channel=row.pk)
    return _channel_page(request, row, form)


def _channel_page(
    request: HttpRequest, channel: NotificationChannel, form: ChannelForm, secret: str = ""
) -> HttpResponse:
    deliveries = channel.deliveries.select_related("event")[:LOG_LENGTH]
    context = {"channel": channel, "form": form, "deliveries": deliveries, "secret": secret}
    return render_page(request, "notifications/channel.html", channel.project, **context)


@never_cache
@answers_refusals("channel-detail")
@signed_in_post(_ROWS)
def channel_action(request: HttpRequest, actor: Actor, row: NotificationChannel) -> HttpResponse:
    """`do` is test, pause, resume, secret or remove."""
    match request.POST.get("do"):
        case "test":
            services.require_own(actor, row)
            _test(request, actor, row)
        case "pause":
            services.pause_channel(by=actor, channel=row)
            messages.success(request, f"{row.label} is paused.")
        case "resume":
            services.resume_channel(by=actor, channel=row)
            messages.success(request, f"{row.label} gets messages again.")
        case "secret":
            secret = services.replace_secret(by=actor, channel=row)
            form = ChannelForm(ChannelKind(row.kind), initial={"label": row.label})
            form.initial["kinds"] = row.kinds
            return _channel_page(request, row, form, secret)
        case "remove":
            services.remove_channel(by=actor, channel=row)
            messages.success(request, f"{row.label} is removed.")
        case _:
            raise Http404
    if request.POST.get("next") == "channel":
        return redirect("channel-detail", channel=row.pk)
    if row.project_id:
        return redirect("project-notifications", project=row.project_id)
    return redirect("account-notifications")


def _test(request: HttpRequest, actor: Actor, channel: NotificationChannel) -> None:
    """Send one, and say what came of it, or that it is under way."""
    try:
        delivery = services.send_test(by=actor, channel=channel)
    except Refused as refusal:
        messages.error(request, str(refusal))
        return
    ends = time.monotonic() + TEST_WITHIN_S
    while not (delivery.problem or delivery.state == NotificationDelivery.State.SENT):
        if time.monotonic() > ends:
            messages.info(request, f"The test to {channel.label} is on its way.")
            return
        release_connection()
        time.sleep(_LOOK_EVERY_S)
        delivery.refresh_from_db()
    if delivery.problem:
        messages.error(request, f"The test did not reach {channel.label}: {delivery.problem}")
    else:
        messages.success(request, f"The test reached {channel.label}.")
