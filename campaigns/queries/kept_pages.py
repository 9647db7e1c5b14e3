"""Pages of campaigns that have ended, kept for all processes. Checks no permissions: who may see a
page, and what they may do there, is part of its key.
"""

from collections.abc import Hashable, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.db.models import Q, QuerySet

from campaigns.domain.shown.results import Gist
from campaigns.models import Campaign, KeptPage, Membership, Project
from campaigns.permissions import Actor
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


# From so many rows on a page is worth keeping for all processes.
WORTH_ROWS = 200
# As many of the newest campaigns have their pages ready; readers of others make them.
READY = 10


def key_of(*seen: Hashable) -> str:
    """The digest of what a page is made from, of the release that words it, and of the settings and
    names of files that it mentions."""
    said = (_wording(), settings.TIME_ZONE, *seen)
    return blake2b(repr(said).encode(), digest_size=16).hexdigest()


def kept_content(campaign: int, key: str) -> bytes | None:
    """None where it was not kept."""
    found = KeptPage.objects.filter(campaign=campaign, key=key)
    content = found.values_list("content", flat=True).first()
    return None if content is None else bytes(content)


def newest_ended() -> Sequence[Campaign]:
    """The campaigns whose pages are asked for next, the newest first; none of them a search."""
    ended = Campaign.objects.filter(finished_at__isnull=False, search=None)
    return ended.select_related("project").order_by("-finished_at", "-pk")[:READY]


def readers_of(project: Project) -> list[Actor]:
    """A member for each role that somebody has in it."""
    members = Membership.objects.filter(project=project, user__is_active=True)
    roles = members.order_by("role", "pk").distinct("role").select_related("user")
    return [Actor(user=member.user) for member in roles]


@cache
def _wording() -> str:
    """A digest of what pages are worded with: our modules, templates and static files."""
    digest = blake2b(release().encode(), digest_size=8)
    for path in sorted(Path(settings.BASE_DIR, "templates").rglob("*.html")):
        digest.update(path.read_bytes())
    digest.update(getattr(staticfiles_storage, "manifest_hash", "").encode())
    return digest.hexdigest()
