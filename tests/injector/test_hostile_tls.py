"""Whatever a server does to TLS: one kind for each attempt, in time, and the run goes on."""

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from tests.injector.authority import CLIENT, authority, issue
from tests.injector.hostile import fault, run_all, run_case, selected
from tests.injector.hostile_tls import CASES, TLS_1_2, TLS_1_3, TlsCase, shows, speaks
from workers.injector.order import Refusal


def run(case: TlsCase):
    return run_case(case.plain(), tls=case.context and case.context())


@pytest.fixture(scope="module")
def outcomes(request):
    return run_all(selected(CASES, request.session.items), run)


@pytest.mark.parametrize("name", CASES)
def test_every_attempt_ends_in_one_kind_in_time_and_the_run_goes_on(outcomes, name):
    case = CASES[name].plain()
    assert fault(case, outcomes[name]) is None
    assert outcomes[name].result.total.count("started") == case.requests


@pytest.mark.parametrize("version", [TLS_1_2, TLS_1_3])
def test_a_client_certificate_opens_what_wants_one(version):
    client = issue(authority(), usage=CLIENT)
    tls = {"client_certificate_pem": client.pem}
    context = speaks(clients_of=authority(), newest=version)
    outcome = run(TlsCase(("ok",), context, tls=tls, given={"client_key_pem": client.key_pem}))
    assert outcome.kinds == {"ok": 3}


@pytest.mark.parametrize("version", [TLS_1_2, TLS_1_3])
def test_a_client_certificate_of_nobody_known_is_refused_by_the_server(version):
    client = issue(usage=CLIENT)
    tls = {"client_certificate_pem": client.pem}
    context = speaks(clients_of=authority(), newest=version)
    outcome = run(TlsCase((), context, tls=tls, given={"client_key_pem": client.key_pem}))
    assert outcome.kinds == {"tls_handshake": 3}


def test_a_key_that_is_not_the_certificates_is_refused_before_anything_is_sent():
    one, other = issue(usage=CLIENT), issue(usage=CLIENT)
    tls = {"client_certificate_pem": one.pem}
    with pytest.raises(Refusal, match="TLS cannot be set up"):
        run(TlsCase((), shows(), tls=tls, given={"client_key_pem": other.key_pem}))


def test_a_key_that_cannot_sign_is_refused_before_anything_is_sent():
    key_pem = X25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    tls = {"client_certificate_pem": issue(usage=CLIENT).pem}
    with pytest.raises(Refusal, match="TLS cannot be set up"):
        run(TlsCase((), shows(), tls=tls, given={"client_key_pem": key_pem.decode()}))


def test_an_encrypted_key_is_refused_instead_of_asking_for_its_passphrase():
    client = issue(usage=CLIENT)
    locked = client.key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"open sesame")
    ).decode()
    tls = {"client_certificate_pem": client.pem}
    with pytest.raises(Refusal, match="without a passphrase"):
        run(TlsCase((), shows(), tls=tls, given={"client_key_pem": locked}))


def test_without_authorities_of_its_own_it_trusts_those_of_the_machine(monkeypatch, tmp_path):
    (tmp_path / "ca.pem").write_text(authority().pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    assert run(TlsCase(("ok",), shows(), tls={"ca_pem": ""})).kinds == {"ok": 3}
