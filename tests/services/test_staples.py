"""OCSP replies that servers staple: what is read from them, and whom they are believed."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp
from cryptography.x509.oid import ExtendedKeyUsageOID

from campaigns.services.staples import UNREADABLE, staple_facts
from tests.injector.authority import authority, issue
from tests.injector.ocsp import REVOKED, reply_about

pytestmark = pytest.mark.pure
SERVER = issue(authority())
CHAIN = (SERVER, authority())


def facts(staple: bytes, *, chain=CHAIN):
    return staple_facts(_text(staple), [_text(_der(each)) for each in chain])


def _der(issued) -> bytes:
    return issued.certificate.public_bytes(Encoding.DER)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_no_reply_has_no_facts():
    assert staple_facts(None, []) is None


def test_a_good_reply_is_of_the_certificate_and_signed_by_its_issuer():
    found = facts(reply_about(SERVER))
    assert (found["status"], found["is_of_it"], found["is_signed"]) == ("good", True, True)
    assert found["this_update"] < found["next_update"]


def test_a_revoked_certificate_is_said_to_be():
    assert facts(reply_about(SERVER, status=REVOKED))["status"] == "revoked"


def test_a_reply_about_another_certificate_is_not_of_it():
    assert facts(reply_about(issue(authority())))["is_of_it"] is False


def test_a_responder_that_the_issuer_appointed_may_sign():
    key = rsa.generate_private_key(65537, key_size=2048)
    responder = issue(authority(), usage=ExtendedKeyUsageOID.OCSP_SIGNING, key=key)
    assert facts(reply_about(SERVER, by=responder))["is_signed"] is True


@pytest.mark.parametrize(
    "stranger",
    [lambda: issue(authority()), lambda: issue(usage=ExtendedKeyUsageOID.OCSP_SIGNING)],
    ids=["no responder", "not the issuer's"],
)
def test_nobody_else_may(stranger):
    assert facts(reply_about(SERVER, by=stranger()))["is_signed"] is False


def test_without_the_issuer_the_signature_is_not_judged():
    assert facts(reply_about(SERVER), chain=[SERVER])["is_signed"] is None


def test_a_responder_may_have_no_answer():
    late = ocsp.OCSPResponseBuilder.build_unsuccessful(ocsp.OCSPResponseStatus.TRY_LATER)
    assert facts(late.public_bytes(Encoding.DER)) == {"status": "try later"}


@pytest.mark.parametrize("staple", [b"OCSP", b"\x30\x03\x0a\x01", bytes(200_000)])
def test_what_is_no_reply_is_unreadable(staple):
    assert facts(staple) == {"status": UNREADABLE}


def test_what_a_certificate_of_no_version_staples_is_unreadable():
    """The library has its own error for it."""
    odd = _der(SERVER).replace(bytes.fromhex("a003020102"), bytes.fromhex("a003020107"))
    told = staple_facts(_text(reply_about(SERVER)), [_text(odd)])
    assert told == {"status": UNREADABLE}
