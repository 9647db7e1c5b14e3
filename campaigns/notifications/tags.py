"""`get_notified(campaign)`: on the page of a campaign under way, who will be notified, or where
to say so. `benchsite/templates.py` names it; so no other part of the site knows of channels."""

from typing import Any

from django.db.models import Q
from jinja2 import pass_context
from jinja2.runtime import Context

from campaigns.domain.units import and_joined
from campaigns.models import Campaign
from campaigns.notifications.domain import EventKind
from campaigns.notifications.models import NotificationChannel

_MOST_NAMED = 2


@pass_context
def get_notified(context: Context, campaign: Campaign) -> dict[str, Any]:
    """What other readers may get as well, an open page's update among it, has nobody's channels:
    the page keeps what it has until the end."""
    user = getattr(context.get("request"), "user", None)
    is_own = user is not None and user.is_authenticated and "layout" not in context
    if not campaign.is_under_way or not is_own or context.get("shared"):
        return {"is_live": campaign.is_under_way}
    mine = Q(user=user) if user.pk == campaign.created_by_id else Q(pk=None)
    channels = NotificationChannel.objects.filter(
        Q(project=campaign.project_id) | mine, kinds__contains=[EventKind.ENDED], paused_at=None
    )
    labels = list(channels.order_by("pk").values_list("label", flat=True))
    may = context.get("may") or {}
    more = len(labels) - _MOST_NAMED
    named = [*labels[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return {
        "is_live": True,
        "is_shown": True,
        "project": campaign.project_id,
        "may_edit": may.get("edit"),
        "has_channel": bool(labels),
        "where": and_joined(named) if labels and may.get("edit") else "",
    }
