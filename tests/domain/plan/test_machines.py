import pytest

from campaigns.domain.plan.machines import machines_of, written_addresses


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("10.0.0.5", ["10.0.0.5"]),
        ("::ffff:10.0.0.5", ["10.0.0.5"]),
        ("fd00:0:0::5", ["fd00::5"]),
        ("127.8.9.1", ["127.0.0.1"]),
        ("::1", ["127.0.0.1"]),
        ("localhost", ["127.0.0.1"]),
        ("Shop.LOCALHOST.", ["127.0.0.1"]),
        ("shop.example", None),
        ("notlocalhost", None),
    ],
)
def test_what_a_host_is_without_asking(host, addresses):
    assert written_addresses(host) == addresses


def test_all_addresses_of_a_machine_count_once():
    assert machines_of(["::1", "10.0.0.5", "127.0.0.1"]) == ["10.0.0.5", "127.0.0.1"]


def test_an_injector_hosts_own_address_is_loopback():
    assert machines_of(["192.168.7.2", "192.168.7.3"], {"192.168.7.2"}) == [
        "127.0.0.1",
        "192.168.7.3",
    ]
