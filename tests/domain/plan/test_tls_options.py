"""TLS options: what may be set, and the sentence for what may not."""

import pytest

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.tls_options import TlsOptions, read_tls_options
from campaigns.domain.plan.tls_profiles import PROFILES


def faults_of(**given):
    reader = JsonReader(given)
    read_tls_options(reader)
    return reader.errors


def test_nothing_given_means_what_openssl_does_by_itself():
    assert read_tls_options(JsonReader({})) == TlsOptions()


def test_options_come_back_as_they_were_stored():
    options = TlsOptions("1.2", "1.2", "ECDHE+AESGCM", sni="shop.example", alpn=False)
    reader = JsonReader(options.to_json())
    assert read_tls_options(reader) == options
    assert not reader.errors


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("min_version", "1.1", "1.2, 1.3"),
        ("ciphers", "NO-SUCH-CIPHER", "does not know these"),
        ("ca_pem", "hello", "No certificate"),
        ("ca_pem", "# Főtanúsítvány\n-----BEGIN CERTIFICATE-----", "PEM is ASCII"),
        ("client_certificate_pem", "é", "PEM is ASCII"),
        ("ca_pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "No cert"),
        ("client_certificate_pem", "-----BEGIN PRIVATE KEY-----\nAA==", "No certificate"),
        ("sni", "10.0.0.5", "never announced"),
        ("sni", "shop..example", "host name"),
        ("alpn", "yes", "true or false"),
        ("profile", "netscape", "browser, tls12, classical, ecdsa, rsa"),
        ("groups", "X25519:rot13", "no 'rot13' here. Known: X25519MLKEM768"),
        ("ciphersuites", "RC4", "Known: TLS_AES_128_GCM_SHA256"),
        ("signatures", "by hand", "Known: ecdsa_secp256r1_sha256"),
        ("fingerprint", "12:34", "64 hexadecimal digits"),
        ("fingerprint", "g" * 64, "64 hexadecimal digits"),
        ("colour", "red", "no field"),
    ],
)
def test_it_says_what_is_wrong(field, value, word):
    assert word in faults_of(**{field: value})[field]


def test_the_newest_version_is_not_older_than_the_oldest():
    assert "older" in faults_of(min_version="1.3", max_version="1.2")["max_version"]


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


def test_words_name_a_profile_and_what_differs_from_it():
    assert options(profile="tls12").resolved().words() == ["profile “TLS 1.2 only”"]
    words = options(profile="browser", groups="P-256").resolved().words()
    assert words == ["profile “As a browser does today”", "groups P-256"]


def test_a_version_that_the_profile_does_not_offer_is_refused():
    assert "older" in faults_of(profile="tls12", min_version="1.3")["max_version"]


def test_tls_1_2_needs_a_group_that_it_has():
    assert "X25519" in faults_of(profile="tls12", groups="X25519MLKEM768")["groups"]
    assert faults_of(profile="tls12", groups="X25519MLKEM768:X25519") == {}
