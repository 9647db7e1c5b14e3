"""Reads for the home page: the installation in a few lines, and a sample to look at."""

from dataclasses import dataclass

from django.conf import settings

from campaigns.domain.units import counted
from campaigns.models import Campaign
from campaigns.permissions import Actor
from campaigns.queries.injector_hosts import hosts


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


def sample_of(actor: Actor) -> Campaign | None:
    """The newest finished campaign of the project that `make run` fills with a sample."""
    mine = Campaign.objects.visible_to(actor).filter(project__name="Sample")
    return mine.filter(finished_at__isnull=False).order_by("-pk").first()
