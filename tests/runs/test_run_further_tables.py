"""What only some runs have beside their steps: figures by address, and redirects."""

import pytest
from django.urls import reverse

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.snapshot import Timing, Total
from tests.factories import make_campaign, make_plan, make_run, make_test, plan_spec, store_second
from tests.measured import end, end_shards
from tests.runs.test_views import page_of, under_way
from tests.values import make_second

pytestmark = pytest.mark.django_db

N = 100


def address(us: int, failed: int) -> dict:
    counters = {"ok": N, "failed": failed}
    return Total(counters, {"reset": failed}, {}, {"response": Timing.of([us] * N)}).to_json()


@pytest.fixture
def run(project):
    spec = {**plan_spec(), "redirects": "all", "resolve": "all_addresses"}
    return make_run(make_test(make_campaign(project), make_plan(project, spec=spec)))


@pytest.fixture
def ended_run(run):
    hops = {"hop_0": Timing.of([4_000] * N), "hop_1": Timing.of([6_000] * N)}
    second = make_second(0, [10_000] * 2 * N, counters={"redirects": N}, timings=hops)
    store_second(run, second)
    by_peer = {"10.0.0.5:80": address(10_000, 0), "10.0.0.6:80": address(10_000, 25)}
    facts = {"duration_us": 1_000_000, "measured_us": 1_000_000, "peers": {}, "by_peer": by_peer}
    end_shards(run, last_second=0, end=facts)
    return end(run, Outcome.COMPLETE)


def test_the_page_has_a_row_for_each_address(as_editor, ended_run):
    page = page_of(as_editor, ended_run)
    table = page.partition('data-table="addresses"')[2].partition("</table>")[0]
    assert "10.0.0.5:80" in table
    assert "10.0.0.6:80" in table
    assert "10.0.0.6:80 against 10.0.0.5:80" in page


def test_the_page_of_a_run_under_way_says_when_they_come(as_editor, run):
    page = page_of(as_editor, under_way(run, seconds=2))
    assert 'data-table="addresses"' not in page
    assert "the figures of each address come at the end" in page


def test_the_page_has_the_time_of_each_redirect(as_editor, ended_run):
    page = page_of(as_editor, ended_run)
    table = page.partition('data-table="redirects"')[2].partition("</table>")[0]
    assert "0.50 redirects on average; 100 of 200 ok had any." in table
    assert "redirect 1" in table
    assert "6.00" in table


def test_files_and_rest_have_both(as_editor, ended_run):
    file = as_editor.get(reverse("run-csv", args=[ended_run.pk])).content.decode()
    answer = as_editor.get(f"/api/v1/runs/{ended_run.pk}/tables/").json()
    for title in ("By address", "Redirects"):
        assert title in file
        assert title in str(answer)
