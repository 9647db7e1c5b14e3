"""The TLS part of a target's form: what it takes, shows again, and never shows."""

import re

import pytest

from tests.injector.authority import CLIENT, issue

ISSUED = issue(usage=CLIENT)
POSTED = {
    "name": "shop",
    "scheme": ["http", "https"],
    "host": ["10.0.0.5", "10.0.0.5"],
    "port": ["80", "443"],
    "verify_tls": ["yes", "yes"],
    "tls_min_version": ["", "1.2"],
    "tls_max_version": ["", "1.2"],
    "tls_ciphers": ["", "ECDHE+AESGCM"],
    "tls_sni": ["", "shop.example"],
    "tls_alpn": ["yes", "no"],
    "tls_profile": ["", "classical"],
    "tls_groups": ["", "P-256"],
    "tls_ciphersuites": ["", "TLS_AES_128_GCM_SHA256"],
    "tls_signatures": ["", "ecdsa_secp256r1_sha256"],
    "tls_ca_pem": ["", ""],
    "tls_client_certificate_pem": ["", ISSUED.pem],
    "tls_client_key_pem": ["", ISSUED.key_pem],
}


@pytest.fixture
def posted(client, bob, project):
    client.force_login(bob)
    client.post(f"/projects/{project.pk}/targets/new/", POSTED)
    return project.targets.get()


def test_it_takes_the_options_of_each_endpoint(posted):
    http, https = posted.endpoints.order_by("port")
    assert http.tls == {}
    assert https.tls_words == [
        "profile “Without post-quantum”",
        "TLS 1.2 or newer",
        "TLS 1.2 or older",
        "ciphers ECDHE+AESGCM",
        "announces shop.example",
        "shows a client certificate",
        "offers no ALPN",
        "groups P-256",
        "TLS 1.3 ciphers TLS_AES_128_GCM_SHA256",
        "signatures ecdsa_secp256r1_sha256",
    ]


def test_the_pages_show_the_options_but_never_the_key(client, posted):
    detail = client.get(f"/targets/{posted.pk}/").content.decode()
    form = client.get(f"/targets/{posted.pk}/edit/").content.decode()
    assert 'value="ECDHE+AESGCM"' in form
    assert re.search(r'<option value="classical"[^>]* selected>', form)
    assert "PRIVATE KEY" not in detail + form


def test_a_row_that_was_saved_before_there_were_options_still_works(client, bob, project):
    client.force_login(bob)
    old = {name: value for name, value in POSTED.items() if not name.startswith("tls_")}
    client.post(f"/projects/{project.pk}/targets/new/", old)
    assert [each.tls for each in project.targets.get().endpoints.all()] == [{}, {}]
