"""Request, load and connections of a new plan are in sight at once, whatever it begins with."""

import pytest
from django.urls import reverse

from tests.browser.installation import sign_in

pytestmark = pytest.mark.django_db(transaction=True)
TALLEST = ("load", "sessions", "spike", "httperf")  # of the presets with one step


def test_the_first_level_fits_one_screen(served_tab, project):
    sign_in(served_tab, "alice", "pw")
    heights = {}
    for key in TALLEST:
        served_tab.goto(f"{reverse('plan-new', args=[project.pk])}?preset={key}")
        connections = served_tab.locator("fieldset:has([name=connection_mode])").bounding_box()
        heights[key] = connections["y"] + connections["height"]
    assert {key: height for key, height in heights.items() if height > 900} == {}
