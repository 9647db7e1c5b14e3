"""What counts as a proof that a host is one's own, and for which places."""

import pytest

from campaigns.domain.plan.addresses import (
    host_key,
    parse_networks,
    place_of,
    proof_fault,
    refusals,
    why_not_checked,
    written_place,
)

TOKEN = "t" * 43
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"


@pytest.mark.parametrize(
    ("address", "place", "written"),
    [
        ("8.8.8.8", "8.8.8.8/32:443", "8.8.8.8:443"),
        ("::ffff:8.8.8.8", "8.8.8.8/32:443", "8.8.8.8:443"),
        ("2606:4700::1", "[2606:4700::1/128]:443", "[2606:4700::1]:443"),
    ],
)
def test_a_place_is_one_address_with_one_port_and_permits_nothing_else(address, place, written):
    assert place_of(address, 443) == place
    assert written_place(place) == written
    permitted = parse_networks([place])
    assert refusals([place], permitted) == []
    assert refusals([place_of(address, 444)], permitted)
    assert refusals([place_of("8.8.8.9", 443), place_of("2606:4700::2", 443)], permitted)


def test_no_proof_permits_the_metadata_service():
    place = place_of("169.254.169.254", 80)
    assert "metadata" in refusals([place], parse_networks([place]))[0]


PRIVATE = (
    *("10.0.0.1", "127.0.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "198.18.0.1"),
    *("::1", "fc00::1", "fe80::1", "::ffff:10.0.0.1", "224.0.0.1", "64:ff9b::a00:1"),
)


@pytest.mark.parametrize("address", PRIVATE)
def test_no_file_is_looked_for_at_an_address_that_is_not_public(address):
    assert why_not_checked(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1"])
def test_a_file_is_looked_for_at_a_public_address(address):
    assert why_not_checked(address) is None


@pytest.mark.parametrize("body", [TOKEN, TOKEN + "\n", f" {TOKEN}\r\n"])
def test_the_token_alone_is_the_proof(body):
    assert proof_fault(OK + body.encode(), TOKEN) is None


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: http://other/\r\n\r\n" + b"t" * 43, "redirects are not"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n" + b"t" * 43, "status 404"),
        (OK + b"<html>" + b"t" * 43 + b"</html>", "something else"),
        (OK + b"u" * 43, "something else"),
        (OK, "something else"),
        (OK + b"t" * 43 + b"x" * 4000, "something else"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "did not answer with HTTP"),
        (b"", "did not answer with HTTP"),
    ],
)
def test_anything_else_is_not(reply, why):
    assert why in proof_fault(reply, TOKEN)


def test_a_name_is_the_same_with_a_dot_at_its_end():
    assert host_key("Shop.Example.") == "shop.example"
