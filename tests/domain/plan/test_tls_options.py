"""TLS options: what may be set, and the sentence for what may not."""

import pytest

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.tls_options import TlsOptions, read_tls_options


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
        ("ciphers", "NO-SUCH-CIPHER", "no such ciphers"),
        ("ca_pem", "hello", "No certificate"),
        ("ca_pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "No cert"),
        ("client_certificate_pem", "-----BEGIN PRIVATE KEY-----\nAA==", "No certificate"),
        ("sni", "10.0.0.5", "never announced"),
        ("sni", "shop..example", "host name"),
        ("alpn", "yes", "true or false"),
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
