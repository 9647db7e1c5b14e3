"""Where load may go, which addresses never, whose hosts they are, and addresses of exporters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.errors import InvalidFields
from campaigns.domain.plan.addresses import (
    common_networks,
    host_key,
    machines_of,
    never_words,
    parse_address,
    parse_networks,
    place_of,
    proof_fault,
    refusals,
    vet,
    why_not_checked,
    why_refused,
    written_addresses,
    written_place,
)
from campaigns.domain.plan.target import ExporterAddress, check_exporter
from tests.injector.authority import issue

EVERYTHING = parse_networks(["0.0.0.0/0", "::/0"])
NEVER = [
    "0.0.0.1", "0.1.2.3", "169.254.0.1", "169.254.169.254", "169.254.170.2", "100.100.100.200",
    "168.63.129.16", "192.0.0.192", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "192.0.2.1", "198.51.100.7", "203.0.113.9", "192.88.99.1",
    "::", "fe80::1", "fec0::1", "ff02::1", "fd00:ec2::254", "64:ff9b::7f00:1", "64:ff9b:1::1",
    "2002:7f00:1::", "2001:0:1::1", "2001:db8::1", "::127.0.0.1", "::ffff:169.254.169.254",
    "::ffff:0.0.0.0", "100::1", "fe80::1%eth0", "fd00::5%eth0", "::1%lo",
]  # fmt: skip


def test_some_addresses_are_refused_even_where_everything_is_listed():
    for address in NEVER:
        assert "no load is ever sent there" in vet(address, 80, EVERYTHING)


def test_they_are_refused_where_they_are_listed_by_name():
    for address in NEVER:
        text = address.partition("%")[0]
        assert vet(address, 80, parse_networks([text])) is not None


def test_nothing_is_allowed_unless_it_is_listed():
    for address in ["127.0.0.1", "10.0.0.1", "8.8.8.8", "::1", "2606:4700::1"]:
        assert "none of the networks" in vet(address, 80, ())
        assert vet(address, 80, EVERYTHING) is None


def test_a_list_of_networks_and_their_ports_decides():
    for address, port, networks, is_allowed in [
        ("10.0.0.5", 80, ["10.0.0.5"], True),
        ("10.0.0.6", 80, ["10.0.0.5"], False),
        ("10.255.0.1", 80, ["10.0.0.0/8"], True),
        ("::ffff:10.0.0.5", 80, ["10.0.0.0/8"], True),
        ("10.0.0.5", 80, ["::/0"], False),
        ("::1", 80, ["127.0.0.0/8"], False),
        ("fd12::1", 80, ["fc00::/7"], True),
        ("10.0.0.5", 80, ["10.0.0.77/8"], True),
        ("10.0.0.5", 443, ["10.0.0.0/8:443"], True),
        ("10.0.0.5", 22, ["10.0.0.0/8:443"], False),
        ("10.0.0.5", 8000, ["10.0.0.0/8:8000-8999"], True),
        ("10.0.0.5", 8999, ["10.0.0.0/8:8000-8999"], True),
        ("10.0.0.5", 9000, ["10.0.0.0/8:8000-8999"], False),
        ("10.0.0.5", 22, ["10.0.0.0/8:443", "10.0.0.5"], True),
        ("::ffff:10.0.0.5", 22, ["10.0.0.0/8:443"], False),
        ("fd12::1", 443, ["[fc00::/7]:443"], True),
        ("fd12::1", 22, ["[fc00::/7]:443"], False),
        ("fd12::1", 22, ["[fc00::/7]"], True),
        ("169.254.169.254", 80, ["169.254.0.0/16:80"], False),
    ]:
        assert (vet(address, port, parse_networks(networks)) is None) == is_allowed


def test_only_a_literal_address_in_its_usual_form_is_one():
    for text in [
        "",
        "localhost",
        "127.1",
        "0177.0.0.1",
        "2130706433",
        "0x7f.1",
        "1.2.3.4.",
        " 127.0.0.1",
    ]:
        assert "not an IP address" in vet(text, 80, EVERYTHING)


def test_a_network_that_is_none_is_named():
    with pytest.raises(ValueError, match="nonsense"):
        parse_networks(["10.0.0.0/8", "nonsense"])


@given(st.ip_addresses(v=4))
def test_an_address_mapped_into_ipv6_is_judged_as_itself(address):
    parsed_address = parse_address(f"::ffff:{address}")
    assert parsed_address == address
    assert vet(f"::ffff:{address}", 80, EVERYTHING) == vet(str(address), 80, EVERYTHING)


@given(st.ip_addresses())
def test_what_is_allowed_is_listed_and_in_no_forbidden_zone(address):
    if vet(str(address), 80, EVERYTHING) is None:
        assert never_words(parse_address(str(address))) is None
    assert vet(str(address), 80, ()) is not None


def test_what_two_lists_allow_is_what_both_hold():
    for these, those, common in [
        (["10.0.0.0/8"], ["10.0.0.0/8"], ["10.0.0.0/8"]),
        (["10.0.0.0/8"], ["10.1.0.0/16", "192.168.0.0/16"], ["10.1.0.0/16"]),
        (["10.1.0.0/16", "::1/128"], ["10.0.0.0/8", "::/0"], ["10.1.0.0/16", "::1/128"]),
        (["10.0.0.0/8"], ["192.168.0.0/16"], []),
        (["10.0.0.0/8"], [], []),
        (["10.0.0.0/9", "10.0.0.0/8"], ["10.0.0.0/9"], ["10.0.0.0/9"]),
    ]:
        assert common_networks(these, those) == common


def test_ports_that_are_none_are_refused():
    for text in [
        "10.0.0.0/8:",
        "10.0.0.0/8:0",
        "10.0.0.0/8:70000",
        "10.0.0.0/8:9-8",
        "10.0.0.0/8:a",
        ":443",
        "[]:443",
        "fc00::/7:443",
        "10.0.0.0/8:80:81",
        "10.0.0.0/8:-80",
    ]:
        with pytest.raises(ValueError, match=r"."):
            parse_networks([text])


def test_a_network_is_written_as_it_is_read():
    for text in [
        "10.0.0.0/8",
        "10.0.0.0/8:443",
        "10.0.0.0/8:8000-8999",
        "fc00::/7",
        "[fc00::/7]:443",
    ]:
        assert [str(each) for each in parse_networks([text])] == [text]


def test_two_lists_share_the_ports_that_both_allow():
    for these, those, common in [
        (["10.0.0.0/8:443"], ["10.1.0.0/16"], ["10.1.0.0/16:443"]),
        (["10.0.0.0/8:80-90"], ["10.0.0.0/8:85-99"], ["10.0.0.0/8:85-90"]),
        (["10.0.0.0/8:80"], ["10.0.0.0/8:81"], []),
        (["[fc00::/7]:443"], ["fd00::/8"], ["[fd00::/8]:443"]),
    ]:
        assert common_networks(these, those) == common


def test_the_installations_own_servers_are_never_put_under_load():
    for address, port, words in [
        ("10.0.0.5", 5432, "10.0.0.5:5432 is a server of this installation"),
        ("::ffff:10.0.0.5", 5432, "10.0.0.5:5432 is a server of this installation"),
        ("10.0.0.5", 80, None),
        ("11.0.0.5", 5432, "none of the networks"),
    ]:
        refusal = why_refused(address, port, parse_networks(["10.0.0.0/8"]), {"10.0.0.5:5432"})
        assert refusal == words if words is None else words in refusal


def test_what_a_host_is_without_asking():
    for host, addresses in [
        ("10.0.0.5", ["10.0.0.5"]),
        ("::ffff:10.0.0.5", ["10.0.0.5"]),
        ("fd00:0:0::5", ["fd00::5"]),
        ("127.8.9.1", ["127.0.0.1"]),
        ("::1", ["127.0.0.1"]),
        ("localhost", ["127.0.0.1"]),
        ("Shop.LOCALHOST.", ["127.0.0.1"]),
        ("shop.example", None),
        ("notlocalhost", None),
    ]:
        assert written_addresses(host) == addresses


def test_all_addresses_of_a_machine_count_once():
    assert machines_of(["::1", "10.0.0.5", "127.0.0.1"]) == ["10.0.0.5", "127.0.0.1"]


def test_an_injector_hosts_own_address_is_loopback():
    assert machines_of(["192.168.7.2", "192.168.7.3"], {"192.168.7.2"}) == [
        "127.0.0.1",
        "192.168.7.3",
    ]


TOKEN = "t" * 43
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"


def test_a_place_is_one_address_with_one_port_and_permits_nothing_else():
    for address, place, text in [
        ("8.8.8.8", "8.8.8.8/32:443", "8.8.8.8:443"),
        ("::ffff:8.8.8.8", "8.8.8.8/32:443", "8.8.8.8:443"),
        ("2606:4700::1", "[2606:4700::1/128]:443", "[2606:4700::1]:443"),
    ]:
        assert place_of(address, 443) == place
        assert written_place(place) == text
        networks = parse_networks([place])
        assert refusals([place], networks) == []
        assert refusals([place_of(address, 444)], networks)
        assert refusals([place_of("8.8.8.9", 443), place_of("2606:4700::2", 443)], networks)


def test_no_proof_permits_the_metadata_service():
    place = place_of("169.254.169.254", 80)
    assert "metadata" in refusals([place], parse_networks([place]))[0]


PRIVATE = (
    *("10.0.0.1", "127.0.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "198.18.0.1"),
    *("::1", "fc00::1", "fe80::1", "::ffff:10.0.0.1", "224.0.0.1", "64:ff9b::a00:1"),
)


def test_no_file_is_looked_for_at_an_address_that_is_not_public():
    for address in PRIVATE:
        assert why_not_checked(address)


def test_a_file_is_looked_for_at_a_public_address():
    for address in ["8.8.8.8", "2606:4700::1"]:
        assert why_not_checked(address) is None


def test_the_token_alone_is_the_proof():
    for body in [TOKEN, TOKEN + "\n", f" {TOKEN}\r\n"]:
        assert proof_fault(OK + body.encode(), TOKEN) is None


def test_anything_else_is_not():
    for reply, why in [
        (b"HTTP/1.1 302 Found\r\nLocation: http://other/\r\n\r\n" + b"t" * 43, "redirects are not"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n" + b"t" * 43, "status 404"),
        (OK + b"<html>" + b"t" * 43 + b"</html>", "something else"),
        (OK + b"u" * 43, "something else"),
        (OK, "something else"),
        (OK + b"t" * 43 + b"x" * 4000, "something else"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "did not answer with HTTP"),
        (b"", "did not answer with HTTP"),
    ]:
        assert why in proof_fault(reply, TOKEN)


def test_a_name_is_the_same_with_a_dot_at_its_end():
    assert host_key("Shop.Example.") == "shop.example"


pytestmark = pytest.mark.pure


def test_an_address_is_written_whole():
    for text, url in [
        ("http://10.0.0.5:9100/metrics", "http://10.0.0.5:9100/metrics"),
        ("10.0.0.5:9100", "http://10.0.0.5:9100/metrics"),
        ("shop.example:9100", "http://shop.example:9100/metrics"),
        (" https://Shop.Example ", "https://shop.example:443/metrics"),
        ("http://shop.example/", "http://shop.example:80/metrics"),
        ("http://[fc00::5]:9100/m", "http://[fc00::5]:9100/m"),
        (
            "http://shop.example:9100/probe?collect[]=cpu",
            "http://shop.example:9100/probe?collect[]=cpu",
        ),
        (
            "http://shop.example:9100?collect[]=cpu",
            "http://shop.example:9100/metrics?collect[]=cpu",
        ),
        ("http://shop.example:9100/metrics#top", "http://shop.example:9100/metrics"),
    ]:
        assert str(ExporterAddress.read(text)) == url
        assert str(ExporterAddress.read(url)) == url


def exporter_faults(**fields) -> dict[str, str]:
    with pytest.raises(InvalidFields) as refusal:
        check_exporter(**fields)
    return refusal.value.errors


def test_what_is_no_address_says_what_to_write():
    for url, says in [
        ("", "Write an address, such as"),
        ("ftp://shop.example/", "begins with http:// or https://"),
        ("file:///etc/passwd", "begins with http:// or https://"),
        ("http://", "Write a name or an address"),
        ("http://shop.example:99999/", "This is no address"),
        ("http://shop.example:0/", "a port from 1 to 65535"),
        ("http://[fc00::5/", "This is no address"),
        ("http://bob:secret@shop.example/", "Leave out user and password"),
        ("http://shop.example/a b", "without spaces"),
        ("http://shop.example/\r\nX: y", "without spaces"),
        ("http://169.254.169.254/metrics", "no load is ever sent there"),
        ("http://10.0.0.5.6/", "is not a name or an address"),
        ("http://shop.example/" + "x" * 500, "too many"),
    ]:
        errors = exporter_faults(url=url)
        assert says in errors["url"]
        assert "secret" not in str(errors)


def test_without_a_name_it_is_the_host_and_port():
    assert check_exporter(url="http://shop.example:9100").name == "shop.example:9100"
    assert check_exporter(url="shop.example:9100", name=" shop-1 ").name == "shop-1"
    faults = exporter_faults(url="shop.example", name="x" * 101)
    assert faults["name"].startswith("101 characters are too many")


def test_a_token_goes_only_where_nobody_else_reads_it():
    for url, verify_tls, token, says in [
        ("http://8.8.8.8", True, "t", "only over https with a verified"),
        ("https://8.8.8.8", False, "t", "only over https with a verified"),
        ("https://shop.example", True, "a b", "none of them a space"),
        ("https://shop.example", True, "a\nb", "none of them a space"),
        ("https://shop.example", True, "t" * 4097, "at most 4,096"),
    ]:
        assert says in exporter_faults(url=url, verify_tls=verify_tls, token=token)["token"]
    for url in ("http://10.0.0.5:9800", "http://[fd00::5]", "http://127.0.0.1", "https://8.8.8.8"):
        assert check_exporter(url=url, token="t").token == "t"


def test_a_certificate_to_trust_is_one():
    url = "https://shop.example"
    assert list(exporter_faults(url=url, ca_pem="-----BEGIN NONSENSE-----")) == ["ca_pem"]
    pem = issue().pem
    exporter = check_exporter(url=url, ca_pem=pem.replace("\n", "\r\n"))
    assert exporter.ca_pem == pem.strip()


def test_a_token_may_be_kept_removed_or_set():
    for token in [None, "", "abc.DEF-1_2~3"]:
        assert check_exporter(url="https://shop.example", token=token).token == token
