"""What a tool printed on the target's machine is pasted on the run's page and read there."""

import pytest

from tests.browser.installation import enter
from tests.domain.printed.samples import PERF_VIRTUAL
from tests.queries.measured import measure

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_output_of_perf_stat_is_pasted_and_read(served_tab, alice, run):
    enter(served_tab, "alice")
    served_tab.goto(f"/runs/{measure(run, 12_000).pk}/")
    served_tab.get_by_text("Add the output of perf stat, vmstat, sar or time").click()
    served_tab.get_by_label("Output", exact=True).fill(PERF_VIRTUAL)
    served_tab.get_by_role("button", name="Add", exact=True).click()
    table = served_tab.locator("[data-table^=output-]")
    assert "413" in table.get_by_role("row", name="task-clock, ms").inner_text()
    assert "not supported on this machine" in table.get_by_role("row", name="cycles").inner_text()
