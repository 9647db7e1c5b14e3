"""Certificates as servers send them, read into facts."""

import base64
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from campaigns.domain.measured.certificates import chain_facts


def der(key, names=("shop.example",), digest=None, unknown="") -> str:
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
    certificate = builder.sign(key, digest)
    return base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()


def test_an_elliptic_certificate_is_read_in_full():
    (facts,) = chain_facts([der(ec.generate_private_key(ec.SECP256R1()), digest=hashes.SHA256())])
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
    assert chain_facts([der(key, names=(), digest=hashes.SHA256())])[0]["names"] == []


def changed(text: str, before: str, after: str) -> str:
    """A certificate with other bytes, whose signature is then wrong, which nobody asks here."""
    whole = base64.b64decode(text)
    assert bytes.fromhex(before) in whole
    return base64.b64encode(whole.replace(bytes.fromhex(before), bytes.fromhex(after))).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [("0603550e11", "0603551d11"), ("820c73686f70", "a30c73686f70")],
    ids=["an extension that comes twice", "a name of a kind that nobody uses"],
)
def test_a_certificate_whose_names_cannot_be_read_has_none(before, after):
    key = ec.generate_private_key(ec.SECP256R1())
    whole = der(key, digest=hashes.SHA256(), unknown="2.5.14.17")
    (facts,) = chain_facts([changed(whole, before, after)])
    assert (facts["subject"], facts["names"]) == ("shop.example", [])


def test_one_of_a_version_that_there_is_not_is_left_out():
    whole = der(ec.generate_private_key(ec.SECP256R1()), digest=hashes.SHA256())
    odd = changed(whole, "a003020102", "a003020107")
    assert [each["subject"] for each in chain_facts([odd, whole])] == ["shop.example"]
