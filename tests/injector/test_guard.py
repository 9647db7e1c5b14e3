"""What the guard of an endpoint lets be dialled."""

import pytest

from campaigns.domain.plan.addresses import parse_networks
from campaigns.domain.plan.target import Origin
from tests.injector.servers import make_order, scripted
from workers.injector.guard import Guard
from workers.injector.local_run import run_here
from workers.injector.order import Refusal

NETWORKS = parse_networks(["127.0.0.0/8", "::1/128"])


@pytest.mark.parametrize(
    ("address", "port", "is_refused"),
    [
        ("127.0.0.1", 5432, True),
        ("::ffff:127.0.0.1", 5432, True),
        ("127.0.0.1", 5433, False),
        ("127.0.0.2", 5432, False),
        ("::1", 6379, True),
        ("::1", 6380, False),
    ],
)
def test_a_server_of_the_installation_is_refused_by_address_and_port(address, port, is_refused):
    never = frozenset({"127.0.0.1:5432", "[::1]:6379"})
    refusal = Guard(Origin("http", "name", port), NETWORKS, never).refusal(address)
    assert bool(refusal) == is_refused
    if is_refused:
        assert "is a server of this installation" in refusal


def test_an_order_for_such_a_server_is_refused_and_nothing_is_sent():
    met = []
    with scripted(lambda sock, server: met.append(sock)) as server:
        order = make_order(server.port)
        order["policy"]["never"] = [f"127.0.0.1:{server.port}"]
        with pytest.raises(Refusal) as refused:
            run_here(order, lambda second: None)
    assert refused.value.kind == "address_refused"
    assert met == []


def test_a_port_that_its_network_does_not_allow_is_refused_before_anything_is_sent():
    met = []
    with scripted(lambda sock, server: met.append(sock)) as server:
        order = make_order(server.port)
        order["policy"]["allow"] = [f"127.0.0.0/8:{server.port + 1}"]
        with pytest.raises(Refusal, match="may be put under load only at port") as refused:
            run_here(order, lambda second: None)
    assert refused.value.kind == "address_refused"
    assert met == []
