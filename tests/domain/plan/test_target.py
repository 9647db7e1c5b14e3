"""A target's description: what is refused, under which field, in which words."""

import pytest

from campaigns.domain.errors import InvalidTarget
from campaigns.domain.plan.target import check_target, host_fault

HTTP = {"scheme": "http", "host": "shop.example", "port": 80}


def errors_of(name="shop", environment=(), endpoints=(HTTP,)) -> dict[str, str]:
    with pytest.raises(InvalidTarget) as refusal:
        check_target(name, environment, endpoints)
    return refusal.value.errors


@pytest.mark.parametrize("host", ["169.254.169.254", "fd00:ec2::254", "240.0.0.1", "224.0.0.1"])
def test_an_address_to_which_no_load_is_ever_sent_is_refused_when_it_is_typed(host):
    assert "no load is ever sent there" in host_fault(host)


def test_all_that_is_wrong_is_said_at_once_each_under_its_field():
    errors = errors_of(
        name=" ",
        environment=[["", "8 GB"]],
        endpoints=[HTTP, {"scheme": "ftp", "host": "a b", "port": "x"}],
    )
    assert set(errors) == {
        "name",
        "environment.0.label",
        "endpoints.1.scheme",
        "endpoints.1.host",
        "endpoints.1.port",
    }


def test_a_fact_has_nothing_that_no_page_shows_as_a_name_has_not():
    facts = [["C\u202ePU", " 2\u200b\n cores"], ["RAM", "8\u00a0GB"]]
    environment = check_target("shop", facts, [HTTP]).environment
    assert environment == (("CPU", "2 cores"), ("RAM", "8 GB"))
    assert "environment.0.label" in errors_of(environment=[["\u200b", "8 GB"]])


@pytest.mark.parametrize("port", [0, 65536, -1, "", "80x", None, "²"])
def test_a_port_lies_between_1_and_65535(port):
    assert "endpoints.0.port" in errors_of(endpoints=[{**HTTP, "port": port}])


def test_a_bracketed_address_loses_its_brackets_and_a_name_its_capitals():
    description = check_target(
        " shop ", [], [{**HTTP, "host": "[::1]"}, {**HTTP, "host": "Shop.Example"}]
    )
    assert description.name == "shop"
    assert [origin.host for origin in description.origins] == ["::1", "shop.example"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": "x" * 101}, "name"),
        ({"environment": [["CPU", "2"]] * 101}, "environment"),
        ({"environment": [["x" * 61, "2"]]}, "environment.0.label"),
        ({"environment": [["CPU", "x" * 501]]}, "environment.0.value"),
        ({"endpoints": [{**HTTP, "port": port} for port in range(1, 52)]}, "endpoints"),
        ({"endpoints": []}, "endpoints"),
        ({"endpoints": [HTTP, {**HTTP, "host": "SHOP.example"}]}, "endpoints.1.host"),
    ],
)
def test_too_much_too_little_and_the_same_twice_are_refused_at_their_field(given, field):
    assert errors_of(**given).keys() == {field}


NAMES = ["localhost", "shop.example", "10.0.0.5", "::1", "fd00::5", "a_b.example", "x1"]
ODD_NAMES = ["0x7f.example", "7.example", "x0x7f", "a0", "shop.0x7fg", "a.b.7"]
RESOLVED = ["0x7f000001", "0xa9fea9fe", "127.0.0.0x1", "0x7f.1", "017700000001", "127.1", "0X7F.1"]
NO_NAMES = ["", "http://shop.example", "shop.example:8080", "shop.example/x", "a b"]


@pytest.mark.parametrize("host", NAMES + ODD_NAMES)
def test_names_and_addresses_are_hosts(host):
    assert host_fault(host) is None


@pytest.mark.parametrize("host", [*NO_NAMES, "10.0.0", "1.2.3.4.5", *RESOLVED])
def test_neither_other_things_nor_what_a_resolver_reads_as_an_address_are_hosts(host):
    assert host_fault(host)
