"""Where each remedy of what to do is done."""

from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from campaigns.domain.shown.results import Answer, Remedy
from campaigns.domain.shown.what_to_do import Place
from campaigns.models import Test

_LABELS: dict[str, str] = {
    Place.PLAN: "Edit the plan",
    Place.TARGET: "Edit the target",
    Place.TRY: "Try one request",
    Place.LIMIT: "How much can it take?",
    Place.AGAIN: "Run again",
    Place.HOSTS: "Injector hosts",
}


def remedies_context(remedies: Iterable[Remedy], test: Test | None) -> dict[str, Any]:
    """What parts/what_to_do.html shows, and what the rows of the errors need not tell again.

    `test` is the one that it is about.
    """
    shown = list(remedies)
    return {
        "remedies": [(each, _address(each.place, test), _LABELS[each.place]) for each in shown],
        "told": [each.text for each in shown],
    }


def worst_test(tests: Iterable[Test], answer: Answer) -> Test | None:
    """The first test that did as badly as the campaign."""
    worst = {each.test_id for each in answer.tests if each.target_state == answer.target_state}
    return next((test for test in tests if test.pk in worst), None)


def _address(place: str, test: Test | None) -> str:
    if place == Place.HOSTS:
        return reverse("injector-list")
    if test is None or _is_archived(place, test):
        return ""
    target = test.endpoint.target_id
    match place:
        case Place.PLAN:
            return reverse("plan-edit", args=[test.plan_version.plan_id])
        case Place.TARGET:
            return reverse("target-edit", args=[target])
        case Place.TRY:
            return f"{reverse('target-detail', args=[target])}#try"
        case Place.LIMIT:
            return reverse("target-measure", args=[target])
    again = reverse("campaign-new", args=[test.campaign.project_id])
    return f"{again}?again={test.campaign_id}"


def _is_archived(place: str, test: Test) -> bool:
    """What is archived is neither edited nor sent anything; a campaign is repeated without it."""
    if place == Place.PLAN:
        return test.plan_version.plan.archived_at is not None
    return place != Place.AGAIN and test.endpoint.target.archived_at is not None
