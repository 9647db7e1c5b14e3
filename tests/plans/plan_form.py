"""The plan form as a browser posts it."""

from django.urls import reverse

from campaigns.domain.plan.presets import PRESETS
from campaigns.plans.forms.plans import initial_of


def typed_plan(preset="over-10", **fields):
    """A preset's values, and those that a test is about."""
    return {**initial_of(PRESETS[preset].name, PRESETS[preset].spec), **fields}


def as_sent(values: dict) -> dict:
    """What a browser sends of these values."""
    return {name: value for name, value in values.items() if value not in (None, False)}


def save(client, project, preset="over-10", **fields):
    """Post the form of a new plan."""
    return client.post(reverse("plan-new", args=[project.pk]), typed_plan(preset, **fields))
