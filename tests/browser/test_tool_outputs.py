"""What a tool printed on the target's machine is pasted on the run's page and read there."""

import pytest
from playwright.sync_api import expect

from tests.browser.installation import enter
from tests.queries.measured import measure

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_output_of_a_tool_is_pasted_and_read(served_tab, alice, run):
    enter(served_tab, "alice")
    served_tab.goto(f"/runs/{measure(run, 12_000).pk}/")
    served_tab.get_by_text("Add the output of a tool").click()
    served_tab.get_by_label("Tool", exact=True).fill("vmstat")
    served_tab.get_by_label("Output", exact=True).fill("procs --memory--\n r  b  swpd\n 1  0  0")
    served_tab.get_by_role("button", name="Add", exact=True).click()
    expect(served_tab.get_by_label("Output of vmstat")).to_contain_text("r  b  swpd")
