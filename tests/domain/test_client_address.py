"""Whose address counts behind proxies: never one that the client itself wrote."""

from campaigns.core.transfer import client_address

PROXY = "127.0.0.1"


def test_the_last_address_that_is_no_proxy_of_ours():
    for peer, forwarded, trusted, address in [
        ("198.51.100.7", "", [PROXY], "198.51.100.7"),
        (PROXY, "", [PROXY], PROXY),
        (PROXY, "198.51.100.7", [PROXY], "198.51.100.7"),
        (PROXY, "10.9.9.9, 198.51.100.7", [PROXY], "198.51.100.7"),
        ("198.51.100.7", "10.9.9.9", [PROXY], "198.51.100.7"),
        (PROXY, "198.51.100.7, 10.0.0.2", [PROXY, "10.0.0.0/24"], "198.51.100.7"),
        ("10.0.0.2", "198.51.100.7", ["10.0.0.0/24"], "198.51.100.7"),
        (PROXY, "not an address", [PROXY], PROXY),
        (PROXY, "198.51.100.7, x", [PROXY], PROXY),
        ("", "198.51.100.7", [PROXY], "198.51.100.7"),
        ("172.18.0.3", "9.9.9.9, 198.51.100.7", ["*"], "198.51.100.7"),
        ("172.18.0.3", "", ["*"], "172.18.0.3"),
        ("::1", "2001:db8::7", ["::1"], "2001:db8::7"),
    ]:
        meta = {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": forwarded}
        assert client_address(meta, trusted) == address
