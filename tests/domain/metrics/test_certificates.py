"""Certificates as servers send them: facts, and the size of their keys."""

import base64
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from campaigns.domain.metrics.certificates import chain_facts, key_bits, key_words


def der(key, names=("shop.example",), unknown="") -> str:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shop.example")])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(255)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2027, 1, 1, tzinfo=UTC))
    )
    if names:
        alternative = x509.SubjectAlternativeName([x509.DNSName(each) for each in names])
        builder = builder.add_extension(alternative, critical=False)
    if unknown:
        extension = x509.UnrecognizedExtension(x509.ObjectIdentifier(unknown), b"\x05\x00")
        builder = builder.add_extension(extension, critical=False)
    signs_whole = isinstance(key, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey)
    certificate = builder.sign(key, None if signs_whole else hashes.SHA256())
    return base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()


def test_an_elliptic_certificate_is_read_in_full():
    (facts,) = chain_facts([der(ec.generate_private_key(ec.SECP256R1()))])
    assert facts["subject"] == "shop.example"
    assert facts["names"] == ["shop.example"]
    assert facts["key"] == "ECDSA secp256r1"
    assert "sha256" in facts["signature"].lower()
    assert facts["not_after"].startswith("2027-01-01")
    assert facts["self_signed"] is True
    assert facts["serial"] == "ff"


def test_what_is_no_certificate_is_left_out():
    key = ec.generate_private_key(ec.SECP256R1())
    assert chain_facts(["!!", base64.b64encode(b"garbage").decode()]) == []
    assert chain_facts([der(key, names=())])[0]["names"] == []


def with_bytes(text: str, before: str, after: str) -> str:
    """A certificate with other bytes, whose signature is then wrong, which nobody asks here."""
    whole = base64.b64decode(text)
    assert bytes.fromhex(before) in whole
    return base64.b64encode(whole.replace(bytes.fromhex(before), bytes.fromhex(after))).decode()


def test_a_certificate_whose_names_cannot_be_read_has_none():
    for before, after in [("0603550e11", "0603551d11"), ("820c73686f70", "a30c73686f70")]:
        key = ec.generate_private_key(ec.SECP256R1())
        whole = der(key, unknown="2.5.14.17")
        (facts,) = chain_facts([with_bytes(whole, before, after)])
        assert (facts["subject"], facts["names"]) == ("shop.example", [])


def test_one_of_a_version_that_there_is_not_is_left_out():
    whole = der(ec.generate_private_key(ec.SECP256R1()))
    odd = with_bytes(whole, "a003020102", "a003020107")
    assert [each["subject"] for each in chain_facts([odd, whole])] == ["shop.example"]


def test_a_key_has_a_kind_and_the_size_of_its_modulus_or_its_curve():
    for key, bits, words in [
        (rsa.generate_private_key(65537, 2048), 2048, "RSA 2048"),
        (ec.generate_private_key(ec.SECP256R1()), 256, "ECDSA secp256r1"),
        (ec.generate_private_key(ec.SECP384R1()), 384, "ECDSA secp384r1"),
        (ec.generate_private_key(ec.SECP521R1()), 521, "ECDSA secp521r1"),
        (ec.generate_private_key(ec.BrainpoolP256R1()), 256, "ECDSA 256"),
        (ed25519.Ed25519PrivateKey.generate(), None, "Ed25519"),
    ]:
        certificate = der(key)
        assert key_bits(certificate) == bits
        assert key_words(base64.b64decode(certificate)) == words


def test_what_is_no_certificate_has_no_size():
    for text in [None, "", "no base64!", "AAAA", "MIIB", "MAA="]:
        assert key_bits(text) is None


def test_a_key_that_begins_like_a_sequence_or_a_point_is_neither():
    """As one in 256 does."""
    for key, first, words in [
        (ed25519.Ed25519PrivateKey.from_private_bytes((222).to_bytes(32, "big")), 0x30, "Ed25519"),
        (ed448.Ed448PrivateKey.from_private_bytes((450).to_bytes(57, "big")), 0x30, "Ed448"),
        (ed448.Ed448PrivateKey.from_private_bytes((623).to_bytes(57, "big")), 0x04, "Ed448"),
    ]:
        assert key.public_key().public_bytes_raw()[0] == first
        assert key_words(base64.b64decode(der(key))) == words
        assert key_bits(der(key)) is None
