"""TLS options: what may be set, and the sentence for what may not."""

import pytest

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.tls_options import TlsOptions, read_tls_options
from campaigns.domain.plan.tls_profiles import PROFILES


def faults_of(**given):
    reader = JsonReader(given)
    read_tls_options(reader)
    return reader.errors


def test_options_come_back_as_they_were_stored():
    options = TlsOptions("1.2", "1.2", "ECDHE+AESGCM", sni="shop.example", alpn=False)
    reader = JsonReader(options.to_json())
    assert read_tls_options(reader) == options
    assert not reader.errors


@pytest.mark.parametrize(
    ("field", "value"),
    [
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
    ],
)
def test_what_is_wrong_is_at_its_field(field, value):
    assert field in faults_of(**{field: value})


def test_the_newest_version_is_not_older_than_the_oldest_or_than_the_profile():
    assert "max_version" in faults_of(min_version="1.3", max_version="1.2")
    assert "max_version" in faults_of(profile="tls12", min_version="1.3")


def test_a_fingerprint_is_read_as_browsers_and_openssl_write_it():
    written = ":".join(["AB"] * 32)
    assert read_tls_options(JsonReader({"fingerprint": written})).fingerprint == "ab" * 32


def options(**given) -> TlsOptions:
    reader = JsonReader(given)
    found = read_tls_options(reader)
    assert not reader.errors
    return found


@pytest.mark.parametrize("typed", ["x25519, SECP256R1", "X25519:P-256", "X25519 P-256 X25519"])
def test_a_list_is_read_however_it_is_separated_and_spelled(typed):
    assert options(groups=typed).groups == "X25519:P-256"


def test_a_profile_sets_what_was_left_out_and_keeps_its_name():
    resolved = options(profile="classical", min_version="1.3").resolved()
    assert resolved == TlsOptions("1.3", profile="classical", groups="X25519:P-256:P-384")
    assert resolved.resolved() == resolved


def test_what_a_profile_sets_can_be_replaced():
    assert options(profile="browser", groups="P-256").resolved().groups == "P-256"


@pytest.mark.parametrize("key", PROFILES)
def test_each_profile_can_be_read_back_from_what_it_stands_for(key):
    resolved = options(profile=key).resolved()
    assert options(**resolved.to_json()) == resolved


def test_tls_1_2_needs_a_group_that_it_has():
    assert "groups" in faults_of(profile="tls12", groups="X25519MLKEM768")
    assert faults_of(profile="tls12", groups="X25519MLKEM768:X25519") == {}
