"""How full the machine's network links are, and what they lose."""

from dataclasses import replace

import pytest

from workers.injector.links import Links, Traffic, read_traffic
from workers.injector.machine import ProcFiles

pytestmark = pytest.mark.pure

SECOND_NS = 1_000_000_000
QUIET = Traffic(received_bytes=10_000, sent_bytes=5_000, packets=100, lost=3)


def seen_after(speeds=None, **after):
    """One second in which each named interface came to have this traffic."""
    names = {*after, *(speeds or {})}
    readings = iter([dict.fromkeys(names, QUIET), dict.fromkeys(names, QUIET) | after])
    links = Links(lambda: next(readings), lambda name: (speeds or {}).get(name, 0))
    return links.take(SECOND_NS)


def test_a_link_is_as_full_as_its_busier_direction():
    busy = replace(QUIET, received_bytes=10_000 + 2_500_000, sent_bytes=5_000 + 1_000)
    assert seen_after({"eth0": 100_000_000}, eth0=busy)["link_share"] == 0.2


def test_the_fullest_of_several_links_counts():
    more = replace(QUIET, sent_bytes=5_000 + 1_250_000)
    speeds = {"eth0": 1_000_000_000, "eth1": 20_000_000}
    assert seen_after(speeds, eth0=more, eth1=more)["link_share"] == 0.5


def test_a_link_of_unknown_speed_is_not_judged():
    more = replace(QUIET, sent_bytes=10**12)
    assert "link_share" not in seen_after(eth0=more)


@pytest.mark.parametrize(("packets", "lost", "share"), [(9_900, 100, 0.01), (0, 10, 0.01)])
def test_lost_packets_are_a_share_of_all_and_of_no_fewer_than_a_thousand(packets, lost, share):
    after = replace(QUIET, packets=100 + packets, lost=3 + lost)
    assert seen_after(eth0=after)["packets_lost_share"] == share


def test_the_kernel_is_read_without_the_loopback():
    with ProcFiles() as files:
        assert "lo" not in read_traffic(files)
        links = Links(lambda: read_traffic(files))
        assert "packets_lost_share" in links.take(SECOND_NS)
