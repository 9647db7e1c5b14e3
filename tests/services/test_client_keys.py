"""Client certificates: the key is checked, encrypted, handed to injectors and to nobody else."""

import pytest

from campaigns.domain.errors import InvalidTarget
from campaigns.models import AuditEntry
from campaigns.services.probes import order_of, request_probe
from campaigns.services.targets import create_target, edit_target
from campaigns.services.vault import rotate_client_keys, secret_of, with_secrets
from tests.factories import make_campaign, make_run, make_test
from tests.injector.authority import CLIENT, issue

ISSUED = issue(usage=CLIENT)
HTTPS = {"scheme": "https", "host": "10.0.0.5", "port": 443}
SHOWN = {"client_certificate_pem": ISSUED.pem}


@pytest.fixture
def target(as_bob, project):
    return create_target(
        by=as_bob, project=project, name="shop", environment=[], endpoints=[_with_key()]
    )


def _with_key(**given):
    return {**HTTPS, "tls": SHOWN, "client_key_pem": ISSUED.key_pem, **given}


def edit(target, by, **endpoint):
    edit_target(by=by, target=target, name="shop", environment=[], endpoints=[endpoint])
    return target.endpoints.get()


def test_the_key_is_stored_encrypted_and_goes_with_orders_only(target):
    endpoint = target.endpoints.get()
    assert "PRIVATE KEY" not in endpoint.client_key
    assert secret_of(endpoint) == {"client_key": ISSUED.key_pem.strip()}
    assert endpoint.frozen().to_json()["tls"] == {"client_certificate_pem": ISSUED.pem.strip()}
    assert "PRIVATE" not in repr(endpoint.frozen())


def test_the_audit_log_tells_who_stored_and_deleted_it(target, as_alice, as_bob):
    what = f"client key of https://10.0.0.5:443 of target {target.pk}: shop"
    edit(target, as_bob, **HTTPS, tls=SHOWN)  # keeps it
    edit(target, as_alice, **HTTPS)
    edit(target, as_bob, **_with_key())
    edit(target, as_alice, scheme="http", host="10.0.0.5", port=80)
    entries = AuditEntry.objects.order_by("pk").values_list("deed", "who", "what")
    assert list(entries) == [
        ("secret_stored", "bob", what),
        ("secret_deleted", "alice", what),
        ("secret_stored", "bob", what),
        ("secret_deleted", "alice", what),
    ]


def test_a_probe_gets_the_key(target, as_bob):
    probe = request_probe(by=as_bob, endpoint=target.endpoints.get(), request={"path": "/"})
    assert order_of(probe)["secrets"]["client_key"] == ISSUED.key_pem.strip()
    assert "PRIVATE" not in str(probe.request)


def test_a_launcher_gets_the_key(target, project):
    run = make_run(make_test(make_campaign(project)))
    assert with_secrets({}, [run.pk]) == {}
    endpoint = run.test.endpoint
    endpoint.client_key = target.endpoints.get().client_key
    endpoint.save()
    assert with_secrets({}, [run.pk]) == {"secrets": {"client_key": ISSUED.key_pem.strip()}}


def test_a_key_that_is_left_out_stays_and_none_without_a_certificate(target, as_bob):
    before = target.endpoints.get().client_key
    assert edit(target, as_bob, **HTTPS, tls=SHOWN).client_key == before
    assert edit(target, as_bob, **HTTPS).client_key == ""


def test_a_new_key_of_the_vault_rewrites_what_is_stored(target, settings):
    before = target.endpoints.get().client_key
    settings.VAULT_KEYS = ["new", *settings.VAULT_KEYS]
    assert rotate_client_keys() == 1
    settings.VAULT_KEYS = ["new"]
    endpoint = target.endpoints.get()
    assert endpoint.client_key != before
    assert secret_of(endpoint)["client_key"] == ISSUED.key_pem.strip()


# secp112r1, which OpenSSL knows and cryptography does not.
ODD_KEY = """-----BEGIN PRIVATE KEY-----
ME4CAQAwEAYHKoZIzj0CAQYFK4EEAAYENzA1AgEBBA7IZDzTr2lN+OaVwfe6GaEg
Ax4ABIDuA7kbvNVG2djoIFBrGgkLd8zw1UAfQ2R+nIM=
-----END PRIVATE KEY-----
"""
ODD_CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBITCB7KADAgECAhR/bhtobL0ZcuKHpWkHEFFXWPrMEDAKBggqhkjOPQQDAjAM
MQowCAYDVQQDDAF4MB4XDTI2MTEyNzE5MzEwNFoXDTI2MTIwMjE5MzEwNFowDDEK
MAgGA1UEAwwBeDAyMBAGByqGSM49AgEGBSuBBAAGAx4ABIDuA7kbvNVG2djoIFBr
GgkLd8zw1UAfQ2R+nIOjUzBRMB0GA1UdDgQWBBRaBYC4WjqYPCkQOep830wrqMV6
OTAfBgNVHSMEGDAWgBRaBYC4WjqYPCkQOep830wrqMV6OTAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCAyQAMCECDwC0xedSNhmzuXAmbY/hQAIOfE6dkzvVprLj
YNDOMI4=
-----END CERTIFICATE-----
"""


@pytest.mark.parametrize(
    ("tls", "key", "words"),
    [
        (SHOWN, "", "needs its private key"),
        (SHOWN, "hello", "not a private key in PEM format"),
        (SHOWN, issue(usage=CLIENT).key_pem, "does not belong to the certificate"),
        (SHOWN, ODD_KEY, "Keys of this kind are not supported"),
        ({"client_certificate_pem": ODD_CERTIFICATE}, ISSUED.key_pem, "does not belong"),
    ],
)
def test_a_key_that_does_not_fit_is_refused(as_bob, project, tls, key, words):
    endpoints = [_with_key(tls=tls, client_key_pem=key)]
    with pytest.raises(InvalidTarget) as refused:
        create_target(by=as_bob, project=project, name="x", environment=[], endpoints=endpoints)
    assert words in refused.value.errors["endpoints.0.client_key_pem"]
    assert not project.targets.exists()
