"""Names: looked up once or for each connection, timed apart, and vetted before anything is sent."""

import itertools
import time

import pytest

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.addresses import parse_networks
from campaigns.domain.plan.target import Origin
from tests.injector.authority import issue, server_context
from tests.injector.servers import OK_REPLY, always, closed, make_order, measure, scripted, tally
from tests.injector.websocket.peers import echo
from tests.injector.websocket.peers import measure as measure_websocket
from workers.injector import guard, lookup
from workers.injector.guard import Guard
from workers.injector.lookup import Lookups
from workers.injector.order import Refusal
from workers.injector.summary import run_here

NAME = "shop.example"
EACH = {"resolve": "per_connection"}


@pytest.fixture
def name_server(monkeypatch):
    """Makes the machine's resolver answer with these lists in turn, after `takes_s`."""

    def answer(*answers, takes_s=0.0):
        turns = itertools.cycle(answers)

        def look_up(host, port):
            assert host == NAME
            time.sleep(takes_s)
            addresses = next(turns)
            if isinstance(addresses, Exception):
                raise addresses
            return addresses

        monkeypatch.setattr(guard, "look_up", look_up)
        monkeypatch.setattr(lookup, "look_up", look_up)

    return answer


def by_name(port, **fields):
    usual = {"mode": "new", "plan": EACH, "timeouts": {"connect_s": 10, "tls_s": 10, "total_s": 20}}
    return measure(port, host=NAME, **(usual | fields))


def test_every_peer_that_was_hit_is_counted(name_server):
    name_server(["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"])
    with (
        scripted(always(OK_REPLY)) as first,
        scripted(always(OK_REPLY), address="127.0.0.2", port=first.port) as second,
    ):
        (end,) = by_name(first.port, load=closed(20)).ends
    assert end.peers == {f"127.0.0.1:{first.port}": 10, f"127.0.0.2:{first.port}": 10}
    assert (first.n_connections, second.n_connections) == (10, 10)


def test_a_name_that_is_looked_up_once_leads_to_one_peer(name_server):
    name_server(["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"])
    with scripted(always(OK_REPLY)) as server:
        result = by_name(server.port, plan={}, load=closed(20))
    assert result.ends[0].peers == {f"127.0.0.1:{server.port}": 20}
    assert result.total.timing("dns").n == 0


def test_a_lookup_takes_no_longer_than_the_whole_opening_of_a_websocket_may(name_server):
    name_server(["127.0.0.1"], takes_s=1.5)
    limits = {"connect_s": 0.4, "tls_s": 0.4, "total_s": 0.4}
    fields = {"host": NAME, "plan": EACH, "timeouts": limits}
    with scripted(echo()) as server:
        total = measure_websocket(server.port, closed(1), {}, **fields).total
    assert total.errors == {"dns_failed": 1}
    assert total.timing("failed").max_us < 1_400_000


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_lookup_is_a_part_of_its_own_and_not_of_connecting(name_server, scheme):
    name_server(["127.0.0.1"], takes_s=0.1)
    tls = server_context(issue()) if scheme == "https" else None
    with scripted(always(OK_REPLY), tls) as server:
        total = by_name(server.port, scheme=scheme, load=closed(5)).total
    dns, connect = total.timing("dns"), total.timing("connect")
    assert (dns.n, dns.min_us >= 100_000) == (5, True)
    assert (connect.n, connect.percentile_us(50_000) < 50_000) == (5, True)
    parts = ("dns", "connect", "tls", "send", "wait", "receive")
    assert total.timing("response").sum_us == sum(total.timing(part).sum_us for part in parts)
    if scheme == "https":
        both = total.timing("connect").sum_us + total.timing("tls").sum_us
        assert total.timing("connect_tls").sum_us == both


def test_kept_connections_are_looked_up_when_they_are_opened_only(name_server):
    name_server(["127.0.0.1"])
    with scripted(always(OK_REPLY)) as server:
        total = by_name(server.port, mode="keep-alive", load=closed(20, connections=2)).total
    assert (total.count("ok"), total.timing("dns").n) == (20, 2)


def test_a_name_that_comes_to_lead_where_nothing_may_be_sent_is_not_followed(name_server):
    name_server(["127.0.0.1"], ["127.0.0.1"], ["127.0.0.1", "169.254.169.254"], ["127.7.7.7"])
    with (
        scripted(always(OK_REPLY)) as server,
        scripted(always(OK_REPLY), address="127.7.7.7", port=server.port) as forbidden,
    ):
        result = by_name(server.port, load=closed(4), allow=["127.0.0.0/16"])
    # The first answer is the one before the run, the fourth turn begins anew.
    assert result.total.errors == {Kind.ADDRESS_REFUSED: 2}
    assert (result.total.count("ok"), forbidden.n_connections) == (2, 0)


def test_a_name_that_leads_nowhere_any_more_is_a_failure_of_its_own_kind(name_server):
    name_server(["127.0.0.1"], OSError("no such name"), ["127.0.0.1"], UnicodeError("what?"))
    with scripted(always(OK_REPLY)) as server:
        total = by_name(server.port, load=closed(3)).total
    assert (total.count("ok"), total.errors) == (1, {Kind.DNS_FAILED: 2})


def test_a_slow_resolver_holds_nobody_up_but_who_asked(name_server):
    name_server(["127.0.0.1"], takes_s=0.5)
    load = {"model": "open", "rate_per_s": 20, "requests": 15}
    with scripted(always(OK_REPLY)) as server:
        total = by_name(server.port, load=load, timeouts={"total_s": 20}).total
    assert total.count("ok") == 15
    assert total.timing("own_delay").percentile_us(50_000) < 250_000
    assert total.timing("dns").min_us >= 500_000


def test_a_resolver_that_hangs_ends_with_the_limit(name_server, monkeypatch):
    name_server(["127.0.0.1"])
    monkeypatch.setattr(Lookups, "limit_s", 0.2)
    monkeypatch.setattr(lookup, "look_up", lambda host, port: time.sleep(1) or ["127.0.0.1"])
    with scripted(always(OK_REPLY)) as server:
        began = time.monotonic()
        total = by_name(server.port, load=closed(2)).total
        took_s = time.monotonic() - began
    assert (total.errors, server.n_connections) == ({Kind.DNS_FAILED: 2}, 0)
    assert took_s < 5


def test_an_address_needs_no_lookup(monkeypatch):
    monkeypatch.setattr(lookup, "look_up", None)
    total, _ = tally(always(OK_REPLY), mode="new", plan=EACH, load=closed(3))
    assert (total.count("ok"), total.timing("dns").n) == (3, 0)


def test_answers_that_are_never_the_same_do_not_fill_the_memory(monkeypatch):
    addresses = []
    monkeypatch.setattr(guard, "why_refused", lambda address, *_: addresses.append(address))
    monkeypatch.setattr(guard, "MAX_VERDICTS", 2)
    vetting = guard.Guard(Origin("http", NAME, 80), ())
    for last in (1, 2, 1, 2, 3, 1):
        vetting.refusal(f"10.0.0.{last}")
    assert addresses == ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.1"]


NETWORKS = parse_networks(["127.0.0.0/8", "::1/128"])


def test_a_server_of_the_installation_is_refused_by_address_and_port():
    for address, port, is_refused in [
        ("127.0.0.1", 5432, True),
        ("::ffff:127.0.0.1", 5432, True),
        ("127.0.0.1", 5433, False),
        ("127.0.0.2", 5432, False),
        ("::1", 6379, True),
        ("::1", 6380, False),
    ]:
        never = frozenset({"127.0.0.1:5432", "[::1]:6379"})
        refusal = Guard(Origin("http", "name", port), NETWORKS, never).refusal(address)
        assert bool(refusal) == is_refused
        if is_refused:
            assert "is a server of this installation" in refusal


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (lambda port: {"never": [f"127.0.0.1:{port}"]}, "server of this installation"),
        (lambda port: {"allow": [f"127.0.0.0/8:{port + 1}"]}, "under load only at port"),
        (lambda port: {"allow": ["10.0.0.0/8"]}, "none of the networks"),
    ],
    ids=["a server of the installation", "another port", "another network"],
)
def test_what_may_not_be_put_under_load_is_refused_before_anything_is_sent(policy, words):
    clients = []
    with scripted(lambda sock, server: clients.append(sock)) as server:
        order = make_order(server.port)
        order["policy"] |= policy(server.port)
        with pytest.raises(Refusal, match=words) as refusal:
            run_here(order, lambda second: None)
    assert refusal.value.kind == "address_refused"
    assert clients == []
