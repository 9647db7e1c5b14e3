"""Request, load and connections of a new plan are in sight at once, whatever it begins with."""

import pytest
from django.urls import reverse

from campaigns.domain.plan.presets import PRESETS
from tests.browser.installation import enter

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_first_level_fits_one_screen(served_tab, project):
    enter(served_tab, "alice")
    heights = {}
    for key in PRESETS:
        served_tab.goto(
            f"{reverse('plan-new', args=[project.pk])}?preset={key}", wait_until="domcontentloaded"
        )
        connections = served_tab.locator("fieldset:has([name=connection_mode])").bounding_box()
        heights[key] = connections["y"] + connections["height"]
    assert {key: height for key, height in heights.items() if height > 900} == {}
