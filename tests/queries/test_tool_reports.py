"""A run's page has, to the letter, what the command line prints of the same seconds."""

import pytest
from django.utils import timezone

from campaigns.domain.metrics.injector_end import COMPLETE, InjectorEnd, TlsHandshakes
from campaigns.domain.other_tools.reports import REPORTS, styles_for
from campaigns.models import Shard
from campaigns.queries.reports import tool_report
from campaigns.services.summaries import summarise_run
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
    store_second,
)
from tests.values import make_second, plan_spec
from workers.injector.summary import LocalRun

END = InjectorEnd(
    outcome=COMPLETE,
    duration_us=7_500_000,
    cpu_us=250_000,
    peers={"127.0.0.1:8444": 1},
    tls=(TlsHandshakes("TLSv1.3", "AES", 80, bits=256),),
)
SECONDS = [
    make_second(number, [1000 + 37 * nth for nth in range(20)], counters={"bytes_received": 4096})
    for number in range(-1, 8)
]


@pytest.fixture
def run(project):
    now = timezone.now()
    spec = plan_spec(model="closed", connections=2, requests=160) | {"warm_up_s": 1}
    endpoint = make_endpoint(make_target(project), "https")
    test = make_test(make_campaign(project), make_plan(project, spec=spec), endpoint=endpoint)
    run = make_run(test, state="done", outcome="complete", t0=now, ended_at=now)
    run.shards.all().delete()
    Shard.objects.create(run=run, number=0, state="done", end=END.to_json(), last_second=7)
    for second in SECONDS:
        store_second(run, second)
    summarise_run(run)
    run.refresh_from_db()
    return run


def at_the_terminal(run, style):
    result = LocalRun(run.frozen.plan, [(0, each) for each in SECONDS], [END])
    return result.report(style, run.snapshot)


def figures(text):
    """The judgement follows: here, only the terminal's run is co-located."""
    return text.split("Measurement:")[0].rstrip()


@pytest.mark.parametrize("style", REPORTS)
def test_page_and_terminal_say_the_same(run, style):
    assert figures(tool_report(run, style)) == figures(at_the_terminal(run, style))


def test_the_first_style_is_the_one_that_fits_best(run):
    assert styles_for(run.frozen.plan) == ["ab", "httperf", "jmeter", "plain"]
    assert tool_report(run) == tool_report(run, "ab")


def test_a_style_that_is_none_has_no_report(run):
    assert tool_report(run, "siege") is None


def test_a_run_that_nobody_began_has_a_report_of_nothing(project):
    run = make_run(make_test(make_campaign(project)))
    text = tool_report(run, "httperf")
    assert "replies 0" in text
    assert "not judged until the run has ended" in text
