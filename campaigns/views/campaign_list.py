"""The rows of the list of campaigns, and the strip above it of those under way."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.analysis.ratio import Against, Word
from campaigns.domain.presentation.badges import Badge
from campaigns.live.memory import gists_of
from campaigns.models import Campaign, Project
from campaigns.permissions import Actor
from campaigns.queries.campaign_keys import campaign_keys
from campaigns.queries.campaign_list import going_on, trends_of
from campaigns.queries.campaigns import current_runs_of
from campaigns.queries.first_requests import first_requests_of
from campaigns.views.campaign_page import badge_of
from campaigns.views.campaign_progress import progress_by_campaign
from campaigns.views.drawings import trend_of
from campaigns.views.history_rows import against_cell

# Of those under way: lines of the strip, and of all that it opens.
STRIP, MOST_ACTIVE = 2, 20
_FAILED = {"broken", "failing", "overloaded"}
_UNREMARKABLE = {"complete", "kept", "draft"}


@dataclass(frozen=True, slots=True)
class Pill:
    """A verdict that needs the eye; `look` is a class of its style."""

    word: str
    arrow: str
    look: str = ""


_PILLS = {
    Word.SLOWER: Pill("Slower", "→", "is-bad"),
    Word.FASTER: Pill("Faster", "←", "is-strong"),
    Word.NOT_SLOWER: Pill("Not slower", "≤"),
    Word.NOT_FASTER: Pill("Not faster", "≤"),
    Word.OPEN: Pill("Too close to call", "?", "is-open"),
}


def with_words(campaigns: Sequence[Campaign]) -> Sequence[Campaign]:
    """Each gets what its row says, and the names of the `columns` in which it says something."""
    keys, trends = campaign_keys(campaigns), trends_of(campaigns)
    gists = gists_of([campaign for campaign in campaigns if campaign.n_done], keys)
    for campaign in campaigns:
        gist, trend = gists.get(campaign.pk), trends.get(campaign.pk)
        campaign.named = keys[campaign.pk].names
        campaign.sentence = gist.sentence if gist else []
        badge = badge_of(campaign, gist)
        against = trend.against if trend else None
        campaign.against = against_cell(against)
        campaign.pill = _pill_of(badge, against)
        campaign.is_same = bool(against) and against.word == Word.SAME
        campaign.badge = None if badge.state in _UNREMARKABLE or campaign.pill else badge
        campaign.trend = trend_of(trend.p95s_ms) if trend and campaign.started_at else None
        says = {
            "verdict": campaign.pill or campaign.badge or campaign.is_same,
            "change": campaign.against["against"],
            "trend": campaign.trend,
            "result": campaign.sentence,
            "started": campaign.started_at,
            "source": campaign.branch or campaign.commit,
        }
        campaign.columns = [name for name, what in says.items() if what]
    return campaigns


def _pill_of(badge: Badge, against: Against | None) -> Pill | None:
    if badge.state in _FAILED:
        return Pill("Failed", "×", "is-bad")
    return _PILLS.get(against.word) if against else None


def active_strip(actor: Actor, project: Project, *, shows_all: bool) -> list[Campaign]:
    """The first ones, each with its run, how far it is and what it waits for."""
    campaigns = list(going_on(actor, project)[: MOST_ACTIVE if shows_all else STRIP])
    current = current_runs_of(campaigns)
    progress = progress_by_campaign(campaigns, current)
    for campaign in campaigns:
        campaign.current = current.get(campaign.pk)
        campaign.progress = progress[campaign.pk]
        campaign.badge = badge_of(campaign, None)
        if campaign.is_held:
            wrong = first_requests_of(campaign, actor).wrong
            campaign.problem = wrong[0].problem if wrong else "a preflight request failed"
    return campaigns
