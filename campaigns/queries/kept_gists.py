"""What lists say of a finished campaign, as it was kept: none of its results is read for that."""

from hashlib import blake2b
from typing import Any

from django.db.models import Q, QuerySet

from campaigns.domain.shown.results import Gist
from campaigns.models import Campaign
from campaigns.queries.campaign_keys import CampaignKey
from campaigns.queries.release import release


def kept_gist(campaign: Campaign, key: CampaignKey) -> Gist | None:
    """None where nothing is kept that was made by this release from all that `key` names."""
    kept = campaign.gist or {}
    is_true = kept.get("release") == release() and kept.get("key") == _digest(key)
    return Gist.from_json(kept) if is_true else None


def to_keep(gist: Gist, key: CampaignKey) -> dict[str, Any]:
    """The column `gist` of a campaign."""
    return {"release": release(), "key": _digest(key), **gist.to_json()}


def without_gist() -> QuerySet[Campaign]:
    """Finished campaigns of which this release has kept nothing, the newest first."""
    missing = Q(gist__isnull=True) | ~Q(gist__release=release())
    return Campaign.objects.filter(missing, finished_at__isnull=False).order_by("-pk")


def _digest(key: CampaignKey) -> str:
    return blake2b(repr(key).encode(), digest_size=16).hexdigest()
