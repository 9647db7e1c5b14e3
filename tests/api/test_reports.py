"""A run as text in the style of a classic tool, for whoever may see the run."""

import pytest

from campaigns.queries.tool_reports import tool_report
from tests.api.conftest import client_of
from tests.factories import make_campaign, make_run, make_test
from tests.queries.measured import measure


@pytest.fixture
def run(project):
    return measure(make_run(make_test(make_campaign(project))), 12_000)


def address(run, style=""):
    return f"/api/v1/runs/{run.pk}/report.txt" + (f"?style={style}" if style else "")


@pytest.mark.parametrize("style", ["ab", "httperf", "jmeter", "plain", "wsperf"])
def test_every_style_is_the_text_of_the_page(alice, run, style):
    answer = client_of(alice).get(address(run, style))
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"] == f'attachment; filename="run-{run.label}-{style}.txt"'
    assert answer.content.decode() == tool_report(run, style)
