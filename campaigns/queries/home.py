"""Reads for the home page: the installation in a few lines, and a sample to look at."""

from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet

from campaigns.domain.units import counted
from campaigns.models import Campaign
from campaigns.permissions import Actor
from campaigns.queries.injector_hosts import hosts

SAMPLE_PROJECT, SAMPLE_CAMPAIGN = "Sample", "HTTP against HTTPS"


@dataclass(frozen=True, slots=True)
class Installation:
    """In words: who sends, how much at once, and where to."""

    injectors: str
    slots: str
    networks: str


def installation() -> Installation:
    alive = [host for host in hosts() if host.is_alive]
    slots = sum(host.slots for host in alive)
    return Installation(
        injectors=", ".join(host.name for host in alive) or "none is online",
        slots=f"{counted(slots, 'injector processes')} at a time" if slots else "",
        networks=", ".join(settings.ALLOWED_NETWORKS) or "no network yet",
    )


def samples(actor: Actor) -> QuerySet[Campaign]:
    """What `manage.py sample` made, the newest first; `make run` does so at its first start."""
    mine = Campaign.objects.visible_to(actor).order_by("-pk")
    return mine.filter(project__name=SAMPLE_PROJECT, name=SAMPLE_CAMPAIGN)


def sample_of(actor: Actor) -> Campaign | None:
    """The newest sample that has finished."""
    return samples(actor).filter(finished_at__isnull=False).first()
