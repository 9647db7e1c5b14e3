"""The campaigns that `manage.py sample` makes: one stored, and one measured here. `make run` does
so at its first start."""

from django.db.models import QuerySet

from campaigns.models import Campaign, Project
from campaigns.permissions import Actor

SAMPLE_PROJECT, SAMPLE_CAMPAIGN = "Sample", "HTTP against HTTPS"
STORED_SAMPLE = "Stored sample: what does HTTPS cost?"


def samples(actor: Actor) -> QuerySet[Campaign]:
    """Those measured here, the newest first."""
    mine = Campaign.objects.visible_to(actor).order_by("-pk")
    return mine.filter(project__name=SAMPLE_PROJECT, name=SAMPLE_CAMPAIGN)


def stored_sample(actor: Actor) -> Campaign | None:
    mine = Campaign.objects.visible_to(actor).filter(archived_at=None, name=STORED_SAMPLE)
    return mine.filter(project__name=SAMPLE_PROJECT).order_by("pk").first()


def is_first_visit(project: Project) -> bool:
    """Whether nobody has made a campaign in it but the samples."""
    made = project.campaigns.exclude(name__in=(SAMPLE_CAMPAIGN, STORED_SAMPLE))
    return not made.exists()
