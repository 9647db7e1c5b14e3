"""From real requests to the page: a frozen target is blamed for its standstill, and we for ours."""

import time

import gevent
import pytest
from django.urls import reverse

from campaigns.domain.lifecycle import Outcome, Trust
from campaigns.queries.reports import run_report
from tests.factories import make_campaign, make_plan, make_run, make_test, store_second
from tests.injector.servers import measure, scripted
from tests.injector.test_loads import Arrivals
from tests.queries.measured import end, end_shards
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    """As if the target were another machine: here everything runs on this one."""
    monkeypatch.setattr("campaigns.services.summaries.is_co_located", lambda run: False)


def as_run(project, result, load):
    """The run that the site would have of these seconds."""
    plan = make_plan(project, spec=plan_spec(**load))
    run = make_run(make_test(make_campaign(project), plan))
    for _, second in result.rows:
        store_second(run, second)
    end_shards(run, last_second=result.seconds[-1].second, end=result.ends[0].to_json())
    return end(run, Outcome.COMPLETE)


def part(report, label):
    row = next(row for row in report.parts.rows if row.kind == label)
    keys = [column.key for column in report.parts.columns]
    return {key: cell.value for key, cell in zip(keys, row.cells, strict=True)}


def page_of(client, user, run):
    client.force_login(user)
    return client.get(reverse("run-detail", args=[run.pk])).content.decode()


@pytest.mark.alone
def test_a_frozen_server_shows_on_the_page_in_response_times_and_not_in_the_usual_service_time(
    client, bob, project
):
    frozen_from = time.monotonic() + 3

    def service_s():
        now = time.monotonic()
        return max(0.0, frozen_from + 1.2 - now) if now > frozen_from else 0.0

    # So few in flight that those which the standstill itself caught are fewer than a hundredth.
    load = {"model": "open", "rate_per_s": 100, "duration_s": 11, "max_in_flight": 5}
    with scripted(Arrivals(service_s)) as server:
        result = measure(server.port, load=load, timeouts={"total_s": 10})
    run = as_run(project, result, load)
    report = run_report(run)
    tile = next(tile for tile in report.tiles if tile["key"] == "p99")
    assert float(tile["value"].replace(",", "")) >= 900
    assert part(report, "service")["p50"] < 100
    assert part(report, "response")["p50"] < 100
    assert f">{tile['value']}<" in page_of(client, bob, run).replace("&nbsp;", " ")


def test_a_blocked_hub_makes_the_page_tell_the_median_and_whose_fault_it_is(client, bob, project):
    load = {"model": "open", "rate_per_s": 100, "duration_s": 4}
    with scripted(Arrivals(service_s=0.002)) as server:
        gevent.spawn_later(1.5, time.sleep, 0.5)
        result = measure(server.port, load=load)
    run = as_run(project, result, load)
    assert run.trust == Trust.BUSY
    codes = {reason.code for reason in run.judged.reasons}
    assert {"hub_lag", "lateness_p99"} <= codes
    assert not codes & {"errors", "target_saturated", "slot_wait", "dropped"}
    page = page_of(client, bob, run)
    assert "at the median without the injector" in page
    assert "The machine was busy" in page
    assert "target did not keep up" not in page
