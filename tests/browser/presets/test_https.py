"""What HTTPS costs: the presets of the SOAP study, from the button to both percentages."""

import re

import pytest

from tests.browser.presets.reading import number, open_last_run


@pytest.mark.parametrize(("preset", "over_s"), [("over-10", "1"), ("over-100", "1")])
def test_soap_over_http_and_https_ends_in_both_percentages(measure, preset, over_s):
    found = measure(preset, {"over_s": over_s}, {"repeats": "1"})
    overhead = found.table("Overhead of HTTPS")
    rows = {row[""]: list(row.values()) for row in overhead if len(row) > 5}
    for metric in ("average", "min", "max"):
        http, https, difference = (number(text) for text in rows[metric][1:4])
        assert http > 0
        assert https > 0
        assert difference == pytest.approx(https - http, abs=0.02 * max(http, https))
    http, https = (number(text) for text in rows["average"][1:3])
    increase, share_of_https = (number(text) for text in rows["average"][6:8])
    assert increase == pytest.approx((https - http) / http * 100, rel=0.05)
    assert share_of_https == pytest.approx((https - http) / https * 100, rel=0.05)
    run = open_last_run(found)
    run.page.locator("details[data-style=jmeter] summary").click()
    summary = run.page.locator("details[data-style=jmeter] pre").inner_text()
    assert re.search(r"^TOTAL +100 ", summary, re.MULTILINE)
