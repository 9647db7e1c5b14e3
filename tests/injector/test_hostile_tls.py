"""Whatever a server does to TLS: one kind for each attempt, in time, and the run goes on."""

import re

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from tests.injector.authority import CLIENT, authority, issue
from tests.injector.hostile import fault, run_all, run_case
from tests.injector.hostile_tls import CASES, TLS_1_2, TLS_1_3, TlsCase, shows, speaks
from tests.injector.test_failure_details import detail_of
from workers.injector.order import Refusal

DATE = r"\d{4}-\d\d-\d\d"
OF_TLS = {
    "expired, verified": f"expired on {DATE}",
    "middle is expired, verified": f"that of middle, which signed it, expired on {DATE}",
    "not yet valid, verified": f"not yet valid until {DATE}",
    "name instead of the address, verified": "issued for shop.example, not for 127.0.0.1",
    "no name but the common one, verified": "issued for the common name 127.0.0.1, not for .*",
    "unknown authority, verified": "issued by nobody knows me",
    "unknown authority, expired, verified": f"issued by nobody knows me, also expired on {DATE}",
    "other name, expired, verified": f"issued for 127.0.0.2, not for .*, also expired on {DATE}",
    "self-signed, not yet valid, verified": f"issued by test .*, also not yet valid until {DATE}",
    "self-signed, verified": "issued by test for itself",
    "weak key, verified": "EE certificate key too weak",
    "TLS 1.0 and 1.1 only": "no TLS version in common",
    "TLS 1.2 only, 1.3 asked for": "no TLS version in common",
    "no cipher in common": "no cipher, group or signature in common",
    "client certificate wanted, none given, 1.3": "the server wants a client certificate",
    "client certificate wanted, none given, 1.2": "the server wants a client certificate",
}


def run(case: TlsCase):
    return run_case(case.plain(), tls=case.context and case.context())


@pytest.fixture(scope="module")
def outcomes():
    return run_all(CASES, run)


def test_a_refused_handshake_says_why(outcomes):
    for name, detail in OF_TLS.items():
        assert re.fullmatch(detail, detail_of(outcomes[name].result))


def test_every_attempt_ends_in_one_kind_in_time_and_the_run_goes_on(outcomes):
    faults = {name: fault(CASES[name].plain(), outcome) for name, outcome in outcomes.items()}
    assert {name: why for name, why in faults.items() if why} == {}
    n_started = {name: outcome.result.total.count("started") for name, outcome in outcomes.items()}
    assert n_started == {name: case.plain().requests for name, case in CASES.items()}


def test_a_client_certificate_opens_what_wants_one_unless_nobody_knows_who_issued_it():
    for issuer, kind in [(authority(), "ok"), (None, "tls_handshake")]:
        for version in [TLS_1_2, TLS_1_3]:
            client = issue(issuer, usage=CLIENT)
            tls = {"client_certificate_pem": client.pem}
            context = speaks(clients_of=authority(), newest=version)
            outcome = run(TlsCase((), context, tls=tls, fields={"client_key_pem": client.key_pem}))
            assert outcome.kinds == {kind: 3}


def pem_of(key, encryption=None) -> str:
    how = encryption or NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how).decode()


OWNER = issue(usage=CLIENT)


def test_a_key_that_does_not_fit_is_refused_before_anything_is_sent():
    for key_pem, words in [
        (issue(usage=CLIENT).key_pem, "TLS cannot be set up"),
        (pem_of(X25519PrivateKey.generate()), "TLS cannot be set up"),
        (pem_of(OWNER.key, BestAvailableEncryption(b"open sesame")), "without a passphrase"),
    ]:
        tls = {"client_certificate_pem": OWNER.pem}
        with pytest.raises(Refusal, match=words):
            run(TlsCase((), shows(), tls=tls, fields={"client_key_pem": key_pem}))


def test_without_authorities_of_its_own_it_trusts_those_of_the_machine(monkeypatch, tmp_path):
    (tmp_path / "ca.pem").write_text(authority().pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    assert run(TlsCase(("ok",), shows(), tls={"ca_pem": ""})).kinds == {"ok": 3}
