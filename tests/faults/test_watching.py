"""Whatever breaks between an agent and the site: the curves have a gap or arrive later, and no
second is at a wrong place. A candle that goes out during the fault tells where each belongs.
"""

import subprocess
import time
from collections.abc import Callable, Iterator

import pytest
from django.utils import timezone

from campaigns.models import Agent, Run
from campaigns.services.agents import create_agent
from tests.factories import make_run, make_test
from tests.faults.watching import Candle, Site, WatchedRun, start_agent

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
LATE_S = 1  # a busy machine may sample after the candle went out what should have been before


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.end()


@pytest.fixture
def candle() -> Iterator[Candle]:
    candle = Candle()
    yield candle
    candle.end()


@pytest.fixture
def run(campaign) -> Run:
    """Under way since now, without a warm-up."""
    return make_run(make_test(campaign), t0=timezone.now())


@pytest.fixture
def told(run, candle) -> WatchedRun:
    return WatchedRun(run, candle)


@pytest.fixture
def begin(run, candle, as_bob) -> Iterator[Callable]:
    """Start an agent of the run's target, as often as wanted."""
    _, token = create_agent(by=as_bob, target=run.target)
    started = []

    def start(site: Site, **how) -> subprocess.Popen:
        started.append(start_agent(site.url, token, candle.name, **how))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def is_in_its_place(told: WatchedRun, out_at_s: float) -> bool:
    """Every second before the candle went out says so, and every one after it."""
    out, dark = told.second_of(out_at_s), told.dark()
    lit = sorted(set(told.seconds()) - set(dark))
    assert lit, "some seconds are from before"
    assert dark, "some seconds are from after"
    return max(lit) <= out + LATE_S and min(dark) >= out - LATE_S and max(lit) < min(dark)


def has_no_gap(seconds: list[int]) -> bool:
    return seconds == list(range(seconds[0], seconds[-1] + 1))


def test_a_killed_agent_leaves_a_gap_until_the_next_one(site, begin, candle, told):
    first = begin(site)
    told.is_told_up_to(told.now() + 2)
    first.kill()
    first.wait()
    killed_in, out_at_s = told.now(), candle.put_out()
    time.sleep(3)  # in which nobody watches
    again_in = told.now()
    begin(site)
    told.is_told_up_to(told.now() + 2)
    assert not set(range(killed_in + 1, again_in)) & set(told.seconds())
    assert is_in_its_place(told, out_at_s)


def test_what_was_seen_while_the_site_was_away_arrives_later(site, begin, candle, told):
    begin(site)
    told.is_told_up_to(told.now() + 1)
    site.end()
    away_in, out_at_s = told.now(), candle.put_out()
    time.sleep(3)  # in which the agent keeps what it sees
    assert told.seconds()[-1] <= away_in
    site.begin()
    told.is_told_up_to(told.now() + 1)
    assert has_no_gap(told.seconds())
    assert is_in_its_place(told, out_at_s)


def test_a_clock_90_s_ahead_moves_no_second_though_the_site_is_away_at_first(
    site, begin, candle, told
):
    site.end()
    begin(site, ahead_s=90)
    time.sleep(3)  # in which the agent knows no clock but its own
    out_at_s = candle.put_out()
    site.begin()
    told.is_told_up_to(told.now() + 1)
    assert has_no_gap(told.seconds())
    assert is_in_its_place(told, out_at_s)
    words = Agent.objects.get().clock_words.replace("\u202f", " ")
    assert words == "1 min 30 s ahead, corrected"
