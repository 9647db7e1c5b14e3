"""A target's description and the TLS options of its endpoints: what may be set, what is refused."""

import pytest

from campaigns.domain.errors import InvalidFields, InvalidTarget
from campaigns.domain.plan.rungs import profile_of_rung, rung_of_profile
from campaigns.domain.plan.target import check_target, host_fault
from campaigns.domain.plan.tls_options import (
    PROFILES,
    TlsOptions,
    check_profile,
    group_name,
    own_profile,
    read_tls_options,
    with_key_shares,
)
from campaigns.domain.typed_text import JsonReader


def faults_of(**fields):
    reader = JsonReader(fields)
    read_tls_options(reader)
    return reader.errors


def test_what_is_wrong_is_at_its_field():
    for field, value in [
        ("min_version", "1.1"),
        ("ciphers", "NO-SUCH-CIPHER"),
        ("ca_pem", "hello"),
        ("ca_pem", "# Főtanúsítvány\n-----BEGIN CERTIFICATE-----"),
        ("client_certificate_pem", "é"),
        ("ca_pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"),
        ("client_certificate_pem", "-----BEGIN PRIVATE KEY-----\nAA=="),
        ("sni", "10.0.0.5"),
        ("sni", "shop..example"),
        ("alpn", "yes"),
        ("profile", "netscape"),
        ("groups", "X25519:rot13"),
        ("ciphersuites", "RC4"),
        ("signatures", "by hand"),
        ("fingerprint", "12:34"),
        ("fingerprint", "g" * 64),
        ("colour", "red"),
    ]:
        assert field in faults_of(**{field: value})


def test_the_newest_version_is_not_older_than_the_oldest_or_than_the_profile():
    assert "max_version" in faults_of(min_version="1.3", max_version="1.2")
    assert "max_version" in faults_of(profile="tls12", min_version="1.3")


def test_a_fingerprint_is_read_as_browsers_and_openssl_write_it():
    text = ":".join(["AB"] * 32)
    assert read_tls_options(JsonReader({"fingerprint": text})).fingerprint == "ab" * 32


def options(**fields) -> TlsOptions:
    reader = JsonReader(fields)
    tls = read_tls_options(reader)
    assert not reader.errors
    return tls


def test_a_list_is_read_however_it_is_separated_and_spelled():
    for groups in ["x25519, SECP256R1", "X25519:P-256", "X25519 P-256 X25519"]:
        assert options(groups=groups).groups == "X25519:P-256"


def test_a_profile_sets_what_was_left_out_and_keeps_its_name():
    tls = options(profile="classical", min_version="1.3").resolved()
    assert tls == TlsOptions("1.3", profile="classical", groups="X25519:P-256:P-384")
    assert tls.resolved() == tls


def test_what_a_profile_sets_can_be_replaced():
    assert options(profile="browser", groups="P-256").resolved().groups == "P-256"


def test_each_profile_can_be_read_back_from_what_it_stands_for():
    for key in PROFILES:
        tls = options(profile=key).resolved()
        assert options(**tls.to_json()) == tls


def test_tls_1_2_needs_a_group_that_it_has():
    assert "groups" in faults_of(profile="tls12", groups="X25519MLKEM768")
    assert faults_of(profile="tls12", groups="X25519MLKEM768:X25519") == {}


OURS = own_profile("our clients", {"groups": "X25519", "max_version": "1.2"})
ENDPOINT = {"scheme": "https", "host": "shop.example", "port": 443}


def faults_of_profile(name="our clients", **offers) -> dict[str, str]:
    with pytest.raises(InvalidFields) as refusal:
        check_profile(name, **offers)
    return refusal.value.errors


def test_only_what_differs_from_the_standard_profile_is_kept():
    profile = check_profile("our  clients ", groups="x25519, secp256r1", ciphers="")
    assert (profile.name, dict(profile.offers)) == ("our clients", {"groups": "X25519:P-256"})
    assert profile.summary == "Groups X25519:P-256."


def test_what_is_wrong_with_a_profile_is_at_its_field():
    for fields, field in [
        ({"name": "  "}, "name"),
        ({"name": "x" * 41}, "name"),
        ({"name": "TLS12"}, "name"),
        ({"name": "As a browser does today"}, "name"),
        ({"groups": "rot13"}, "groups"),
        ({"min_version": "1.1"}, "min_version"),
        ({"min_version": "1.3", "max_version": "1.2"}, "max_version"),
        ({"max_version": "1.2", "groups": "X25519MLKEM768"}, "groups"),
        ({"ciphers": "NO-SUCH-CIPHER"}, "ciphers"),
        ({"sni": "shop.example"}, "sni"),
        ({"profile": "browser"}, "profile"),
    ]:
        assert field in faults_of_profile(**fields)


def test_an_endpoint_names_it_as_it_names_any_other():
    (origin,) = check_target(
        "shop", [], [ENDPOINT | {"tls": {"profile": "our clients"}}], {"our clients": OURS}
    ).origins
    assert origin.tls == TlsOptions(profile="our clients")
    assert origin.tls.words() == ["profile “our clients”"]


def test_an_endpoint_names_a_profile_of_the_project_and_goes_with_what_it_offers():
    for tls, field in [
        ({"profile": "theirs"}, "profile"),
        ({"profile": "our clients", "min_version": "1.3"}, "max_version"),
    ]:
        reader = JsonReader(tls)
        read_tls_options(reader, {"our clients": OURS})
        assert field in reader.errors


def test_what_is_resolved_keeps_values_and_name_without_the_profile():
    tls = TlsOptions(profile="our clients", groups="P-256").resolved(OURS)
    assert tls == TlsOptions(profile="our clients", groups="P-256", max_version="1.2")
    assert tls.resolved() == tls
    assert tls.profile_name == "our clients"
    assert "TLS 1.2 or older" in tls.words()


def test_it_is_a_rung_by_its_name():
    step = rung_of_profile(OURS)
    assert (step.title, step.profile, step.words) == ("our clients", "our clients", OURS.summary)
    assert profile_of_rung(step.key) == "our clients"
    assert profile_of_rung("new-rsa") == ""


def test_the_first_group_has_a_key_share_and_beside_post_quantum_the_first_classical():
    for groups, with_shares in [
        ("X25519:P-256", "*X25519:P-256"),
        ("X25519MLKEM768:X25519:P-256", "*X25519MLKEM768:*X25519:P-256"),
        ("X25519MLKEM768:SecP256r1MLKEM768:P-256", "*X25519MLKEM768:SecP256r1MLKEM768:*P-256"),
        ("MLKEM768", "*MLKEM768"),
    ]:
        assert with_key_shares(groups) == with_shares


def test_a_group_is_called_as_in_lists_whatever_the_library_says():
    for text, name in [
        ("x25519", "X25519"),
        ("secp256r1", "P-256"),
        ("prime256v1", "P-256"),
        ("X25519MLKEM768", "X25519MLKEM768"),
        ("brainpoolP256r1", "brainpoolP256r1"),
        ("", ""),
    ]:
        assert group_name(text) == name


HTTP = {"scheme": "http", "host": "shop.example", "port": 80}


def errors_of(name="shop", environment=(), endpoints=(HTTP,)) -> dict[str, str]:
    with pytest.raises(InvalidTarget) as refusal:
        check_target(name, environment, endpoints)
    return refusal.value.errors


def test_an_address_to_which_no_load_is_ever_sent_is_refused_when_it_is_typed():
    for host in ["169.254.169.254", "fd00:ec2::254", "240.0.0.1", "224.0.0.1"]:
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


def test_a_port_lies_between_1_and_65535():
    for port in [0, 65536, -1, "", "80x", None, "²", "9" * 5000]:
        assert "endpoints.0.port" in errors_of(endpoints=[{**HTTP, "port": port}])


def test_a_bracketed_address_loses_its_brackets_and_a_name_its_capitals():
    description = check_target(
        " shop ", [], [{**HTTP, "host": "[::1]"}, {**HTTP, "host": "Shop.Example"}]
    )
    assert description.name == "shop"
    assert [origin.host for origin in description.origins] == ["::1", "shop.example"]


def test_too_much_too_little_and_the_same_twice_are_refused_at_their_field():
    for fields, field in [
        ({"name": "x" * 101}, "name"),
        ({"environment": [["CPU", "2"]] * 101}, "environment"),
        ({"environment": [["x" * 61, "2"]]}, "environment.0.label"),
        ({"environment": [["CPU", "x" * 501]]}, "environment.0.value"),
        ({"endpoints": [{**HTTP, "port": port} for port in range(1, 52)]}, "endpoints"),
        ({"endpoints": []}, "endpoints"),
        ({"endpoints": [HTTP, {**HTTP, "host": "SHOP.example"}]}, "endpoints.1.host"),
    ]:
        assert errors_of(**fields).keys() == {field}


NAMES = ["localhost", "shop.example", "10.0.0.5", "::1", "fd00::5", "a_b.example", "x1"]
ODD_NAMES = ["0x7f.example", "7.example", "x0x7f", "a0", "shop.0x7fg", "a.b.7"]
RESOLVED = ["0x7f000001", "0xa9fea9fe", "127.0.0.0x1", "0x7f.1", "017700000001", "127.1", "0X7F.1"]
NO_NAMES = ["", "http://shop.example", "shop.example:8080", "shop.example/x", "a b"]


def test_names_and_addresses_are_hosts():
    for host in NAMES + ODD_NAMES:
        assert host_fault(host) is None


def test_neither_other_things_nor_what_a_resolver_reads_as_an_address_are_hosts():
    for host in [*NO_NAMES, "10.0.0", "1.2.3.4.5", *RESOLVED]:
        assert host_fault(host)
