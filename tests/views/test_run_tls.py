"""What a run's page says of its TLS: agreed on, shown, and carried."""

import pytest
from django.urls import reverse

from campaigns.models import OwnTlsProfile
from tests.factories import make_campaign, make_endpoint, make_run, make_target, make_test
from tests.queries.measured import measure
from tests.views.pages import text_of

pytestmark = pytest.mark.django_db
HANDSHAKES = {
    "version": "TLSv1.3",
    "cipher": "TLS_AES_128_GCM_SHA256",
    "bits": 128,
    "group": "X25519MLKEM768",
    "resumed": False,
    "count": 2000,
    "certificate": "ECDSA secp256r1",
    "chain_bytes": 1912,
    "bytes_sent": 3_222_000,
    "bytes_received": 3_734_000,
}


@pytest.fixture
def run(project):
    OwnTlsProfile.objects.create(
        project=project, name="our clients", offers={"groups": "X25519MLKEM768"}
    )
    endpoint = make_endpoint(make_target(project), "https", tls={"profile": "our clients"})
    run = measure(make_run(make_test(make_campaign(project), endpoint=endpoint)), 12_000)
    run.shards.update(end={"tls": [HANDSHAKES]})
    return run


def page_of(client, run) -> str:
    return text_of(client.get(reverse("run-detail", args=[run.pk])))


def test_version_cipher_group_certificate_and_bytes_of_handshakes_are_shown(viewer, run):
    page = page_of(viewer, run)
    for shown in (
        "TLSv1.3, TLS_AES_128_GCM_SHA256, X25519MLKEM768, 128 bits, full",
        "ECDSA secp256r1, 1,912 B sent",
        "1,611 B sent, 1,867 B received",
    ):
        assert shown in page


def test_the_profile_is_shown_as_the_run_has_frozen_it(viewer, run):
    OwnTlsProfile.objects.update(name="renamed", offers={"groups": "P-256"})
    shown = page_of(viewer, run)
    assert "profile “our clients”" in shown
    assert "groups X25519MLKEM768" in shown
    assert "P-256" not in shown
