"""The plan form as a browser posts it."""

from django.urls import reverse

from campaigns.domain.plan.presets import PRESETS
from campaigns.forms.plans import initial_of


def save(client, project, preset="over-10", **fields):
    """Post the form of a new plan: a preset's values, and those that a test is about."""
    data = {**initial_of(PRESETS[preset].name, PRESETS[preset].spec), **fields}
    return client.post(reverse("plan-new", args=[project.pk]), data)
